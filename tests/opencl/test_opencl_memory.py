"""Memory of an OpenCL device: when it is exhausted, and over many steps."""

from __future__ import annotations

import os

import pytest
from opencl_children import Run

pytestmark = pytest.mark.opencl
# The acceptance run has 10000.
STEPS = int(os.environ.get("HEADRACE_TEST_OPENCL_STEPS", "2000"))


def test_a_session_lives_on_after_its_memory_was_exhausted(run: Run) -> None:
    run(
        """
        n = hr.placeholder(hr.int32, [])
        with hr.device("/gpu:0"):
            kept = hr.Variable(hr.random_normal([256, 1024]), name="kept")
            y = hr.reduce_sum(hr.tanh(hr.fill([n, 1024], 0.5)) + hr.random_uniform([n, 1024]))
            z = hr.reduce_sum(kept)
        with hr.Session() as session:
            total = [d for d in session.list_devices() if d.device_type == "GPU"][0].memory_limit
        config = hr.ConfigProto(allow_soft_placement=True)
        config.gpu_options.per_process_gpu_memory_fraction = 64 * 2**20 / total
        with hr.Session(config=config) as session:
            session.run(kept.initializer)
            expected = session.run(z)
            for _ in range(3):
                try:
                    session.run(y, {n: 100_000})
                except hr.errors.ResourceExhaustedError as error:
                    text = str(error)
                else:
                    raise AssertionError("400 MB fit into 64")
                assert "held by" in text and "MiB in use of 64.00 MiB" in text, text
                assert session.run(y, {n: 10}) > 0
                assert session.run(z) == expected
        """
    )


def test_steps_with_changing_shapes_do_not_grow(run: Run) -> None:
    run(
        f"""
        import opencl_networks as networks
        steps = {STEPS}

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        x = hr.placeholder(hr.float32, [None, None])
        with hr.device("/gpu:0"):
            w = hr.Variable(hr.ones([1, 16]), name="w")
            h = hr.nn.relu(hr.matmul(hr.reduce_mean(x, 1, keepdims=True), w) + 0.1)
            loss = hr.reduce_mean(hr.square(h - 1.0)) + hr.reduce_mean(hr.concat([x, x * 2.0], 0))
            train = hr.train.AdamOptimizer(0.01).minimize(loss)
        rng = np.random.RandomState(0)
        sizes = []
        with networks.session() as session:
            session.run(hr.global_variables_initializer())
            for step in range(steps):
                rows, columns = rng.randint(1, 200, 2)
                value, _ = session.run([loss, train], {{x: rng.randn(rows, columns)}})
                assert np.isfinite(value)
                if step % (steps // 10) == steps // 10 - 1:
                    sizes.append(resident())
        # What is kept by shape is bounded: the second half adds next to nothing.
        assert sizes[-1] - sizes[4] < 24 * 2**20, [size >> 20 for size in sizes]
        print([size >> 20 for size in sizes])
        """
    )


def test_a_window_of_fed_bounds_is_planned_once_for_each_length(run: Run) -> None:
    run(
        """
        value = np.arange(120, dtype=np.float32).reshape(6, 5, 4)
        begin, length = hr.placeholder(hr.int32, []), hr.placeholder(hr.int32, [])
        with hr.device("/gpu:0"):
            window = hr.constant(value)[begin : begin + length]
            loss = hr.reduce_sum(window * 2.0, 0)
        with hr.Session() as session:
            for k in range(5):
                for n in (1, 2):
                    got = session.run(loss, {begin: k, length: n})
                    np.testing.assert_array_equal(got, value[k : k + n].sum(0) * 2)
            explained = session.explain(loss, [begin, length])
        assert explained.count("specialisation for") <= 4, explained
        """
    )

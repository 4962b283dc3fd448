"""Loops on an OpenCL device: what TensorArrays, stacks and lists hold stays in its memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from opencl_children import Run, environment

pytestmark = pytest.mark.opencl

TESTS = Path(__file__).parents[1]

# A traced step: the ops that ran on each device, and the dtypes that were copied.
TRACED = """
import collections
import opencl_networks as networks

def traced(session, fetches, feeds):
    metadata = hr.RunMetadata()
    options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
    session.run(fetches, feeds, options=options, run_metadata=metadata)
    ran = collections.defaultdict(collections.Counter)
    for device in metadata.step_stats.dev_stats:
        if device.device.endswith("stream:all"):
            continue
        for node in device.node_stats:
            op = node.timeline_label.split(" = ")[1].split("(")[0]
            if op.startswith("_Copy"):
                found = [o.tensor_description.dtype for o in node.output]
                op += f" of {hr.as_dtype(found[0]).name}" if found else ""
            ran[device.device.split(":")[-2]][op] += 1
    return ran
"""


def test_an_lstm_in_a_loop_trains_as_on_the_cpu(run: Run) -> None:
    printed = run(
        """
        import json, opencl_networks as networks
        found = [networks.losses("sequence_lstm", d, 50) for d in ("/cpu:0", "/gpu:0")]
        print(json.dumps(found))
        """
    )
    on_cpu, on_device = json.loads(printed)
    np.testing.assert_allclose(on_device, on_cpu, atol=1e-3, rtol=1e-3)
    assert np.mean(on_cpu[-5:]) < 0.7 * on_cpu[0], "the network learns nothing"


# The loss is copied to the host; to the device go the feeds, and per iteration the conditions that
# say which sequences have ended.
@pytest.mark.parametrize(
    ("network", "floats", "others"), [("dynamic_lstm", 1, 6), ("sequence_lstm", 2, 15)]
)
def test_a_training_step_with_a_loop_leaves_the_device_only_for_feeds_and_the_loss(
    run: Run, network: str, floats: int, others: int
) -> None:
    run(
        TRACED
        + f"""
loss, train, batch = networks.build({network!r}, "/device:GPU:0")
rng = np.random.RandomState(7)
with networks.session() as session:
    session.run(hr.global_variables_initializer())
    for _ in range(2):
        ran = traced(session, [loss, train], batch(rng))
assert set(ran["CPU"]) <= {{"Assert"}}, ran["CPU"]
copies = {{op: n for op, n in ran["GPU"].items() if op.startswith("_Copy")}}
print(copies)
assert sum(n for op, n in copies.items() if op.startswith("_CopyToHost")) == 1, copies
assert sum(n for op, n in copies.items() if op.endswith("float32")) <= {floats}, copies
assert sum(n for op, n in copies.items() if not op.endswith("float32")) <= {others}, copies
assert ran["GPU"]["TensorArrayReadV3"] >= networks.TIME
assert ran["GPU"]["TensorListPushBack"] == ran["GPU"]["TensorListPopBack"] > networks.TIME
"""
    )


def test_gradients_of_gradients_of_loops_stay_on_the_device(run: Run) -> None:
    run(
        TRACED
        + """
with hr.device("/gpu:0"):
    x = hr.constant(np.ones([40, 50]), "float32")
    body = lambda i, y: (i + 1, hr.sin(y) * x)
    y = hr.while_loop(lambda i, y: i < 5, body, [hr.constant(0), x])[1]
    (first,) = hr.gradients(hr.square(y), x)
    (second,) = hr.gradients(hr.square(first), x)
with networks.session() as session:
    ran = traced(session, second, {})
assert not ran["CPU"], ran["CPU"]
copies = sum(n for op, n in ran["GPU"].items() if op.startswith("_Copy"))
assert copies == 1, ran["GPU"]
assert ran["GPU"]["TensorListPushBack"] > 10, ran["GPU"]
"""
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_loops_are_those_of_the_cpu(run: Run, dtype: str) -> None:
    printed = run(
        f"""
        import json

        def program(device):
            with hr.Graph().as_default(), hr.device(device):
                n = hr.placeholder(hr.int32, [])
                x = hr.constant(np.random.RandomState(1).randn(4, 5), {dtype!r})
                w = hr.constant(np.random.RandomState(2).randn(5, 5) / 3, {dtype!r})

                def inner(i, y):
                    step = lambda j, z: (j + 1, hr.tanh(hr.matmul(z, w)) + x)
                    z = hr.while_loop(lambda j, z: j < i, step, [hr.constant(0), y])[1]
                    even = hr.equal(i % 2, 0)
                    made = hr.cond(even, lambda: hr.sin(z) * y, lambda: hr.nn.relu(z) - w[:4])
                    return i + 1, made

                y = hr.while_loop(lambda i, y: i < n, inner, [hr.constant(0), x])[1]
                loss = hr.reduce_sum(hr.square(y))
                grads = hr.gradients(loss, [x, w])
                (second,) = hr.gradients(hr.reduce_sum(grads[0] * grads[0]), [w])
                fetches = [loss, *grads, second]
                config = hr.ConfigProto(allow_soft_placement=True)
                with hr.Session(config=config) as session:
                    return [
                        [np.asarray(v).tolist() for v in session.run(fetches, {{n: k}})]
                        for k in (0, 1, 3, 6)
                    ]

        print(json.dumps([program("/cpu:0"), program("/gpu:0")]))
        """
    )
    on_cpu, on_device = json.loads(printed)
    tolerance = 2e-3 if dtype == "float32" else 1e-9
    for expected, found in zip(on_cpu, on_device, strict=True):
        for one, other in zip(expected, found, strict=True):
            scale = max(1.0, np.abs(one).max())
            np.testing.assert_allclose(
                np.divide(other, scale), np.divide(one, scale), atol=tolerance
            )


@pytest.mark.parametrize(
    "tests", ["ops/test_tensor_arrays.py", "ops/test_tensor_lists.py", "executor/test_stacks.py"]
)
def test_the_tests_of_the_cpu_pass_on_the_device(run: Run, cache: str, tests: str) -> None:
    """Values, gradients, and errors with TensorFlow's texts."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    variables = {key: None for key in os.environ if key.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, str(TESTS / tests)],
        env=environment(cache, **variables),
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]


def test_many_items_are_joined_and_summed(run: Run) -> None:
    run(
        """
        R = hr.raw_ops
        for dtype in ("float32", "float16", "uint8", "float64", "int32", "int64"):
            rows = [np.arange(3 * k).reshape(k, 3).astype(dtype) for k in (*range(25), 5, 0, 7, 1)]
            with hr.Graph().as_default(), hr.device("/gpu:0"):
                array = hr.TensorArray(dtype, len(rows), infer_shape=False, clear_after_read=False)
                handle = R.EmptyTensorList(
                    element_shape=[-1, 3], max_num_elements=-1, element_dtype=dtype)
                for i, row in enumerate(rows):
                    value = hr.constant(row) + hr.constant(1, dtype)
                    array = array.write(i, value)
                    handle = R.TensorListPushBack(input_handle=handle, tensor=value)
                listed = R.TensorListConcatV2(
                    input_handle=handle, element_shape=[-1, 3], element_dtype=dtype,
                    leading_dims=hr.constant([], "int64"))
                x = hr.constant(np.ones([4, 3], dtype)) * hr.constant(2, dtype)
                one = hr.TensorArray(dtype, 1, clear_after_read=False).write(0, x)
                read = hr.add_n([hr.reduce_sum(one.read(0)) for _ in range(9)])
                grad = hr.gradients(read, x)[0] if x.dtype.is_floating else hr.constant(9)
                with hr.Session(config=hr.ConfigProto(allow_soft_placement=True)) as session:
                    joined, flow, other, lengths, summed = session.run(
                        [array.concat(), array.flow, listed.tensor, listed.lengths, grad])
            expected = np.concatenate(rows) + 1
            np.testing.assert_array_equal(joined, expected)
            np.testing.assert_array_equal(other, expected)
            assert lengths.tolist() == [len(row) for row in rows] and flow == 0.0
            assert np.all(summed == 9), summed
        """
    )


def test_a_thousand_steps_leave_nothing_on_the_device(run: Run) -> None:
    run(
        """
        import opencl_networks as networks
        from opencl_memory import memory
        loss, train, batch = networks.build("sequence_lstm", "/gpu:0")
        rng = np.random.RandomState(7)
        fed = batch(rng)
        stacks = hr.raw_ops.StackV2(max_size=-1, elem_type=hr.float32)
        with hr.device("/gpu:0"):
            left = hr.raw_ops.StackPushV2(handle=stacks, elem=hr.random_normal([100, 100]))
        figures = []
        with networks.session() as session:
            session.run(hr.global_variables_initializer())
            for step in range(1000):
                session.run([loss, train, left.op], fed)
                if step in (9, 499, 999):
                    found = memory()
                    figures.append((found.in_use, found.live))
        assert figures[0] == figures[1] == figures[2], figures
        """
    )


def test_a_session_lives_on_after_a_loop_exhausted_the_memory(run: Run) -> None:
    run(
        """
        from opencl_memory import memory
        n = hr.placeholder(hr.int32, [])
        with hr.device("/gpu:0"):
            x = hr.random_normal([256, 1024])
            body = lambda i, y: (i + 1, hr.sin(y) * hr.cos(y) + x)
            y = hr.while_loop(lambda i, y: i < n, body, [hr.constant(0), x])[1]
            grad = hr.reduce_sum(hr.gradients(y, x)[0])
            array = hr.TensorArray(hr.float32, 0, dynamic_size=True)
            write = lambda i, a: (i + 1, a.write(i, x * 2.0))
            rows = hr.while_loop(lambda i, a: i < n, write, [hr.constant(0), array])[1].stack()
            total = hr.reduce_sum(rows)
        with hr.Session() as session:
            limit = [d for d in session.list_devices() if d.device_type == "GPU"][0].memory_limit
        config = hr.ConfigProto(allow_soft_placement=True)
        config.gpu_options.per_process_gpu_memory_fraction = 64 * 2**20 / limit
        with hr.Session(config=config) as session:
            for fetch in (grad, total):
                session.run(fetch, {n: 3})
                before = memory().in_use
                for _ in range(3):
                    try:
                        session.run(fetch, {n: 200})
                    except hr.errors.ResourceExhaustedError as error:
                        assert "no memory" in str(error), error
                    else:
                        raise AssertionError("200 MB fit into 64")
                    assert np.isfinite(session.run(fetch, {n: 3}))
                assert memory().in_use == before, (memory().in_use, before)
        """
    )


def test_tensors_without_elements_pass_through_loops_and_conditions(run: Run) -> None:
    run(
        """
        with hr.Graph().as_default():
            with hr.device("/gpu:0"):
                x = hr.placeholder(hr.float32, [0, 2])
                _, looped = hr.while_loop(
                    lambda i, s: i < 2, lambda i, s: (i + 1, s + x), [hr.constant(0), x * 2]
                )
                chosen = hr.cond(hr.reduce_sum(x) < 1, lambda: x + 1, lambda: x * 3)
                fetches = [
                    made
                    for value in (looped, chosen)
                    for made in (
                        hr.reduce_sum(value),
                        hr.reduce_max(value, 0),
                        hr.concat([value, hr.ones([1, 2])], 0),
                        hr.matmul(value, value, transpose_a=True),
                    )
                ]
            with hr.Session() as session:
                total, most, joined, product = session.run(fetches, {x: np.zeros([0, 2])})[:4]
        assert total == 0 and (most == -np.inf).all()
        assert joined.tolist() == [[1, 1]] and not product.any()
        """
    )


def test_lists_pass_between_cpu_devices_beside_a_gpu(run: Run) -> None:
    run(
        """
        with hr.device("/cpu:0"):
            items = hr.raw_ops.TensorListFromTensor(
                tensor=np.ones([2, 3], np.float32), element_shape=[3]
            )
        with hr.device("/cpu:1"):
            stacked = hr.raw_ops.TensorListStack(
                input_handle=items, element_shape=[3], element_dtype=hr.float32
            )
        with hr.Session(config=hr.ConfigProto(device_count={"CPU": 2})) as session:
            assert len(session.list_devices()) == 3
            assert session.run(stacked).shape == (2, 3)
        """
    )

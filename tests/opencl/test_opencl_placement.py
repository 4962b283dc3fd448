"""Graphs of which one part is on an OpenCL device and another on the CPU."""

from __future__ import annotations

import pytest
from opencl_children import Run

pytestmark = pytest.mark.opencl


def test_the_device_is_listed_and_preferred(run: Run) -> None:
    run(
        """
        x = hr.placeholder(hr.float32, [None, 4])
        y = hr.matmul(x, hr.ones([4, 2]))
        with hr.Session() as session:
            types = [d.device_type for d in session.list_devices()]
            assert types[0] == "CPU" and "GPU" in types, types
            assert session.run(y, {x: np.ones([3, 4])}).tolist() == [[4.0, 4.0]] * 3
            assert "MatMul (opencl)" in session.explain(y, [x])
        with hr.Session(config=hr.ConfigProto(device_count={"GPU": 0})) as session:
            assert [d.device_type for d in session.list_devices()] == ["CPU"]
        """
    )


def test_values_cross_between_the_cpu_and_the_device_in_both_directions(run: Run) -> None:
    run(
        """
        x = hr.placeholder(hr.float32, [None, 64])
        rows = np.random.RandomState(0).randn(32, 64).astype(np.float32)
        h, value = x, rows
        for i in range(6):
            with hr.device("/cpu:0" if i % 2 else "/gpu:0"):
                h = hr.tanh(h * 1.5) - hr.reduce_mean(h, 1, keepdims=True)
            value = np.tanh(value * np.float32(1.5)) - value.mean(1, keepdims=True)
        with hr.Session() as session:
            for _ in range(20):
                np.testing.assert_allclose(session.run(h, {x: rows}), value, atol=2e-5)
        """
    )


def test_variables_of_both_devices_train_in_one_step(run: Run) -> None:
    run(
        """
        x = hr.placeholder(hr.float32, [None, 8])
        with hr.device("/cpu:0"):
            a = hr.get_variable("a", [8, 8], initializer=hr.zeros_initializer())
            h = x + hr.matmul(x, a)
        with hr.device("/gpu:0"):
            b = hr.get_variable("b", [8, 1], initializer=hr.zeros_initializer())
            loss = hr.reduce_mean(hr.square(hr.matmul(h, b) - hr.reduce_sum(x, 1, keepdims=True)))
        train = hr.train.GradientDescentOptimizer(0.05).minimize(loss)
        rng = np.random.RandomState(0)
        with hr.Session(config=hr.ConfigProto(allow_soft_placement=True)) as session:
            session.run(hr.global_variables_initializer())
            first = session.run(loss, {x: rng.randn(64, 8)})
            for _ in range(200):
                session.run(train, {x: rng.randn(64, 8)})
            assert session.run(loss, {x: rng.randn(64, 8)}) < 0.01 * first
            assert abs(session.run(a)).max() > 0 and abs(session.run(b)).max() > 0
        """
    )


def test_sessions_and_threads_share_the_device(run: Run) -> None:
    run(
        """
        import threading
        x = hr.placeholder(hr.float32, [None, 32])
        y = hr.reduce_sum(hr.nn.relu(hr.matmul(x, hr.ones([32, 16])) - 1.0), 1)
        sessions = [hr.Session(), hr.Session()]
        wrong = []

        def work(session, seed):
            rng = np.random.RandomState(seed)
            for _ in range(50):
                rows = rng.randn(rng.randint(1, 20), 32).astype(np.float32)
                expected = 16 * np.maximum(rows.sum(1) - 1, 0)
                found = session.run(y, {x: rows})
                if not np.allclose(found, expected, atol=1e-3):
                    wrong.append((found, expected))

        threads = [threading.Thread(target=work, args=(sessions[i % 2], i)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for session in sessions:
            session.close()
        assert not wrong, wrong[0]
        """
    )


def test_ops_without_a_kernel_run_on_the_cpu_and_are_listed_once(run: Run) -> None:
    run(
        """
        import logging
        lines = []

        class Handler(logging.Handler):
            def emit(self, record):
                lines.append((record.levelname, record.getMessage()))

        logging.getLogger("headrace.runtime").addHandler(Handler())
        x = hr.placeholder(hr.float32, [3, 3])
        with hr.device("/gpu:0"):
            y = hr.matrix_determinant(x) + 1.0
        try:
            hr.Session().run(y, {x: np.eye(3)})
        except hr.errors.InvalidArgumentError as error:
            assert "MatrixDeterminant" in str(error) and "no GPU kernel" in str(error), error
        else:
            raise AssertionError("placed without soft placement")
        config = hr.ConfigProto(allow_soft_placement=True)
        for _ in range(2):
            with hr.Session(config=config) as session:
                assert session.run(y, {x: np.eye(3)}) == 2.0
        text = "these ops have no GPU kernel and run on the CPU: MatrixDeterminant (float)"
        assert lines == [("WARNING", text)], lines
        """
    )


def test_a_traced_run_says_why_each_node_is_on_the_gpu_or_the_cpu(run: Run) -> None:
    run(
        """
        from headrace.formats.proto.plan_pb2 import PlacementReport as Report
        with hr.device("/cpu:0"):
            pinned = hr.constant(2.0, name="pinned")
        x = hr.placeholder(hr.float32, [4, 4], name="x")
        product = hr.matmul(x, x, name="product") * pinned
        text = hr.as_string(product, name="text")
        options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
        with hr.Session() as session:
            for _ in range(2):
                metadata = hr.RunMetadata()
                session.run(text, {x: np.eye(4)}, options, metadata)
        nodes = {node.name: node for node in metadata.placement.node}
        found = {name: (nodes[name].reason, nodes[name].device[-5:]) for name in
                 ("pinned", "product", "text")}
        assert found == {
            "pinned": (Report.REQUESTED, "CPU:0"),
            "product": (Report.ACCELERATOR, "GPU:0"),
            "text": (Report.KERNELS, "CPU:0"),
        }, found
        assert nodes["product"].measured_us > 0
        """
    )

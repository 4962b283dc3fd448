"""Several CPU devices in one session: partition, Send and Recv, rejected placements, errors across
devices.

Modules: passes/place, passes/partition.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest
from concurrently import wait_until_idle

import headrace.graph as hr
from headrace.formats.errors import CancelledError, InvalidArgumentError

TWO = hr.ConfigProto(device_count={"CPU": 2})


@pytest.mark.host_execution("asserts that the CPUs are the only devices")
def test_the_session_lists_its_devices() -> None:
    with hr.Session(config=hr.ConfigProto(device_count={"CPU": 3})) as session:
        names = [device.name for device in session.list_devices()]
    assert names == [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(3)]


def test_a_graph_gives_the_same_on_two_devices_as_on_one() -> None:
    def build(devices: list[str]) -> tuple[hr.Tensor, hr.Tensor, hr.Operation]:
        x = hr.placeholder(hr.float32, [4, 4])
        h = x
        for i in range(6):
            with hr.device(devices[i % 2]):
                v = hr.get_variable(f"v{i}", [4, 4], initializer=hr.ones_initializer())
                h = hr.tanh(hr.matmul(h, v * 0.3)) + x
        loss = hr.reduce_sum(hr.square(h))
        return x, loss, hr.train.MomentumOptimizer(0.1, 0.9).minimize(loss)

    at = np.random.default_rng(0).normal(size=[4, 4])
    found = []
    for devices in (["/cpu:0", "/cpu:1"], ["/cpu:0", "/cpu:0"]):
        with hr.Graph().as_default():
            x, loss, train = build(devices)
            with hr.Session(config=TWO) as session:
                session.run(hr.global_variables_initializer())
                found.append([session.run([loss, train], {x: at})[0] for _ in range(10)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
    assert found[0][-1] != found[0][0]


def test_each_tensor_crosses_once_however_many_read_it() -> None:
    with hr.device("/cpu:0"):
        x = hr.placeholder(hr.float32, [3])
        a = x * 2.0
    with hr.device("/cpu:1"):
        readers = [a + float(i) for i in range(5)]
    metadata = hr.RunMetadata()
    with hr.Session(config=TWO) as session:
        options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
        got = session.run(readers, {x: [1, 2, 3]}, options=options, run_metadata=metadata)
    assert [list(one) for one in got] == [[2 + i, 4 + i, 6 + i] for i in range(5)]
    labels = [node.timeline_label for d in metadata.step_stats.dev_stats for node in d.node_stats]
    assert sum("= _Send" in label for label in labels) == 1
    assert sum("= _Recv" in label for label in labels) == 1


def test_every_dtype_crosses() -> None:
    values = [
        np.array([True, False]), np.array([1, -2], np.int8), np.array([1, 2], np.uint16),
        np.array([1.5], np.float16), np.array([2.5]), np.array([1 + 2j], np.complex64),
        np.array([b"one", b"two"], object), np.zeros([0, 3], np.int64), np.array(7, np.int32),
    ]  # fmt: skip
    crossed = []
    for value in values:
        with hr.device("/cpu:0"):
            there = hr.identity(hr.identity(hr.constant(value)))
        with hr.device("/cpu:1"):
            crossed.append(hr.identity(there))
    with hr.Session(config=TWO) as session:
        for got, value in zip(session.run(crossed), values, strict=True):
            np.testing.assert_array_equal(got, value)


def test_control_edges_cross() -> None:
    with hr.device("/cpu:0"):
        v = hr.Variable(1.0)
        assigned = v.assign(5.0)
    with hr.device("/cpu:1"), hr.control_dependencies([assigned]):
        other = hr.constant(2.0) * 2.0
    with hr.Session(config=TWO) as session:
        session.run(v.initializer)
        assert session.run(other) == 4.0
        assert session.run(v) == 5.0


@pytest.mark.parametrize("taken", [True, False])
def test_a_branch_runs_on_another_device_and_the_dead_one_crosses_dead(taken: bool) -> None:
    p = hr.placeholder(hr.bool, [])
    x = hr.placeholder(hr.float32, [])

    def other_device() -> hr.Tensor:
        with hr.device("/cpu:1"):
            return x * 3.0 + 1.0

    with hr.device("/cpu:0"):
        y = hr.cond(p, other_device, lambda: x - 1.0)
        z = y * 2.0
    with hr.Session(config=TWO) as session:
        assert session.run(z, {p: taken, x: 2.0}) == (14.0 if taken else 2.0)


def test_a_loop_on_one_device_feeds_another() -> None:
    with hr.device("/cpu:1"):
        n = hr.while_loop(lambda i: i < 10, lambda i: i + 1, [hr.constant(0)])
    with hr.device("/cpu:0"):
        m = n * 2
    with hr.Session(config=TWO) as session:
        assert session.run(m) == 20


def test_writes_of_a_reference_run_on_the_device_of_the_variable() -> None:
    with hr.device("/cpu:0"):
        v = hr.Variable([1.0])
    with hr.device("/cpu:1"):
        assigned = v.assign([2.0])
        read = v.read_value() * 10.0
    with hr.Session(config=TWO) as session:
        session.run(v.initializer)
        session.run(assigned)
        assert session.run(read) == [20.0]


def test_a_handle_does_not_cross() -> None:
    with hr.device("/cpu:0"):
        v = hr.get_variable("v", initializer=[1.0], use_resource=True)
    with hr.device("/cpu:1"):
        put = hr.raw_ops.AssignVariableOp(resource=v.handle, value=[2.0], name="put")
    with hr.Session(config=TWO) as session:
        with pytest.raises(InvalidArgumentError, match="must share a device cannot: .*'put'.*'v'"):
            session.run(put)
    soft = hr.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)
    with hr.Session(config=soft) as session:
        session.run(put)
        assert session.run(v.read_value()) == [2.0]


def test_an_error_names_the_node_wherever_it_stands() -> None:
    with hr.device("/cpu:1"):
        x = hr.placeholder(hr.float32, [None])
        bad = hr.check_numerics(x, "not a number", name="judge")
    with hr.device("/cpu:0"):
        y = bad + 1.0
    with hr.Session(config=TWO) as session:
        with pytest.raises(InvalidArgumentError, match="not a number") as caught:
            session.run(y, {x: [np.nan]})
        assert caught.value.op.name == "judge"
        assert session.run(y, {x: [1.0]}).tolist() == [2.0]


def test_an_error_on_one_device_ends_waits_on_the_other() -> None:
    x = hr.placeholder(hr.float32, [])
    with hr.device("/cpu:1"):
        waiting = hr.FIFOQueue(1, [hr.float32], shapes=[[]]).dequeue()
        late = waiting + 1.0
    with hr.device("/cpu:0"):
        y = late * 2.0
        bad = hr.check_numerics(x, "fails")
    with hr.Session(config=TWO) as session:
        with pytest.raises(InvalidArgumentError, match="fails"):
            session.run([y, bad], {x: np.inf})


def test_closing_ends_a_recv_that_waits() -> None:
    with hr.device("/cpu:1"):
        late = hr.FIFOQueue(1, [hr.float32], shapes=[[]]).dequeue() + 1.0
    with hr.device("/cpu:0"):
        y = late * 2.0
    session = hr.Session(config=TWO)

    def close() -> None:
        wait_until_idle()  # until the run waits
        session.close()

    closing = threading.Thread(target=close)
    closing.start()
    with pytest.raises(CancelledError):
        session.run(y)
    closing.join()


def test_a_device_that_is_not_there_is_rejected_or_replaced() -> None:
    with hr.device("/cpu:7"):
        y = hr.constant(1.0) + 1.0
    with hr.Session(config=TWO) as session:
        with pytest.raises(InvalidArgumentError, match=r"cannot place .*device:CPU:7.*CPU:1"):
            session.run(y)
    soft = hr.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)
    with hr.Session(config=soft) as session:
        assert session.run(y) == 2.0


@pytest.mark.host_execution("asserts that the CPUs are the only devices")
def test_a_session_without_a_gpu_is_built_without_gpu_support() -> None:
    assert not hr.test.is_built_with_gpu_support()
    assert hr.test.gpu_device_name() == "" and not hr.test.is_gpu_available()

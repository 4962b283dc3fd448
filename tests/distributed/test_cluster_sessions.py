"""Sessions over a cluster, with the master in this process and in another one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from served_cluster import in_process, processes

import headrace.graph as hr
from headrace.formats import errors
from headrace.formats.proto.plan_pb2 import PlacementReport
from headrace.formats.proto.run_pb2 import ConfigProto, RunMetadata, RunOptions

PS0, PS1, WORKER = "/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:0"


@pytest.fixture(scope="module", params=["master in this process", "master in another process"])
def cluster(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with ExitStack() as stack:
        if "another" in request.param:
            folder = tmp_path_factory.mktemp("cluster")
            yield stack.enter_context(processes(folder, 2, 1))
        else:
            yield stack.enter_context(in_process(ps=2, worker=1))


@pytest.fixture
def target(cluster: Any) -> str:
    return str(cluster.target("worker"))


@pytest.fixture(autouse=True)
def graph() -> Iterator[hr.Graph]:
    with hr.Graph().as_default() as made:
        yield made


def until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    """Waits for a condition."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)


def on(device: str) -> Any:
    return hr.device(device)


def test_two_clients_share_the_variables_of_the_parameter_servers(target: str) -> None:
    with on(PS0):
        v = hr.Variable(1.0, name="shared_by_two")
        added = v.assign_add(2.0)
    with hr.Session(target) as one, hr.Session(target) as other:
        one.run(v.initializer)
        one.run(added)
        assert other.run(v) == 3.0
        other.run(added)
        assert one.run(v) == 5.0


def test_state_outlives_the_session_that_made_it(target: str) -> None:
    with on(PS1):
        v = hr.Variable([1.0, 2.0], name="outlives")
    with hr.Session(target) as session:
        session.run(v.initializer)
    with hr.Session(target) as session:
        assert session.run(v).tolist() == [1.0, 2.0]


def test_isolated_sessions_have_variables_of_their_own(target: str) -> None:
    with on(PS0):
        v = hr.Variable(1.0, name="isolated")
    config = ConfigProto(isolate_session_state=True)
    with hr.Session(target, config=config) as one, hr.Session(target, config=config) as other:
        one.run(v.initializer)
        assert one.run(v) == 1.0
        with pytest.raises(errors.FailedPreconditionError, match="uninitialized"):
            other.run(v)


def test_a_graph_grows_after_its_first_run(target: str) -> None:
    with on(PS0):
        a = hr.constant(2.0)
    with hr.Session(target) as session:
        assert session.run(a) == 2.0
        with on(PS1):
            b = a * 3.0
        with on(WORKER):
            c = b + a
        assert session.run([c, b]) == [8.0, 6.0]


VALUES = [
    np.float32(1.5),
    np.arange(6, dtype=np.float64).reshape(2, 3),
    np.arange(4, dtype=np.float16),
    np.arange(4, dtype=ml_dtypes.bfloat16),
    np.array([-1, 2**31 - 1], np.int32),
    np.array([-(2**63), 2**63 - 1], np.int64),
    np.array([0, 255], np.uint8),
    np.array([0, 2**16 - 1], np.uint16),
    np.array([-128, 127], np.int8),
    np.array([-(2**15)], np.int16),
    np.array([2**32 - 1], np.uint32),
    np.array([2**64 - 1], np.uint64),
    np.array([[True], [False]]),
    np.array([1 + 2j], np.complex64),
    np.array(1 - 2j, np.complex128),
    np.zeros((0, 3), np.float32),
    np.zeros((2, 0), np.int64),
    np.array([b"", b"a\0b", "é".encode() * 1000], object),
    np.array(b"scalar", object),
    np.zeros((0,), object),
    np.random.default_rng(0).normal(size=(300, 400)).astype(np.float32),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: f"{v.dtype}{list(v.shape)}")
def test_tensors_of_all_dtypes_come_back(target: str, value: np.ndarray) -> None:
    dtype = hr.string if value.dtype == object else hr.as_dtype(value.dtype)
    with on(PS0):
        x = hr.placeholder(dtype, value.shape)
        there = hr.identity(x)
    with on(PS1):
        further = hr.identity(there)
    with hr.Session(target) as session:
        for got in session.run([there, further], {x: value}):
            if isinstance(got, bytes):
                assert got == value[()]
            else:
                assert got.dtype == value.dtype and got.shape == value.shape
                assert got.tobytes() == value.tobytes() or got.tolist() == value.tolist()


def test_a_fetch_may_be_fed_or_repeated_and_a_run_may_have_targets_only(target: str) -> None:
    with on(PS0):
        x = hr.placeholder(hr.float32, [2])
        y = x * 2.0
        v = hr.Variable(0.0, name="target_only")
        up = v.assign_add(1.0).op
    fed = np.array([1.0, 2.0], np.float32)
    with hr.Session(target) as session:
        session.run(v.initializer)
        got = session.run([y, x, y], {x: fed})
        assert [g.tolist() for g in got] == [[2.0, 4.0], [1.0, 2.0], [2.0, 4.0]]
        fed[0] = 9.0
        assert got[1].tolist() == [1.0, 2.0], "a fed value that is fetched is a copy"
        assert session.run(up) is None
        assert session.run(v) == 1.0
        step = session._service.prepare([x.name], [x.name, y.name], [])
        assert [g.tolist() for g in step([fed])] == [[9.0, 2.0], [18.0, 4.0]]


def test_an_error_names_the_node_and_the_session_goes_on(target: str) -> None:
    with on(PS1):
        x = hr.placeholder(hr.float32, [None, None], name="fed_matrix")
        product = hr.matmul(x, x, name="bad_product")
    with on(WORKER):
        after = hr.reduce_sum(product)
    with hr.Session(target) as session:
        with pytest.raises(errors.InvalidArgumentError, match="bad_product.*inner sizes differ"):
            session.run(after, {x: np.zeros((2, 3), np.float32)})
        assert session.run(after, {x: np.ones((2, 2), np.float32)}) == 8.0
        with on(PS0):
            v = hr.Variable(1.0, name="never_initialised")
        with pytest.raises(errors.FailedPreconditionError, match="uninitialized") as caught:
            session.run(v)
        assert caught.value.node_name == "never_initialised"
        assert caught.value.op is not None, "the client has found the operation"


def test_what_cannot_be_prepared_is_refused_with_its_name(target: str) -> None:
    with on(PS0):
        y = hr.placeholder(hr.float32, [], name="not_fed") * 2.0
    with hr.Session(target) as session:
        with pytest.raises(errors.InvalidArgumentError, match="not_fed"):
            session.run(y)
        with on("/job:ps/task:7"):
            z = hr.constant(1.0, name="nowhere") + 1.0
        with pytest.raises(errors.InvalidArgumentError, match="task:7"):
            session.run(z)
        with pytest.raises(errors.NotFoundError, match="no_such"):
            session._service.prepare([], ["no_such:0"], [])


def test_a_partial_run_over_three_tasks(target: str) -> None:
    with on(PS0):
        a = hr.placeholder(hr.float32, [])
        doubled = a * 2.0
    with on(PS1):
        b = hr.placeholder(hr.float32, [])
        total = doubled + b
        v = hr.Variable(0.0, name="partial")
        stored = v.assign(total).op
    with hr.Session(target) as session:
        session.run(v.initializer)
        handle = session.partial_run_setup([doubled, total, stored], [a, b])
        with pytest.raises(errors.InvalidArgumentError, match="needs a feed"):
            session.partial_run(handle, total)
        assert session.partial_run(handle, doubled, {a: 1.5}) == 3.0
        assert session.partial_run(handle, [total, stored], {b: 1.0}) == [4.0, None]
        assert session.run(v) == 4.0
        with pytest.raises(errors.InvalidArgumentError, match="setup"):
            session.partial_run(handle, total)
        handle = session.partial_run_setup([doubled], [a])
        with pytest.raises(errors.InvalidArgumentError, match="not named as a fetch"):
            session.partial_run(handle, total, {a: 1.0})


def test_devices_of_all_tasks_are_listed(target: str, cluster: Any) -> None:
    with hr.Session(target) as session:
        devices = session.list_devices()
    tasks = {d.name.rpartition("/device:")[0] for d in devices}
    assert tasks == {
        "/job:ps/replica:0/task:0",
        "/job:ps/replica:0/task:1",
        "/job:worker/replica:0/task:0",
    }
    assert devices[0].name.startswith("/job:worker"), "the master's own come first"
    assert len({d.incarnation for d in devices}) == len(devices)


def test_nodes_without_a_device_run_at_the_master(target: str) -> None:
    x = hr.constant(1.0) + 1.0
    options, metadata = RunOptions(output_partition_graphs=True), RunMetadata()
    with hr.Session(target) as session:
        assert session.run(x, options=options, run_metadata=metadata) == 2.0
    (graph,) = metadata.partition_graphs
    assert {node.device.partition("/device")[0] for node in graph.node} == {
        "/job:worker/replica:0/task:0"
    }


def test_a_trace_covers_all_tasks(target: str) -> None:
    with on(PS0):
        a = hr.constant(np.ones((64, 64), np.float32), name="at_ps0")
        b = hr.matmul(a, a, name="product_at_ps0")
    with on(PS1):
        c = hr.reduce_sum(b, name="sum_at_ps1")
    options, metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
    with hr.Session(target) as session:
        assert session.run(c, options=options, run_metadata=metadata) == 64.0**3
    where = {
        node.node_name: device.device
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
    }
    assert where["sum_at_ps1"].startswith("/job:ps/replica:0/task:1")
    assert any(name.endswith("RecvTensor") for name in where)


def test_a_trace_says_why_each_node_is_where_it_is(target: str) -> None:
    with on(PS0):
        a = hr.placeholder(hr.float32, (64, 64), name="fed_to_ps0")
        b = hr.matmul(a, a, name="product_for_ps1")
    with on(PS1):
        c = hr.reduce_sum(b, name="sum_of_ps0")
    options, metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
    with hr.Session(target) as session:
        session.run(c, {a: np.ones((64, 64))}, options=options, run_metadata=metadata)
    placed = {node.name: node for node in metadata.placement.node}
    for name, task in (("product_for_ps1", PS0), ("sum_of_ps0", PS1)):
        node = placed[name]
        assert node.device.startswith(task.replace("/task", "/replica:0/task"))
        assert node.reason == PlacementReport.REQUESTED and node.requested == task
        assert node.expected_us > 0 and node.measured_us > 0
    (transfer,) = metadata.placement.transfer
    assert transfer.tensor == "product_for_ps1:0" and transfer.bytes == 64 * 64 * 4


@pytest.mark.parametrize("when", ["it is prepared", "it runs"])
def test_an_error_names_op_node_line_and_device(target: str, when: str) -> None:
    x = hr.placeholder(hr.float32, [None, None])
    with on(PS1):
        if when == "it runs":
            y = hr.gather(x, [7], name="fails_there")
        else:
            y = hr.matmul(x, x, name="fails_there")
    with hr.Session(target) as session:
        with pytest.raises(errors.InvalidArgumentError) as failure:
            session.run(y, {x: np.ones((2, 3))})
    assert failure.value.op is y.op
    label = f"{y.op.type} 'fails_there' (test_cluster_sessions.py:"
    assert failure.value.message.startswith(label)
    assert ") on /job:ps/replica:0/task:1/device:CPU:0: " in failure.value.message


def test_time_limits_end_a_blocked_run(target: str) -> None:
    with on(PS0):
        queue = hr.FIFOQueue(1, hr.float32, [], name="blocks_for_ever")
        value = queue.dequeue()
    with hr.Session(target) as session:
        begun = time.monotonic()
        with pytest.raises(errors.DeadlineExceededError):
            session.run(value, options=RunOptions(timeout_in_ms=200))
        assert time.monotonic() - begun < 20.0
        session.run(queue.enqueue(1.0))
        assert session.run(value) == 1.0, "the aborted run has taken nothing"
    with hr.Session(target, config=ConfigProto(operation_timeout_in_ms=300)) as session:
        with pytest.raises(errors.DeadlineExceededError):
            session.run(value)


def test_closing_a_session_ends_its_blocked_runs(target: str) -> None:
    with on(PS1):
        queue = hr.FIFOQueue(1, hr.float32, [], name="closed_under_it")
        begun = hr.Variable(0.0, name="run_has_begun")
        with hr.control_dependencies([begun.assign_add(1.0)]):
            value = queue.dequeue()
    session = hr.Session(target)
    session.run(begun.initializer)
    caught: list[BaseException] = []

    def blocked() -> None:
        try:
            session.run(value)
        except Exception as error:  # noqa: BLE001 - it is what the test looks at
            caught.append(error)

    thread = threading.Thread(target=blocked)
    thread.start()
    with hr.Session(target) as other:
        until(lambda: other.run(begun) == 1.0)
    session.close()
    thread.join(30.0)
    assert not thread.is_alive()
    assert isinstance(caught[0], (errors.CancelledError, errors.AbortedError))
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(begun)


def test_a_queue_hands_elements_from_one_session_to_another(target: str) -> None:
    with on(PS0):
        queue = hr.FIFOQueue(10, hr.string, [], name="between_sessions")
        x = hr.placeholder(hr.string, [])
        put, take = queue.enqueue(x), queue.dequeue()
    taken: list[Any] = []
    with hr.Session(target) as one, hr.Session(target) as other:
        thread = threading.Thread(target=lambda: taken.append(other.run(take)))
        thread.start()
        one.run(put, {x: b"hello"})
        thread.join(30.0)
    assert taken == [b"hello"]


def test_many_threads_run_steps_at_once(target: str) -> None:
    with on(PS0):
        x = hr.placeholder(hr.float32, [100])
        y = hr.reduce_sum(x * 2.0)
    wrong: list[Any] = []

    def work(number: int) -> None:
        for i in range(20):
            value = np.full(100, number * 100 + i, np.float32)
            if session.run(y, {x: value}) != 200.0 * (number * 100 + i):
                wrong.append((number, i))

    with hr.Session(target) as session:
        session.run(y, {x: np.zeros(100, np.float32)})
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60.0)
    assert not wrong


def test_device_filters_hide_tasks(target: str) -> None:
    config = ConfigProto(device_filters=["/job:ps/task:0"])
    with on(PS0):
        seen = hr.constant(1.0) + 1.0
    with on(PS1):
        hidden = hr.constant(1.0) + 1.0
    with hr.Session(target, config=config) as session:
        assert session.run(seen) == 2.0
        with pytest.raises(errors.InvalidArgumentError, match="task:1"):
            session.run(hidden)
        tasks = {d.name.rpartition("/device:")[0] for d in session.list_devices()}
        assert tasks == {"/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"}
    with pytest.raises(errors.InvalidArgumentError, match="device_filters"):
        hr.Session(target, config=ConfigProto(device_filters=["ps"]))


def test_living_tasks_of_a_job_are_known(target: str) -> None:
    with hr.Session(target) as session:
        assert session._service.live_tasks("ps") == [0, 1]
        assert session._service.live_tasks("worker") == [0]
        assert session._service.live_tasks("nothing") == []


def test_a_cluster_may_come_with_the_session(target: str, cluster: Any) -> None:
    config = ConfigProto(allow_soft_placement=True)
    for name, job, index in (("boss", "worker", 0), ("helper", "ps", 1), ("helper", "ps", 0)):
        found = next((j for j in config.cluster_def.job if j.name == name), None)
        found = found or config.cluster_def.job.add(name=name)
        found.tasks[len(found.tasks)] = cluster.jobs[job][index]
    with on("/job:helper/task:1"):
        v = hr.Variable(3.0, name="propagated")
    with on("/job:helper/task:0"):
        doubled = v * 2.0
    with hr.Session(target, config=config) as session:
        session.run(v.initializer)
        assert session.run(doubled) == 6.0
        names = [d.name for d in session.list_devices()]
        assert any(name.startswith("/job:helper/replica:0/task:1") for name in names)
    config.cluster_def.job[0].tasks[0] = "127.0.0.1:1"
    with pytest.raises(errors.InvalidArgumentError, match="cluster_def"):
        hr.Session(target, config=config)


def test_a_reset_clears_containers_and_ends_the_sessions_of_the_master(target: str) -> None:
    with on(PS0), hr.container("first"):
        a = hr.Variable(1.0, name="in_first")
    with on(PS1), hr.container("second"):
        b = hr.Variable(2.0, name="in_second")
    with hr.Session(target) as session:
        session.run([a.initializer, b.initializer])
        hr.Session.reset(target, ["first"])
        with pytest.raises(errors.AbortedError, match="reset|not found"):
            session.run(b)
    with hr.Session(target) as session:
        assert session.run(b) == 2.0
        with pytest.raises(errors.FailedPreconditionError):
            session.run(a)

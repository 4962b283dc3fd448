"""The worker service, over gRPC, with a runtime that only remembers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fake_tasks import FakeTask

from headrace.distributed.master.worker_clients import RemoteWorker
from headrace.distributed.rpc.deadline import Deadline
from headrace.distributed.rpc.settings import Settings
from headrace.distributed.worker.renamed_graph import renamed_graph
from headrace.formats import errors
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.run_pb2 import ConfigProto
from headrace.formats.proto.worker_service_pb2 import (
    ConnectRequest,
    DeregisterGraphRequest,
    OpenWorkerSessionRequest,
    RegisterGraphRequest,
    TaskInstance,
)

PS0, PS1, MASTER = (
    f"/job:{job}/replica:0/task:{i}" for job, i in (("ps", 0), ("ps", 1), ("worker", 0))
)
GRACE_S = 1000.0


def soon() -> Deadline:
    return Deadline.after(30.0)


def until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    """Waits for a condition."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)


class Cluster:
    """Two parameter servers, and a master that calls them."""

    def __init__(self) -> None:
        self.settings = Settings(session_grace_s=GRACE_S, transport="tcp")
        self.master = FakeTask(MASTER, self.settings)
        self.tasks = {name: FakeTask(name, self.settings) for name in (PS0, PS1)}

    def client(self, name: str, master: FakeTask | None = None) -> RemoteWorker:
        channels = (master or self.master).channels
        return RemoteWorker(channels, name, self.tasks[name].address)

    def instance(self, name: str) -> TaskInstance:
        task = self.tasks[name] if name in self.tasks else self.master
        return TaskInstance(task=name, address=task.address, incarnation=task.endpoint.incarnation)

    def open(self, name: str, session: int, master: FakeTask | None = None, **fields: Any) -> None:
        master = master or self.master
        task = self.tasks[name]
        master.links.ensure(name, task.address, task.endpoint.incarnation, soon())
        me = TaskInstance(
            task=MASTER, address=master.address, incarnation=master.endpoint.incarnation
        )
        request = OpenWorkerSessionRequest(session=session, master=me, **fields)
        self.client(name, master).open_session(request, soon())

    def close(self) -> None:
        for task in (self.master, *self.tasks.values()):
            task.close()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


def test_a_session_is_opened_once_and_closed(cluster: Cluster) -> None:
    worker = cluster.tasks[PS0].worker
    for _ in range(3):
        cluster.open(PS0, 7, config=ConfigProto(intra_op_parallelism_threads=1), own_state=True)
    assert worker.sessions == {"7": {}} and worker.own_state == {"7": True}
    status = cluster.client(PS0).status(soon())
    assert (status.task, list(status.master)) == (PS0, [MASTER])
    assert status.device[0].name == f"{PS0}/device:CPU:0" and status.device[0].incarnation
    cluster.client(PS0).close_session(7, soon())
    assert worker.sessions == {}
    with pytest.raises(errors.AbortedError, match=f"{PS0}.*its master has closed it"):
        cluster.open(PS0, 7)
    cluster.client(PS0).close_session(999, soon())  # it never was


def test_a_session_without_a_link_to_its_master_is_refused(cluster: Cluster) -> None:
    request = OpenWorkerSessionRequest(session=7, master=cluster.instance(MASTER))
    with pytest.raises(errors.OpError) as caught:
        cluster.client(PS0).open_session(request, Deadline.after(0.3))
    assert caught.value.error_code in (errors.UNAVAILABLE, errors.DEADLINE_EXCEEDED)
    assert cluster.tasks[PS0].worker.sessions == {}


def test_partitions_are_registered_once_and_link_their_peers(cluster: Cluster) -> None:
    cluster.open(PS0, 7)
    cluster.open(PS1, 7)
    request = RegisterGraphRequest(session=7, signature=1, graph_def=GraphDef().SerializeToString())
    numbers: dict[str, set[int]] = {PS0: set(), PS1: set()}

    def register(name: str, other: str) -> None:
        mine = RegisterGraphRequest()
        mine.CopyFrom(request)
        mine.peer.append(cluster.instance(other))
        numbers[name].add(cluster.client(name).register_graph(mine, soon()))

    # Both at once, since each waits for the link that one of the two makes.
    threads = [
        threading.Thread(target=register, args=pair)
        for pair in ((PS0, PS1), (PS1, PS0), (PS0, PS1), (PS1, PS0))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
    assert [len(found) for found in numbers.values()] == [1, 1], "one partition each"
    one, other = (cluster.tasks[name] for name in (PS0, PS1))
    assert len(one.worker.sessions["7"]) == 1
    assert one.endpoint.has_link(other.endpoint.incarnation)
    assert other.endpoint.has_link(one.endpoint.incarnation)
    planes = [link["name"] for link in one.endpoint.links() if link["plane"] == "tcp"]
    assert planes.count(PS1) == 1, "one side has dialled"
    cluster.client(PS0).deregister_graph(
        DeregisterGraphRequest(session=7, partition=numbers[PS0]), soon()
    )
    assert one.worker.sessions["7"] == {}


def test_what_the_runtime_rejects_can_be_registered_again(cluster: Cluster) -> None:
    cluster.open(PS0, 7)
    worker = cluster.tasks[PS0].worker

    def reject() -> None:
        raise errors.InvalidArgumentError(None, None, "no kernel", node_name="a/b")

    worker.before_register = reject
    request = RegisterGraphRequest(session=7, signature=1)
    for _ in range(2):
        with pytest.raises(errors.InvalidArgumentError, match="no kernel") as caught:
            cluster.client(PS0).register_graph(request, soon())
        assert caught.value.node_name == "a/b"
    worker.before_register = lambda: None
    assert cluster.client(PS0).register_graph(request, soon()) > 0


def test_a_session_that_closes_while_a_partition_is_registered(cluster: Cluster) -> None:
    cluster.open(PS0, 7)
    task = cluster.tasks[PS0]
    task.worker.before_register = lambda: task.service.close_session(7)
    with pytest.raises(errors.OpError):
        cluster.client(PS0).register_graph(RegisterGraphRequest(session=7, signature=1), soon())
    assert task.worker.sessions == {}


def test_a_peer_that_is_not_there_is_named(cluster: Cluster) -> None:
    cluster.open(PS0, 7)
    gone = TaskInstance(task=PS1, address="127.0.0.1:1", incarnation=(1 << 63) - 1)
    request = RegisterGraphRequest(session=7, signature=1, peer=[gone])
    with pytest.raises(errors.UnavailableError, match=f"{PS1} at 127.0.0.1:1.*refused"):
        cluster.client(PS0).register_graph(request, soon())
    wrong = cluster.instance(PS1)
    wrong.incarnation = (1 << 63) - 1
    request = RegisterGraphRequest(session=7, signature=2, peer=[wrong])
    with pytest.raises(errors.AbortedError, match=f"{PS1}.*has been restarted"):
        cluster.client(PS0).register_graph(request, soon())


def test_lost_links_between_peers_are_made_again_on_demand(cluster: Cluster) -> None:
    cluster.open(PS0, 7)
    one, other = (cluster.tasks[name].endpoint for name in (PS0, PS1))
    request = ConnectRequest(session=7, peer=[cluster.instance(PS1)])
    for _ in range(2):
        cluster.client(PS0).connect(request, soon())
        assert one.has_link(other.incarnation)
        one.close_link(other.incarnation, "the test has cut it")
        until(lambda: not one.has_link(other.incarnation))
    with pytest.raises(errors.AbortedError, match="no session"):
        cluster.client(PS0).connect(ConnectRequest(session=8), soon())


def test_a_task_is_not_to_blame_for_its_peers(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "headrace.distributed")
    cluster.open(PS0, 7)
    restarted = cluster.instance(PS1)
    restarted.incarnation += 1
    gone = TaskInstance(task="/job:ps/replica:0/task:9", address="127.0.0.1:1", incarnation=9)
    request = ConnectRequest(session=7, peer=[restarted, gone, cluster.instance(PS1)])
    cluster.client(PS0).connect(request, soon())
    assert cluster.tasks[PS0].endpoint.has_link(cluster.tasks[PS1].endpoint.incarnation)
    assert f"{PS1} at {restarted.address} has been restarted" in caplog.text
    assert "task:9" in caplog.text and "refused" in caplog.text


def test_the_sessions_of_a_lost_master_end_unless_it_comes_back(cluster: Cluster) -> None:
    cluster.open(PS0, 7)
    task = cluster.tasks[PS0]
    mine = cluster.master.endpoint
    mine.close_link(task.endpoint.incarnation, "the test has cut it")
    until(lambda: not task.endpoint.has_link(mine.incarnation))
    cluster.master.links.ensure(PS0, task.address, task.endpoint.incarnation, soon())
    until(lambda: bool(task.service.get_status().master))
    task.service._on_tick(time.monotonic() + 2 * GRACE_S)
    assert "7" in task.worker.sessions
    mine.close_link(task.endpoint.incarnation, "the test has cut it")
    until(lambda: not task.service.get_status().master)
    task.service._on_tick(time.monotonic() + GRACE_S / 2)
    assert "7" in task.worker.sessions
    task.service._on_tick(time.monotonic() + 2 * GRACE_S)
    until(lambda: not task.worker.sessions)
    with pytest.raises(errors.AbortedError, match="connection to its master was lost"):
        cluster.client(PS0).connect(ConnectRequest(session=7), soon())


def test_a_new_start_of_a_master_ends_the_sessions_of_the_old_one(cluster: Cluster) -> None:
    cluster.open(PS0, 7)
    later = FakeTask(MASTER, cluster.settings)
    try:
        cluster.open(PS0, 8, later)
        assert list(cluster.tasks[PS0].worker.sessions) == ["8"]
        with pytest.raises(errors.AbortedError, match="restarted"):
            cluster.open(PS0, 9)
    finally:
        later.close()


def test_a_worker_under_another_name_has_state_of_its_own_for_it(cluster: Cluster) -> None:
    cluster.open(PS0, 7, task="/job:helper/replica:0/task:5")
    worker = cluster.tasks[PS0].worker
    assert worker.own_state == {"7": True}
    graph = GraphDef()
    graph.node.add(name="a", device="/job:helper/replica:0/task:5/device:CPU:0")
    request = RegisterGraphRequest(session=7, signature=1, graph_def=graph.SerializeToString())
    cluster.client(PS0).register_graph(request, soon())
    ((registered,),) = (tuple(p.values()) for p in worker.sessions.values())
    assert GraphDef.FromString(registered).node[0].device == f"{PS0}/device:CPU:0"


def test_names_of_other_tasks_stay() -> None:
    graph = GraphDef()
    for device in ("/job:a/replica:0/task:1", "/job:a/replica:0/task:11/device:CPU:0", ""):
        graph.node.add(device=device)
    graph.library.function.add().node_def.add(device="/job:a/replica:0/task:1/device:CPU:3")
    wire = renamed_graph(graph.SerializeToString(), "/job:a/replica:0/task:1", "/job:b/task:2")
    found = GraphDef.FromString(wire)
    assert [node.device for node in found.node] == [
        "/job:b/task:2",
        "/job:a/replica:0/task:11/device:CPU:0",
        "",
    ]
    assert found.library.function[0].node_def[0].device == "/job:b/task:2/device:CPU:3"


def test_containers_are_reset(cluster: Cluster) -> None:
    cluster.client(PS0).reset(["a", "b"], soon())
    assert cluster.tasks[PS0].worker.resets == [["a", "b"]]

"""The master: sessions over tasks that only remember what they are asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fake_tasks import FakePlanner, FakeTask

from headrace.distributed.cluster.cluster_text import cluster_from_jobs
from headrace.distributed.master.master import Master
from headrace.distributed.master.step_cache import RECENT_SIGNATURES
from headrace.distributed.rpc.deadline import Deadline
from headrace.distributed.rpc.settings import Settings
from headrace.formats import errors
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.run_pb2 import ConfigProto
from headrace.formats.proto.server_pb2 import ServerDef

PS0, PS1, WORKER = (
    f"/job:{job}/replica:0/task:{i}" for job, i in (("ps", 0), ("ps", 1), ("worker", 0))
)


def until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    """Waits for a condition."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)


class FakeRuntime:
    """services.RuntimeService with planners that a test can look at."""

    def __init__(self) -> None:
        self.planners: list[FakePlanner] = []
        self.configs: list[ConfigProto] = []

    def open_planner(self, config: bytes) -> FakePlanner:
        self.configs.append(ConfigProto.FromString(config))
        self.planners.append(FakePlanner())
        return self.planners[-1]

    def open_worker(self, task: str, config: bytes) -> Any:
        raise NotImplementedError

    def open_rendezvous(self) -> Any:
        raise NotImplementedError


class Cluster:
    """A master with its worker, and two parameter servers, which may be absent."""

    def __init__(self, **default_config: Any) -> None:
        self.settings = Settings(session_grace_s=1000.0)
        self.tasks = {name: FakeTask(name, self.settings) for name in (PS0, PS1, WORKER)}
        self.definition = ServerDef(job_name="worker")
        self.definition.cluster.CopyFrom(
            cluster_from_jobs(
                {
                    "ps": [self.tasks[PS0].address, self.tasks[PS1].address],
                    "worker": [self.tasks[WORKER].address],
                }
            )
        )
        self.definition.default_session_config.CopyFrom(ConfigProto(**default_config))
        self.runtime = FakeRuntime()
        here = self.tasks[WORKER]
        self.master = Master(
            self.definition, here.address, self.runtime, here.service, here.links, here.threads
        )

    def session(self, **config: Any) -> Any:
        found = self.master.create_session(
            ConfigProto(**config).SerializeToString(), f"grpc://{self.tasks[WORKER].address}"
        )
        graph = GraphDef()
        for name, task in (("at_ps0", PS0), ("at_ps1", PS1), ("here", WORKER), ("anywhere", "")):
            graph.node.add(name=name, op="NoOp", device=f"{task}/device:CPU:0" if task else "")
        for i in range(200):
            graph.node.add(name=f"n{i}", op="NoOp", device=f"{PS0}/device:CPU:0")
        found.extend(graph)
        return found

    def registered(self, name: str) -> int:
        return sum(len(p) for p in self.tasks[name].worker.sessions.values())

    def close(self) -> None:
        self.master.close()
        for task in self.tasks.values():
            task.close()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


def test_a_session_is_opened_at_the_tasks_that_a_signature_uses(cluster: Cluster) -> None:
    session = cluster.session()
    step = session.prepare([], [], ["at_ps0", "here"])
    assert step is session.prepare([], [], ["at_ps0", "here"])
    assert [bool(cluster.tasks[t].worker.sessions) for t in (PS0, PS1, WORKER)] == [
        True, False, True,
    ]  # fmt: skip
    assert cluster.registered(PS0) == cluster.registered(WORKER) == 1
    cluster.master.close_session(session)
    assert not any(task.worker.sessions for task in cluster.tasks.values())
    with pytest.raises(errors.CancelledError, match="closed"):
        session.prepare([], [], ["here"])


def test_the_devices_of_the_master_come_first(cluster: Cluster) -> None:
    cluster.tasks[PS1].worker.n_devices = 2
    session = cluster.session()
    session.prepare([], [], ["anywhere"])
    assert cluster.runtime.planners[0].planned_for[0] == [
        f"{WORKER}/device:CPU:0",
        f"{PS0}/device:CPU:0",
        f"{PS1}/device:CPU:0",
        f"{PS1}/device:CPU:1",
    ]
    assert cluster.registered(WORKER) == 1 and not cluster.tasks[PS0].worker.sessions


def test_threads_that_prepare_one_signature_register_it_once(cluster: Cluster) -> None:
    session = cluster.session()
    go = threading.Event()
    cluster.tasks[PS0].worker.before_register = lambda: None if go.wait(20.0) else None
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(session.prepare([], [], ["at_ps0"])))
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    go.set()
    for thread in threads:
        thread.join(30.0)
    assert len(found) == 5 and len({id(step) for step in found}) == 1
    assert cluster.registered(PS0) == 1


def test_signatures_are_deregistered_when_the_cache_drops_them(cluster: Cluster) -> None:
    session = cluster.session()
    held = session.prepare([], [], ["n0"])
    for i in range(RECENT_SIGNATURES + 20):
        session.prepare([], [], [f"n{i}"])
    session.drop_unused()
    until(lambda: cluster.registered(PS0) == RECENT_SIGNATURES + 1)
    assert held is session.prepare([], [], ["n0"])
    session.prepare([], [], ["n3"])
    session.drop_unused()  # as the master does from time to time
    until(lambda: cluster.registered(PS0) == RECENT_SIGNATURES)


def test_what_a_task_rejects_is_deregistered_elsewhere(cluster: Cluster) -> None:
    session = cluster.session()

    def reject() -> None:
        raise errors.InvalidArgumentError(None, None, "bad node", node_name="at_ps1")

    cluster.tasks[PS1].worker.before_register = reject
    with pytest.raises(errors.InvalidArgumentError, match="^bad node$") as caught:
        session.prepare([], [], ["at_ps0", "at_ps1", "here"])
    assert caught.value.node_name == "at_ps1"
    until(lambda: cluster.registered(PS0) == cluster.registered(WORKER) == 0)
    cluster.tasks[PS1].worker.before_register = lambda: None
    session.prepare([], [], ["at_ps0", "at_ps1", "here"])
    # A task may register the first plan only after another has rejected it; that ends, too.
    until(lambda: [cluster.registered(t) for t in (PS0, PS1, WORKER)] == [1, 1, 1])


def test_more_devices_than_were_assumed_change_the_plan(cluster: Cluster) -> None:
    session = cluster.session(operation_timeout_in_ms=20_000)
    planner = cluster.runtime.planners[0]
    view = session.view
    cluster.tasks[PS0].worker.n_devices = 3
    session._planner._asked = True  # as if it had not answered in time
    session.prepare([], [], ["at_ps0"])
    assert [len(devices) for devices in planner.planned_for] == [3, 5]
    assert f"{PS0}/device:CPU:2" in view.device_names()
    until(lambda: cluster.registered(PS0) == 1)


def test_the_options_of_the_server_are_the_defaults_of_sessions() -> None:
    cluster = Cluster(operation_timeout_in_ms=7000, allow_soft_placement=True)
    try:
        assert cluster.session().operation_s == 7.0
        session = cluster.session(operation_timeout_in_ms=9000, isolate_session_state=True)
        assert (session.operation_s, session.timeout_ms) == (9.0, 9000)
        assert all(config.allow_soft_placement for config in cluster.runtime.configs)
        session.prepare([], [], ["at_ps0"])
        assert cluster.tasks[PS0].worker.own_state == {f"{session.number:x}": True}
        with pytest.raises(errors.InvalidArgumentError, match="operation_timeout_in_ms is -1"):
            cluster.session(operation_timeout_in_ms=-1)
    finally:
        cluster.close()


def test_filters_of_sessions_and_of_the_server(cluster: Cluster) -> None:
    session = cluster.session(device_filters=["/job:ps/task:1"])
    assert sorted(session.view.clients) == [PS1, WORKER]
    with pytest.raises(errors.InvalidArgumentError, match="no device"):
        session.prepare([], [], ["at_ps0"])
    session.prepare([], [], ["at_ps1"])
    filters = cluster.definition.cluster_device_filters.jobs.add(name="worker")
    filters.tasks[0].device_filters.append("/job:ps/task:0")
    here = cluster.tasks[WORKER]
    master = Master(
        cluster.definition, here.address, cluster.runtime, here.service, here.links, here.threads
    )
    assert sorted(master.create_session(b"", "").view.clients) == [PS0, WORKER]
    master.close()


def test_a_reset_reaches_all_tasks_and_ends_the_sessions(cluster: Cluster) -> None:
    session = cluster.session()
    session.prepare([], [], ["at_ps0"])
    cluster.master.reset(["c"], [])
    assert [task.worker.resets for task in cluster.tasks.values()] == [[["c"]]] * 3
    assert not cluster.tasks[PS0].worker.sessions
    with pytest.raises(errors.AbortedError, match="its resources were reset"):
        session.prepare([], [], ["here"])
    with pytest.raises(errors.AbortedError, match=f"{session.handle}.*reset"):
        cluster.master.session(session.handle)
    cluster.master.reset([], ["/job:ps/task:1"])
    assert [len(task.worker.resets) for task in cluster.tasks.values()] == [1, 2, 2]


def test_a_reset_names_the_task_that_it_cannot_reach(cluster: Cluster) -> None:
    cluster.tasks[PS0].close()
    with pytest.raises(errors.UnavailableError, match=PS0):
        cluster.master.reset(["c"], [])
    assert cluster.tasks[PS1].worker.resets == [["c"]], "the others are cleared"


def test_living_tasks_are_those_that_answer_or_hold_sessions(cluster: Cluster) -> None:
    session = cluster.session()
    session.prepare([], [], ["at_ps0"])
    assert cluster.master.live_tasks(session, "ps") == [0, 1]
    cluster.tasks[PS1].close()
    assert cluster.master.live_tasks(session, "ps") == [0]
    assert cluster.master.live_tasks(session, "worker") == [0]
    # A worker that is not in the cluster of this master, and uses its parameter servers.
    joined = FakeTask("/job:worker/replica:0/task:7", cluster.settings)
    other = Master(
        ServerDef(
            job_name="worker",
            task_index=7,
            cluster=cluster_from_jobs(
                {"ps": [cluster.tasks[PS0].address], "worker": {7: joined.address}}
            ),
        ),
        joined.address, cluster.runtime, joined.service, joined.links, joined.threads,
    )  # fmt: skip
    its_session = other.create_session(b"", "")
    graph = GraphDef()
    graph.node.add(name="x", op="NoOp", device=f"{PS0}/device:CPU:0")
    its_session.extend(graph)
    its_session.prepare([], [], ["x"])
    assert cluster.master.live_tasks(session, "worker") == [0, 7]
    other.close()
    joined.close()
    until(lambda: cluster.master.live_tasks(session, "worker") == [0])


def test_sessions_end_with_their_client(cluster: Cluster) -> None:
    client = FakeTask("client", cluster.settings)
    here = cluster.tasks[WORKER]
    client.links.ensure(WORKER, here.address, here.endpoint.incarnation, Deadline.after(30.0))
    session = cluster.master.create_session(b"", "", client.endpoint.incarnation)
    kept = cluster.session()
    client.close()
    until(lambda: bool(cluster.master._leases.holders[client.endpoint.incarnation].lost_at))
    cluster.master._on_tick(time.monotonic() + 10.0)
    assert cluster.master.session(session.handle) is session
    cluster.master._on_tick(time.monotonic() + 5000.0)
    until(lambda: session.handle in cluster.master._ended)
    with pytest.raises(errors.AbortedError, match="its client is gone"):
        cluster.master.session(session.handle)
    assert cluster.master.session(kept.handle) is kept


def test_an_unknown_session_is_named(cluster: Cluster) -> None:
    with pytest.raises(errors.AbortedError, match="Session abc is not found at /job:worker"):
        cluster.master.session("abc")

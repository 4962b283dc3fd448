"""Tasks that are restarted, links that are lost, and sessions whose opener is gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster_processes import Cluster
from served_cluster import InProcess, environment, in_process

import headrace.graph as hr
from headrace.formats import errors
from headrace.formats.proto.run_pb2 import ConfigProto


@pytest.fixture(autouse=True)
def graph() -> Iterator[hr.Graph]:
    with hr.Graph().as_default() as made:
        yield made


@pytest.fixture
def cluster() -> Iterator[InProcess]:
    with in_process(ps=2, worker=1) as made:
        yield made


def until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    """Waits for a condition."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)


def variable_at_ps0() -> tuple[Any, Any]:
    with hr.device("/job:ps/task:0"):
        v = hr.Variable(1.0, name="v")
    with hr.device("/job:ps/task:1"):
        return v, v + 1.0


def test_a_restarted_task_aborts_the_session_and_a_new_one_goes_on(cluster: InProcess) -> None:
    v, y = variable_at_ps0()
    target = cluster.target("worker")
    session = hr.Session(target)
    session.run(v.initializer)
    assert session.run(y) == 2.0
    cluster.stop("ps", 0)
    for _ in range(2):
        with pytest.raises((errors.UnavailableError, errors.AbortedError, errors.CancelledError)):
            session.run(y)
    with pytest.raises(errors.UnavailableError, match="/job:ps/replica:0/task:0.*refused"):
        session.run(y)
    cluster.start("ps", 0)
    for _ in range(2):
        with pytest.raises(errors.AbortedError, match="/job:ps/replica:0/task:0.*restarted"):
            session.run(y)
    with hr.device("/job:ps/task:1"):
        elsewhere = hr.constant(1.0) + 1.0
    assert session.run(elsewhere) == 2.0, "what does not use the task goes on"
    session.close()
    with hr.Session(target) as session:
        with pytest.raises(errors.FailedPreconditionError, match="uninitialized"):
            session.run(y)
        session.run(v.initializer)
        assert session.run(y) == 2.0


def test_a_restart_is_seen_by_a_client_in_another_process(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, 2, 1)
    try:
        for name, index in (("ps", 0), ("ps", 1), ("worker", 0)):
            cluster.start_task(name, index)
        v, y = variable_at_ps0()
        session = hr.Session(f"grpc://{cluster.jobs['worker'][0]}")
        session.run(v.initializer)
        assert session.run(y) == 2.0
        cluster.kill("ps:0")
        with pytest.raises(errors.UnavailableError, match="/job:ps/replica:0/task:0"):
            session.run(y)
        cluster.start_task("ps", 0)
        cluster.until("ps:0", lambda event: event.get("event") == "serving")
        with pytest.raises(errors.AbortedError, match="/job:ps/replica:0/task:0.*restarted"):
            session.run(y)
        cluster.kill("worker:0")
        with pytest.raises(errors.UnavailableError):
            session.run(y)
        cluster.start_task("worker", 0)
        cluster.until("worker:0", lambda event: event.get("event") == "serving")
        with pytest.raises(errors.AbortedError, match="restarted"):
            session.run(y)
        session.close()
    finally:
        cluster.close()


def test_a_run_in_progress_fails_when_its_task_goes(cluster: InProcess) -> None:
    with hr.device("/job:ps/task:0"):
        begun = hr.Variable(0.0, name="begun")
        queue = hr.FIFOQueue(1, hr.float32, [], name="queue")
        with hr.control_dependencies([begun.assign_add(1.0)]):
            value = queue.dequeue()
    caught: list[BaseException] = []

    def blocked() -> None:
        try:
            session.run(value)
        except Exception as error:  # noqa: BLE001 - it is what the test looks at
            caught.append(error)

    with hr.Session(cluster.target("worker")) as session:
        session.run(begun.initializer)
        thread = threading.Thread(target=blocked)
        thread.start()
        with hr.Session(cluster.target("worker")) as other:
            until(lambda: other.run(begun) == 1.0)
        cluster.stop("ps", 0)
        thread.join(30.0)
        assert not thread.is_alive()
    assert isinstance(caught[0], (errors.UnavailableError, errors.CancelledError))


def endpoint_of(cluster: InProcess, name: str) -> Any:
    return cluster.servers[name]._endpoint


@pytest.mark.parametrize("between", [("worker:0", "ps:0"), ("ps:0", "ps:1"), ("ps:1", "ps:0")])
def test_a_lost_link_to_a_living_task_is_made_again(
    cluster: InProcess, between: tuple[str, str]
) -> None:
    v, y = variable_at_ps0()
    one, other = (endpoint_of(cluster, name) for name in between)
    with hr.Session(cluster.target("worker")) as session:
        session.run(v.initializer)
        assert session.run(y) == 2.0
        one.close_link(other.incarnation, "the test has cut it")
        until(lambda: not one.has_link(other.incarnation))
        if between[0] == "worker:0":
            assert session.run(y) == 2.0, "the master links again before it runs"
        else:  # the master learns of it from the step that fails
            with pytest.raises(errors.UnavailableError, match="link|available"):
                session.run(y)
            assert session.run(y) == 2.0
        session.run(v.assign_add(1.0))
        assert session.run(y) == 3.0


def test_sessions_end_when_their_master_is_gone_for_the_time_of_grace() -> None:
    with environment(HEADRACE_SESSION_GRACE_S="0.2"), in_process(ps=1, worker=2) as cluster:
        with hr.device("/job:ps/task:0"):
            v = hr.Variable(1.0, name="v")
        one, other = (
            hr.Session(cluster.target("worker", 0)),
            hr.Session(cluster.target("worker", 1)),
        )
        one.run(v.initializer)
        assert other.run(v) == 1.0
        sessions = cluster.servers["ps:0"]._worker._machine.sessions
        assert len(sessions) == 2
        # Its link goes as that of a killed process goes: nothing says goodbye.
        cluster.servers["worker:0"]._links.close()
        until(lambda: len(sessions) == 1)
        assert other.run(v) == 1.0, "the variables stay"
        other.close()
        until(lambda: not sessions)


def test_a_restarted_master_fences_its_earlier_start(cluster: InProcess) -> None:
    with hr.device("/job:ps/task:0"):
        v = hr.Variable(1.0, name="v")
    old = hr.Session(cluster.target("worker"))
    old.run(v.initializer)
    sessions = cluster.servers["ps:0"]._worker._machine.sessions
    (before,) = sessions
    late = cluster.servers.pop("worker:0")
    # A new start of the task at another address, while the first one still runs.
    replaced = InProcess({**cluster.jobs, "worker": ["127.0.0.1:0"]})
    replaced.start("worker", 0)
    try:
        with hr.Session(replaced.servers["worker:0"].target) as session:
            assert session.run(v) == 1.0
            assert before not in sessions, "the session of the earlier start has ended"
            with pytest.raises(errors.AbortedError, match="restarted"):
                old.run(v)
            with hr.Session(late.target) as another, pytest.raises(errors.AbortedError):
                another.run(v)
    finally:
        replaced.stop("worker", 0)
        old.close()
        late.stop()


def test_the_session_of_a_client_that_is_gone_ends(tmp_path: Path) -> None:
    with environment(HEADRACE_SESSION_GRACE_S="0.2"), in_process(ps=1, worker=1) as cluster:
        script = tmp_path / "client.py"
        script.write_text(
            "import headrace.graph as hr, sys, time\n"
            f"session = hr.Session({cluster.target('worker')!r})\n"
            "with hr.device('/job:ps/task:0'):\n"
            "    print('{\"value\": %f}' % session.run(hr.constant(2.0)), flush=True)\n"
            "time.sleep(600)\n"
        )
        client = Cluster(tmp_path, 0, 1)
        try:
            client.start("client:0", str(script))
            client.until("client:0", lambda event: event.get("value") == 2.0)
            sessions = cluster.servers["ps:0"]._worker._machine.sessions
            assert len(sessions) == 1
            client.kill("client:0")
            until(lambda: not sessions)
        finally:
            client.close()


def test_signatures_that_nothing_holds_are_deregistered(cluster: InProcess) -> None:
    with hr.device("/job:ps/task:0"):
        x = hr.constant(1.0)
        tensors = [x + float(i) for i in range(140)]
    with hr.Session(cluster.target("worker")) as session:
        service = session._service
        session.run(x)
        held = [service.prepare([], [t.name], []) for t in tensors[:5]]
        for i, tensor in enumerate(tensors):
            assert service.prepare([], [tensor.name], [])([])[0] == 1.0 + i
        (of_ps0,) = cluster.servers["ps:0"]._worker._machine.sessions.values()
        # 128 recent ones, and those that a step is held of; the session holds that of x
        until(lambda: len(of_ps0.partitions) <= 128 + len(held) + 1)
        assert [step([])[0] for step in held] == [1.0, 2.0, 3.0, 4.0, 5.0]
        assert service.prepare([], [tensors[7].name], [])([])[0] == 8.0, "it is registered again"


def test_sessions_leave_nothing_behind(cluster: InProcess) -> None:
    import os

    with hr.device("/job:ps/task:0"):
        x = hr.placeholder(hr.float32, [])
        y = x * 2.0

    def one() -> None:
        config = ConfigProto(isolate_session_state=True)
        with hr.Session(cluster.target("worker"), config=config) as session:
            assert session.run(y, {x: 3.0}) == 6.0

    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))

    for _ in range(5):
        one()
    files, threads = open_files(), threading.active_count()
    for _ in range(50):
        one()
    assert open_files() <= files + 2
    assert threading.active_count() <= threads + 4
    for server in cluster.servers.values():
        assert not server._worker._machine.sessions
        assert not server._master._sessions

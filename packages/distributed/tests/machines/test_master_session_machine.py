"""The state machine of a master's session: every order of events, and cases."""

from __future__ import annotations

import pytest
from exploration import explore

from headrace.distributed.machines import master_session as m
from headrace.distributed.machines.master_session import MasterSession, Phase
from headrace.formats import errors

SIGNATURES = {1: ("a", "b"), 2: ("b",)}


class Cluster:
    """A session over two workers that may be lost, restarted, and answer late or not at all."""

    def __init__(self, losses: int, restarts: int, failures: int, runs: int) -> None:
        self.machine = MasterSession()
        self.calls: list[m.Instruction] = []  # that are in progress
        self.incarnations = {"a": 1, "b": 1}
        self.has_session: dict[str, int] = {}  # worker -> incarnation that has it
        self.partitions: dict[str, set[int]] = {"a": set(), "b": set()}
        self.prepared: dict[int, str] = {}  # what became of the signatures
        self.runs: dict[int, str] = {}
        self.next_partition = 0
        self.left = {"lose": losses, "restart": restarts, "fail": failures, "run": runs}
        self.dropped: set[int] = set()

    def key(self) -> str:
        found = {k: v for k, v in vars(self).items() if k != "machine"}
        return f"{self.machine}{sorted(map(str, self.calls))}{found}"

    def actions(self) -> list[tuple[object, ...]]:
        found: list[tuple[object, ...]] = []
        for number in SIGNATURES:
            if number not in self.prepared:
                found.append(("prepare", number))
            elif self.prepared[number] == "ready" and number not in self.dropped:
                if self.left["run"]:
                    found.append(("run", number))
                found.append(("drop", number))
        for i in range(len(self.calls)):
            found.append(("answer", i))
            if self.left["fail"]:
                found.append(("fail", i))
        for worker in self.incarnations:
            if self.left["lose"] and worker in self.has_session:
                found.append(("lose", worker))
            if self.left["restart"] and worker in self.has_session:
                found.append(("restart", worker))
        if self.machine.closed is None:
            found.append(("close",))
        return found

    def act(self, action: tuple[object, ...]) -> None:
        match action:
            case ("prepare", int(number)):
                self.prepared[number] = "waits"
                self.tell(m.Prepare(number, SIGNATURES[number]))
            case ("run", int(number)):
                self.left["run"] -= 1
                run = len(self.runs) + 1
                self.runs[run] = "waits"
                self.tell(m.Run(run, number))
            case ("drop", int(number)):
                self.dropped.add(number)
                self.tell(m.Drop(number))
            case ("answer", int(i)):
                self.answer(self.calls.pop(i))
            case ("fail", int(i)):
                self.left["fail"] -= 1
                self.fail(self.calls.pop(i))
            case ("lose", str(worker)):
                self.left["lose"] -= 1
                self.tell(m.LinkLost(worker, self.incarnations[worker]))
            case ("restart", str(worker)):
                self.left["restart"] -= 1
                old = self.incarnations[worker]
                self.incarnations[worker] += 1
                self.has_session.pop(worker, None)
                self.partitions[worker].clear()
                self.tell(m.LinkLost(worker, old))
            case ("close",):
                self.tell(m.Close("closed"))

    def answer(self, call: m.Instruction) -> None:
        """The worker does what it is asked, and says so."""
        match call:
            case m.OpenTask(worker):
                self.has_session[worker] = self.incarnations[worker]
                self.tell(m.Opened(worker, self.incarnations[worker]))
            case m.RegisterGraph(number, worker):
                if worker not in self.has_session:  # it was restarted, or closed the session
                    self.tell(m.RegisterFailed(number, worker, errors.ABORTED, "no session"))
                    return
                self.next_partition += 1
                self.partitions[worker].add(self.next_partition)
                self.tell(m.Registered(number, worker, self.next_partition))
            case m.CheckTask(worker, incarnation):
                if self.has_session.get(worker) == incarnation:
                    self.tell(m.Checked(worker))
                else:
                    self.tell(m.CheckFailed(worker, errors.ABORTED, "restarted"))

    def fail(self, call: m.Instruction) -> None:
        """The worker cannot be reached, or its answer is lost after it has done what it should."""
        unavailable = errors.UNAVAILABLE, "not reached"
        match call:
            case m.OpenTask(worker):
                self.has_session[worker] = self.incarnations[worker]
                self.tell(m.OpenFailed(worker, *unavailable))
            case m.RegisterGraph(number, worker):
                self.tell(m.RegisterFailed(number, worker, *unavailable))
            case m.CheckTask(worker, _):
                self.tell(m.CheckFailed(worker, *unavailable))

    def tell(self, event: m.Event) -> None:
        was_closed = self.machine.closed is not None
        for instruction in self.machine.handle(event):
            self.follow(instruction, was_closed)

    def follow(self, instruction: m.Instruction, was_closed: bool) -> None:
        match instruction:
            case m.Ready(number):
                assert self.prepared[number] == "waits", "a signature was answered twice"
                self.prepared[number] = "ready"
                assert all(self.partitions[w] or w not in self.has_session
                           for w in SIGNATURES[number])  # fmt: skip
            case m.Fail(number, code, _):
                assert self.prepared[number] == "waits", "a signature was answered twice"
                assert code != errors.OK
                self.prepared[number] = "failed"
            case m.Go(run):
                assert self.runs[run] == "waits", "a run was answered twice"
                assert not was_closed, "a run goes on after the end of the session"
                self.runs[run] = "went"
            case m.Refuse(run, _, _):
                assert self.runs[run] == "waits", "a run was answered twice"
                self.runs[run] = "refused"
            case m.Deregister(worker, partition):
                self.partitions[worker].discard(partition)
            case m.CloseTask(worker):
                self.has_session.pop(worker, None)
                self.partitions[worker].clear()
            case m.OpenTask(worker):
                assert not was_closed, "a task is opened after the end of the session"
                assert instruction not in self.calls, "a task is opened twice at a time"
                self.calls.append(instruction)
            case m.CheckTask():
                assert not was_closed, "a task is checked after the end of the session"
                assert instruction not in self.calls, "a task is checked twice at a time"
                self.calls.append(instruction)
            case m.RegisterGraph(number, worker):
                assert not was_closed, "a graph is registered after the end of the session"
                assert self.machine.tasks[worker].phase is Phase.OPEN
                self.calls.append(instruction)


def check(cluster: Cluster) -> None:
    """What holds between any two events."""
    machine = cluster.machine
    for run, number in machine.runs.items():
        assert cluster.runs[run] == "waits"
        assert any(machine.tasks[t].phase is Phase.CHECKING for t in SIGNATURES[number]), (
            "a run waits for nothing"
        )
    if not machine.settled and machine.closed is None:
        assert any(t.phase in (Phase.DOUBTED, Phase.CHECKING, Phase.GONE)
                   for t in machine.tasks.values())  # fmt: skip
    if cluster.calls:
        return
    # Nothing is on its way: whoever asked has an answer, and nothing is left behind.
    assert "waits" not in cluster.prepared.values(), "a signature gets no answer"
    assert "waits" not in cluster.runs.values(), "a run gets no answer"
    if machine.closed is not None:
        assert not cluster.has_session, f"{cluster.has_session} keep the session"
    registered = {
        (worker, partition)
        for number, signature in machine.signatures.items()
        for worker, partition in signature.partitions.items()
    }
    for worker, partitions in cluster.partitions.items():
        for partition in partitions:
            assert (worker, partition) in registered, f"{worker} keeps partition {partition}"


@pytest.mark.parametrize(
    ("losses", "restarts", "failures", "runs", "worlds"),
    [(2, 0, 0, 2, 10_000), (1, 1, 1, 1, 10_000), (0, 0, 2, 0, 800)],
)
def test_every_order_of_events_is_answered_and_leaves_nothing_behind(
    losses: int, restarts: int, failures: int, runs: int, worlds: int
) -> None:
    assert explore(Cluster(losses, restarts, failures, runs), check) > worlds


def opened(*tasks: str) -> MasterSession:
    """A session with one ready signature over tasks."""
    machine = MasterSession()
    machine.handle(m.Prepare(1, tasks))
    for i, task in enumerate(tasks):
        machine.handle(m.Opened(task, i + 1))
    for i, task in enumerate(tasks):
        machine.handle(m.Registered(1, task, i + 10))
    return machine


def test_only_the_tasks_of_a_signature_are_opened() -> None:
    machine = MasterSession()
    assert machine.handle(m.Prepare(1, ("a",))) == [m.OpenTask("a")]
    assert machine.handle(m.Opened("a", 7)) == [m.RegisterGraph(1, "a")]
    assert machine.handle(m.Registered(1, "a", 5)) == [m.Ready(1)]
    assert machine.handle(m.Run(1, 1)) == [m.Go(1)]


def test_a_run_after_a_lost_link_asks_first() -> None:
    machine = opened("a", "b")
    assert machine.settled
    machine.handle(m.LinkLost("b", 2))
    assert not machine.settled
    assert machine.handle(m.Run(1, 1)) == [m.CheckTask("b", 2)]
    assert machine.handle(m.Run(2, 1)) == []  # it waits for the same answer
    assert machine.handle(m.Checked("b")) == [m.Go(1), m.Go(2)]
    assert machine.settled


def test_the_lost_link_of_an_earlier_start_is_no_news() -> None:
    machine = opened("a")
    machine.handle(m.LinkLost("a", 99))
    assert machine.settled


def test_a_restarted_task_ends_what_uses_it_and_nothing_else() -> None:
    machine = opened("a", "b")
    machine.handle(m.Prepare(2, ("a",)))
    machine.handle(m.Registered(2, "a", 12))
    machine.handle(m.LinkLost("b", 2))
    machine.handle(m.Run(1, 1))
    found = machine.handle(m.CheckFailed("b", errors.ABORTED, "b has been restarted"))
    assert found == [m.Refuse(1, errors.ABORTED, "b has been restarted")]
    assert machine.handle(m.Run(2, 1)) == [m.Refuse(2, errors.ABORTED, "b has been restarted")]
    assert machine.handle(m.Run(3, 2)) == [m.Go(3)]
    assert machine.handle(m.Prepare(3, ("a", "b"))) == [
        m.Fail(3, errors.ABORTED, "b has been restarted")
    ]
    assert machine.handle(m.Close("closed")) == [m.CloseTask("a")]


def test_an_unreachable_task_is_asked_again_by_the_next_run() -> None:
    machine = opened("a")
    machine.handle(m.Doubt("a"))
    machine.handle(m.Run(1, 1))
    assert machine.handle(m.CheckFailed("a", errors.UNAVAILABLE, "silent")) == [
        m.Refuse(1, errors.UNAVAILABLE, "silent")
    ]
    assert machine.handle(m.Run(2, 1)) == [m.CheckTask("a", 1)]


def test_a_late_registration_of_a_failed_signature_is_undone() -> None:
    machine = MasterSession()
    machine.handle(m.Prepare(1, ("a", "b")))
    machine.handle(m.Opened("a", 1))
    machine.handle(m.Opened("b", 2))
    machine.handle(m.Registered(1, "a", 5))
    failed = machine.handle(m.RegisterFailed(1, "b", errors.INVALID_ARGUMENT, "bad graph"))
    assert failed == [m.Fail(1, errors.INVALID_ARGUMENT, "bad graph"), m.Deregister("a", 5)]
    assert machine.handle(m.Registered(1, "b", 6)) == [m.Deregister("b", 6)]
    assert machine.settled  # the task is not to blame


def test_a_signature_without_tasks_is_ready_at_once() -> None:
    assert MasterSession().handle(m.Prepare(1, ())) == [m.Ready(1)]

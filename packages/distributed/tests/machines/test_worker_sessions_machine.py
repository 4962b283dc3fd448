"""The state machine of a worker's sessions: every order of events, and cases."""

from __future__ import annotations

import pytest
from exploration import explore

from headrace.distributed.machines import worker_sessions as w
from headrace.distributed.machines.leases import Leases
from headrace.distributed.machines.worker_sessions import WorkerSessions
from headrace.formats import errors

GRACE_S = 10.0
# session -> name and incarnation of its master; the third is of a later start of the first
MASTERS = {1: ("m", 11), 2: ("n", 21), 3: ("m", 12)}


class Worker:
    """A worker with masters that come, go, come again, and repeat what they have asked."""

    def __init__(self, opens: int, registers: int, losses: int, closes: int, ticks: int) -> None:
        self.machine = WorkerSessions(Leases(GRACE_S))
        self.open: set[int] = set()  # in the runtime
        self.ever_open: set[int] = set()
        self.registered: dict[int, set[int]] = {}  # in the runtime
        self.registering: list[tuple[int, int]] = []
        self.lost: dict[int, float] = {}  # incarnation -> when
        self.newer: set[int] = set()  # incarnations that replaced others
        self.now = 0.0
        self.next_partition = 0
        self.left = {
            "open": opens,
            "register": registers,
            "lose": losses,
            "close": closes,
            "tick": ticks,
        }

    def key(self) -> str:
        found = {k: v for k, v in vars(self).items() if k != "machine"}
        return f"{self.machine}{found}"

    def actions(self) -> list[tuple[object, ...]]:
        found: list[tuple[object, ...]] = []
        if self.left["open"]:
            found += [("open", session) for session in MASTERS]
        if self.left["register"]:
            found += [("register", session) for session in sorted(self.ever_open)]
        found += [(how, i) for i in range(len(self.registering)) for how in ("done", "failed")]
        if self.left["close"]:
            found += [("close", session) for session in sorted(self.ever_open)]
        if self.left["lose"]:
            found += [("lose", i) for i in (11, 21) if i not in self.lost]
        found += [("back", i) for i in sorted(self.lost)]
        if self.left["tick"]:
            found.append(("tick",))
        return found

    def act(self, action: tuple[object, ...]) -> None:
        match action:
            case ("open", int(session)):
                self.left["open"] -= 1
                name, incarnation = MASTERS[session]
                self.lost.pop(incarnation, None)
                self.machine.handle(w.MasterBack(incarnation))
                self.follow(self.machine.handle(w.OpenSession(session, name, incarnation)))
            case ("register", int(session)):
                self.left["register"] -= 1
                self.follow(self.machine.handle(w.RegisterGraph(session, 5)))
            case ("done", int(i)):
                session, signature = self.registering.pop(i)
                self.next_partition += 1
                if session in self.open:
                    self.registered[session].add(self.next_partition)
                event = w.Registered(session, signature, self.next_partition)
                self.follow(self.machine.handle(event))
            case ("failed", int(i)):
                self.follow(self.machine.handle(w.RegisterFailed(*self.registering.pop(i))))
            case ("close", int(session)):
                self.left["close"] -= 1
                self.follow(self.machine.handle(w.CloseSession(session)))
                assert session not in self.open, "a closed session stays open"
            case ("lose", int(incarnation)):
                self.left["lose"] -= 1
                self.lost[incarnation] = self.now
                self.machine.handle(w.MasterLost(incarnation, self.now))
            case ("back", int(incarnation)):
                del self.lost[incarnation]
                self.machine.handle(w.MasterBack(incarnation))
            case ("tick",):
                self.left["tick"] -= 1
                self.now += 6.0
                before = set(self.open)
                self.follow(self.machine.handle(w.Tick(self.now)))
                for session in before:
                    at = self.lost.get(MASTERS[session][1])
                    expired = at is not None and self.now - at >= GRACE_S
                    assert (session not in self.open) == expired, "the time of grace"

    def follow(self, instructions: list[w.Instruction]) -> None:
        answers = 0
        for instruction in instructions:
            match instruction:
                case w.Open(session):
                    assert session not in self.ever_open, "a session is opened twice"
                    self.open.add(session)
                    self.ever_open.add(session)
                    self.registered[session] = set()
                    answers += 1
                case w.Close(session, partitions, _):
                    assert session in self.open, "a session is closed twice"
                    known = set(partitions)
                    assert known <= self.registered[session]
                    self.open.discard(session)
                case w.Register(session, signature):
                    assert session in self.open
                    assert (session, signature) not in self.registering, "registered twice"
                    self.registering.append((session, signature))
                    answers += 1
                case w.Deregister(session, partition):
                    self.registered[session].discard(partition)
                case w.Accept() | w.Reject() | w.AwaitRegistration():
                    answers += 1
        assert answers <= 1, "a request gets two answers"


def check(worker: Worker) -> None:
    machine = worker.machine
    assert set(machine.sessions) == worker.open
    held = {s for holder in machine.leases.holders.values() for s in holder.sessions}
    assert held == worker.open, "who holds what is open"
    starts = {MASTERS[s][1] for s in worker.open}
    assert not {11, 12} <= starts, "two starts of one master have sessions"


@pytest.mark.parametrize(
    ("opens", "registers", "losses", "closes", "ticks", "worlds"),
    [(3, 0, 2, 1, 2, 1000), (2, 3, 0, 1, 0, 200), (3, 1, 1, 0, 2, 1000)],
)
def test_every_order_of_events_keeps_the_sessions_of_living_masters(
    opens: int, registers: int, losses: int, closes: int, ticks: int, worlds: int
) -> None:
    assert explore(Worker(opens, registers, losses, closes, ticks), check) > worlds


def opened() -> WorkerSessions:
    machine = WorkerSessions(Leases(GRACE_S))
    assert machine.handle(w.OpenSession(1, "m", 11)) == [w.Open(1)]
    return machine


def test_a_repeated_request_gets_the_first_response() -> None:
    machine = opened()
    assert machine.handle(w.OpenSession(1, "m", 11)) == [w.Accept()]
    assert machine.handle(w.RegisterGraph(1, 5)) == [w.Register(1, 5)]
    assert machine.handle(w.RegisterGraph(1, 5)) == [w.AwaitRegistration()]
    assert machine.handle(w.Registered(1, 5, 70)) == [w.Accept(70)]
    assert machine.handle(w.RegisterGraph(1, 5)) == [w.Accept(70)]


def test_a_new_start_of_a_master_fences_the_old_one() -> None:
    machine = opened()
    machine.handle(w.RegisterGraph(1, 5))
    machine.handle(w.Registered(1, 5, 70))
    closes, opens = machine.handle(w.OpenSession(2, "m", 12))
    assert closes == w.Close(1, (70,), "m has been restarted")
    assert opens == w.Open(2)
    (late,) = machine.handle(w.OpenSession(3, "m", 11))
    assert isinstance(late, w.Reject) and late.code == errors.ABORTED
    (late,) = machine.handle(w.RegisterGraph(1, 6))
    assert isinstance(late, w.Reject) and "m has been restarted" in late.message


def test_the_sessions_of_a_lost_master_end_after_the_time_of_grace() -> None:
    machine = opened()
    machine.handle(w.MasterLost(11, 100.0))
    assert machine.handle(w.Tick(109.0)) == []
    machine.handle(w.MasterBack(11))
    assert machine.handle(w.Tick(200.0)) == []
    machine.handle(w.MasterLost(11, 200.0))
    (close,) = machine.handle(w.Tick(210.0))
    assert close == w.Close(1, (), "the connection to its master was lost")
    (answer,) = machine.handle(w.UseSession(1))
    assert isinstance(answer, w.Reject) and "connection to its master was lost" in answer.message


def test_a_session_that_was_closed_while_it_was_on_its_way_is_not_opened() -> None:
    machine = WorkerSessions(Leases(GRACE_S))
    assert machine.handle(w.CloseSession(1)) == [w.Accept()]
    (answer,) = machine.handle(w.OpenSession(1, "m", 11))
    assert isinstance(answer, w.Reject) and answer.code == errors.ABORTED


def test_a_partition_that_was_registered_too_late_is_forgotten() -> None:
    machine = opened()
    machine.handle(w.RegisterGraph(1, 5))
    machine.handle(w.CloseSession(1))
    assert machine.handle(w.Registered(1, 5, 70)) == [w.Deregister(1, 70)]

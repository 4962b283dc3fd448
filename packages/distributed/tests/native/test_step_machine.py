"""Every order of what can happen to a master's step.

Modules: native/step_machine.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pytest

from headrace.distributed.native.step_machine import StepMachine

OK, CANCELLED, INVALID_ARGUMENT, DEADLINE, UNAVAILABLE = 0, 1, 3, 4, 14
Event = tuple[str, int, int]  # what, participant, code


def events(n: int) -> list[Event]:
    """What can happen; each also late and twice."""
    ends = [("ended", i, code) for i in range(n) for code in (OK, INVALID_ARGUMENT, UNAVAILABLE)]
    cancels = [("cancelled", -1, code) for code in (OK, CANCELLED, DEADLINE)]
    return [*ends, *cancels, ("expired", -1, OK), ("started", -1, OK), ("ended", n, OK)]


@dataclass
class History:
    """A machine, with what was asked of it and what it has ordered."""

    n: int
    machine: StepMachine = field(init=False)
    ended: set[int] = field(default_factory=set)
    first_failure: tuple[int, str] | None = None
    aborts: int = 0
    finishes: int = 0

    def __post_init__(self) -> None:
        self.machine = StepMachine(self.n)

    def happen(self, event: Event) -> None:
        """Lets an event happen, and checks all that must hold after it."""
        what, participant, code = event
        over = self.machine.finished
        text = f"{what} {participant} {code}"
        if what == "ended":
            abort, finish = self.machine.ended(participant, code, f"node {participant}", text)
        elif what == "cancelled":
            abort, finish = self.machine.cancelled(code, text)
        else:
            abort, finish = getattr(self.machine, what)()
        counts = not over and (
            what == "cancelled" or (what == "ended" and 0 <= participant < self.n)
        )
        if what == "ended" and counts:
            counts = participant not in self.ended
            self.ended.add(participant)
        fails = counts and code != OK and self.first_failure is None
        if fails:
            self.first_failure = code, text
        self.aborts += abort
        self.finishes += finish
        running = [i for i in range(self.n) if self.machine.running(i)]
        assert not over or not (abort or finish), "an order after the end"
        assert self.finishes == self.machine.finished <= 1, "it finishes exactly once"
        assert self.aborts <= 1, "it aborts at most once"
        assert not abort or (fails and running), "it aborts only at the first failure, if some run"
        assert abort or not (fails and running), "the others are told of the first failure"
        assert over or running == [i for i in range(self.n) if i not in self.ended]
        if finish:
            assert not running or (what == "expired" and self.first_failure), "it waits for all"
        if not running:
            assert self.machine.finished, "it ends with the last participant"
        expected = self.first_failure or (OK, "")
        assert (self.machine.code, self.machine.message) == expected, (
            "the first failure is the step's"
        )

    def state(self) -> object:
        return frozenset(self.ended), self.first_failure, self.machine.finished


def replay(n: int, history: tuple[Event, ...]) -> History:
    made = History(n)
    for event in history:
        made.happen(event)
    return made


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_order_of_events_in_every_state(n: int) -> None:
    seen = {History(n).state()}
    front: list[tuple[Event, ...]] = [()]
    count = 0
    while front:
        longer = []
        for history in front:
            for event in events(n):
                made = replay(n, (*history, event))
                count += 1
                if made.state() not in seen:
                    seen.add(made.state())
                    longer.append((*history, event))
        front = longer
    assert count > 4**n


@pytest.mark.parametrize(("n", "length"), [(1, 5), (2, 4)])
def test_every_sequence_of_events(n: int, length: int) -> None:
    for history in itertools.product(events(n), repeat=length):
        replay(n, history)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_order_of_ends_finishes(n: int) -> None:
    codes = (OK, INVALID_ARGUMENT, UNAVAILABLE)
    for order in itertools.permutations(range(n)):
        for ends in itertools.product(codes, repeat=n):
            made = replay(n, tuple(("ended", i, ends[i]) for i in order))
            assert made.machine.finished
            failed = [ends[i] for i in order if ends[i] != OK]
            assert made.machine.code == (failed[0] if failed else OK)
            if failed:
                first = next(i for i in order if ends[i] != OK)
                assert made.machine.node == f"node {first}"


def test_a_step_without_participants_ends_when_it_is_started() -> None:
    machine = StepMachine(0)
    assert machine.expired() == (False, False)
    assert machine.started() == (False, True)
    assert machine.started() == machine.cancelled(CANCELLED) == (False, False)
    assert machine.code == OK
    machine = StepMachine(0)
    assert machine.cancelled(CANCELLED, "before") == (False, True)
    assert machine.started() == (False, False)
    assert (machine.code, machine.message) == (CANCELLED, "before")


def test_numbers_of_participants_are_checked() -> None:
    machine = StepMachine(2)
    for participant in (-1, 2, 1 << 31):
        with pytest.raises((IndexError, OverflowError)):
            machine.running(participant)
    assert machine.ended(-1, OK) == machine.ended(2, OK) == (False, False)
    with pytest.raises(ValueError):
        StepMachine(-1)

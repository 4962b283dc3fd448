"""Every order of starts, ends and interrupts of a small job leads to its end, in order."""

from __future__ import annotations

import copy
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from headrace.distributed.cluster.tasks import Task
from headrace.distributed.engines.launchers.supervision import (
    Cancel,
    Finish,
    Instruction,
    Report,
    Start,
    Stop,
    Supervision,
    describe_status,
    exit_status,
)

PS, CHIEF, OTHER = Task("ps", 0), Task("worker", 0), Task("worker", 1)
TRAINING = (CHIEF, OTHER)


def without_reports(instructions: list[Instruction]) -> list[Instruction]:
    return [i for i in instructions if not isinstance(i, Report)]


def running(restarts: int = 1, tasks: tuple[Task, ...] = (PS, CHIEF, OTHER)) -> Supervision:
    supervision = Supervision(tasks, CHIEF, restarts)
    for instruction in supervision.begin():
        assert isinstance(instruction, Start)
        supervision.started(instruction.task)
    return supervision


def test_parameter_servers_start_first() -> None:
    begin = Supervision([CHIEF, OTHER, PS], CHIEF, 0).begin()
    assert begin == [Start(PS, 0.0, 0), Start(CHIEF, 0.0, 0), Start(OTHER, 0.0, 0)]


def test_when_all_workers_have_ended_the_parameter_servers_are_stopped() -> None:
    job = running()
    assert without_reports(job.exited(CHIEF, 0)) == []
    assert without_reports(job.exited(OTHER, 0)) == [Stop(PS, signal.SIGTERM)]
    assert job.exited(PS, -signal.SIGTERM) == [Finish(0)]


def test_parameter_server_that_ends_by_itself_is_not_started_again() -> None:
    job = running()
    assert without_reports(job.exited(PS, 0)) == []
    job.exited(CHIEF, 0)
    assert without_reports(job.exited(OTHER, 0)) == [Finish(0)]


@pytest.mark.parametrize("task", [PS, CHIEF, OTHER])
def test_failed_task_is_started_again_with_growing_delays(task: Task) -> None:
    job = running(restarts=8)
    delays = []
    for restart in range(1, 9):
        (start,) = without_reports(job.exited(task, -signal.SIGKILL))
        assert isinstance(start, Start) and (start.task, start.restart) == (task, restart)
        delays.append(start.delay_s)
        job.started(task)
    assert delays == [0.5, 1, 2, 4, 8, 16, 30, 30]


def test_status_of_the_job_is_the_chiefs() -> None:
    job = running(restarts=0)
    assert without_reports(job.exited(OTHER, 3)) == []  # the others go on
    assert Stop(PS, signal.SIGTERM) in job.exited(CHIEF, 0)
    assert job.exited(PS, 0) == [Finish(0)]
    job = running(restarts=0)
    job.exited(OTHER, 0)
    job.exited(CHIEF, 3)
    assert job.exited(PS, 0) == [Finish(3)]


@pytest.mark.parametrize(("task", "status", "expected"), [(CHIEF, 5, 5), (PS, -9, 137)])
def test_chief_or_parameter_server_that_failed_for_good_ends_the_job(
    task: Task, status: int, expected: int
) -> None:
    job = running(restarts=0)
    stops = without_reports(job.exited(task, status))
    others = [other for other in (PS, CHIEF, OTHER) if other != task]
    assert stops == [Stop(other, signal.SIGTERM) for other in others]
    assert job.exited(others[0], -15) == []
    assert job.exited(others[1], -15) == [Finish(expected)]


@pytest.mark.parametrize("status", [126, 127])
def test_command_that_cannot_be_run_is_not_tried_again(status: int) -> None:
    job = running(restarts=3)
    assert not any(isinstance(i, Start) for i in job.exited(CHIEF, status))


def test_interrupt_stops_the_workers_and_then_the_parameter_servers() -> None:
    job = running()
    job.exited(OTHER, 1)  # waits for its second start
    assert without_reports(job.interrupted(signal.SIGINT)) == [
        Stop(CHIEF, signal.SIGINT),
        Cancel(OTHER),
    ]
    assert job.exited(CHIEF, 130) == [Stop(PS, signal.SIGINT)]
    assert job.exited(PS, 0) == [Finish(130)]


def test_second_interrupt_kills() -> None:
    job = running()
    job.interrupted(signal.SIGINT)
    job.exited(OTHER, 130)
    kills = [Stop(PS, signal.SIGKILL), Stop(CHIEF, signal.SIGKILL)]
    assert job.interrupted(signal.SIGINT) == kills
    assert job.exited(CHIEF, -signal.SIGKILL) == []
    assert job.exited(PS, -signal.SIGKILL) == [Finish(130)]
    assert job.interrupted(signal.SIGINT) == []


def test_interrupt_of_servers_alone_stops_them() -> None:
    job = Supervision([PS], None, 0)
    job.begin()
    job.started(PS)
    assert without_reports(job.interrupted(signal.SIGTERM)) == [Stop(PS, signal.SIGTERM)]


def test_job_of_servers_alone_ends_with_them() -> None:
    job = Supervision([PS, Task("ps", 1)], None, 0)
    job.begin()
    job.started(PS)
    job.started(Task("ps", 1))
    assert without_reports(job.exited(PS, 0)) == []
    assert without_reports(job.exited(Task("ps", 1), 0)) == [Finish(0)]


def test_words_for_statuses() -> None:
    assert describe_status(3) == "exited with status 3"
    assert describe_status(-9) == "was ended by SIGKILL"
    assert describe_status(-200) == "was ended by signal 200"
    assert (exit_status(3), exit_status(-9)) == (3, 137)


@dataclass
class World:
    """A job, and what the instructions so far made of its tasks."""

    job: Supervision
    pending: set[Task] = field(default_factory=set)
    alive: set[Task] = field(default_factory=set)
    starts: Counter[Task] = field(default_factory=Counter)
    signals: int = 0
    status: int | None = None

    def key(self) -> tuple[object, ...]:
        states = sorted((*self.job.states.items(), *self.job.statuses.items()), key=repr)
        sets = [frozenset(self.pending), frozenset(self.alive)]
        return (*sets, *sorted(self.starts.items()), self.signals, *states, self.job._closing)

    def follow(self, instructions: list[Instruction], limit: int) -> None:
        for instruction in instructions:
            match instruction:
                case Start(task, _, restart):
                    assert task not in self.pending | self.alive
                    assert not self.signals, "a job that is being stopped starts nothing"
                    assert restart == self.starts[task] <= limit
                    self.starts[task] += 1
                    self.pending.add(task)
                case Cancel(task):
                    self.pending.remove(task)
                case Stop(task, _):
                    assert task in self.alive
                case Finish(status):
                    assert instruction is instructions[-1]
                    assert not self.pending and not self.alive
                    self.status = status
        if PS in self.alive and all(self.job.states[t] in ("ended", "failed") for t in TRAINING):
            assert self.job.states[PS] == "stopping"
        if self.status is None:
            assert self.pending or self.alive, f"nothing can happen any more: {self.job.states}"

    def next_worlds(self, limit: int) -> Iterator[World]:
        """Yields the worlds after each event that may come next."""
        for task in self.pending:
            after = copy.deepcopy(self)
            after.pending.remove(task)
            after.alive.add(task)
            after.job.started(task)
            yield after
        for task in self.alive:
            for status in (0, 1, -9):
                after = copy.deepcopy(self)
                after.alive.remove(task)
                after.follow(after.job.exited(task, status), limit)
                yield after
        if self.signals < 2:
            after = copy.deepcopy(self)
            after.signals += 1
            after.follow(after.job.interrupted(signal.SIGINT), limit)
            yield after


@pytest.mark.parametrize("limit", [0, 1])
def test_every_order_of_events_ends_the_job(limit: int) -> None:
    first = World(Supervision([PS, CHIEF, OTHER], CHIEF, limit))
    first.follow(first.job.begin(), limit)
    seen, open_worlds, statuses = {first.key()}, [first], set()
    while open_worlds:
        for world in open_worlds.pop().next_worlds(limit):
            if world.status is not None:
                statuses.add(world.status)
            elif world.key() not in seen:
                seen.add(world.key())
                open_worlds.append(world)
    # The chief's statuses, that of a lost parameter server, and that of Ctrl-C.
    assert statuses == {0, 1, 137, 130}
    assert len(seen) > 300

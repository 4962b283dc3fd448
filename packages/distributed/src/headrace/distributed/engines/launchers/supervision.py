"""When tasks are started, started again and stopped: a state machine without clock or processes.

It is told what happened, and returns what is to be done:

- A task that fails is started again after a delay, `restarts` times at most; a command that cannot
  be run (status 126 and 127, as of a shell) is not tried again.
- The job ends when all training tasks have ended: then the parameter servers are stopped. It ends
  early where it cannot go on: when the chief or a parameter server has failed for good. The status
  of the job is the chief's; a lost parameter server's where that ended it.
- Another worker that has failed for good does not end the job.
- An interrupt stops the training tasks, which may save what they have learned, and then the
  parameter servers.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.distributed.cluster.tasks import Task
from headrace.distributed.engines.launchers.job_plan import PS, task_label

FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0
CANNOT_RUN = (126, 127)  # exit statuses of commands that cannot be run

WAITING, RUNNING, STOPPING = "waiting", "running", "stopping"
ENDED, FAILED, STOPPED = "ended", "failed", "stopped"


@dataclass(frozen=True)
class Start:
    """Start a task after a delay; `restart` counts the earlier starts."""

    task: Task
    delay_s: float
    restart: int


@dataclass(frozen=True)
class Cancel:
    """Do not start a task that waits for its start."""

    task: Task


@dataclass(frozen=True)
class Stop:
    """Send a signal to the processes of a task."""

    task: Task
    signal: int


@dataclass(frozen=True)
class Report:
    """Tell the user."""

    text: str


@dataclass(frozen=True)
class Finish:
    """All tasks are gone: leave with a status."""

    status: int


Instruction = Start | Cancel | Stop | Report | Finish


class Supervision:
    """The states of the tasks of one job.

    Args:
      tasks: all tasks; those of the job `ps` serve, the others train.
      chief: the task whose status is that of the job; None: that of the first that fails.
      restarts: how often each task may be started again.
    """

    def __init__(self, tasks: Sequence[Task], chief: Task | None, restarts: int) -> None:
        self.states = dict.fromkeys(tasks, WAITING)
        self.restarts = dict.fromkeys(tasks, 0)
        self.statuses: dict[Task, int] = {}
        self._chief = chief
        self._limit = restarts
        self._closing: int | None = None
        self._signal: int = signal.SIGTERM  # of tasks that are stopped
        self._finished = False

    def begin(self) -> list[Instruction]:
        """All tasks are to be started, parameter servers first."""
        order = sorted(self.states, key=lambda task: task.job != PS)
        return [Start(task, 0.0, 0) for task in order]

    def started(self, task: Task) -> None:
        """A task has been started, as instructed."""
        self.states[task] = RUNNING

    def exited(self, task: Task, status: int) -> list[Instruction]:
        """The process of a task is gone.

        Args:
          status: its exit status; -N for the signal N, as `subprocess` says it.
        """
        self.statuses[task] = status
        done: list[Instruction] = []
        if self._closing is not None:
            self.states[task] = ENDED if status == 0 and task.job != PS else STOPPED
        elif status == 0:
            self.states[task] = ENDED
            done.append(Report(f"{task_label(task)} ended"))
        elif self.restarts[task] < self._limit and status not in CANNOT_RUN:
            self.states[task] = WAITING
            self.restarts[task] += 1
            delay = delay_of_restart(self.restarts[task])
            count = f"restart {self.restarts[task]} of {self._limit} in {delay:g} s"
            done.append(Report(f"{task_label(task)} {describe_status(status)}: {count}"))
            done.append(Start(task, delay, self.restarts[task]))
        else:
            self.states[task] = FAILED
            done.append(Report(f"{task_label(task)} {describe_status(status)}: not started again"))
        return done + self._conclude(task)

    def interrupted(self, number: int) -> list[Instruction]:
        """The user or a system asks for the end, by a signal; the second time without delay."""
        if self._finished:
            return []
        if self._closing is not None:
            alive = [t for t, state in self.states.items() if state in (RUNNING, STOPPING)]
            self.states.update(dict.fromkeys(alive, STOPPING))
            return [Stop(task, signal.SIGKILL) for task in alive]
        report = Report(f"{signal.Signals(number).name}: stopping all tasks")
        self._closing, self._signal = 128 + number, number
        return [report, *self._stop_training(), *self._stop_servers_after_training()]

    def completed(self) -> list[Instruction]:
        """The job, of which these tasks are a part, has ended elsewhere: stop them."""
        return [] if self._closing is not None else self._close(0)

    def _conclude(self, last: Task) -> list[Instruction]:
        if self._closing is not None:
            return self._stop_servers_after_training()
        if self.states[last] == FAILED and (last == self._chief or last.job == PS):
            report = Report(f"{task_label(last)} has failed for good: stopping all tasks")
            return [report, *self._close(exit_status(self.statuses[last]))]
        training = [task for task in self.states if task.job != PS] or list(self.states)
        if all(self.states[task] in (ENDED, FAILED) for task in training):
            return self._close(self._status(training))
        return []

    def _status(self, training: list[Task]) -> int:
        if self._chief is not None:
            return exit_status(self.statuses[self._chief])
        return next((exit_status(self.statuses[t]) for t in training if self.statuses[t]), 0)

    def _close(self, status: int) -> list[Instruction]:
        self._closing = status
        return [*self._stop(list(self.states)), *self._finish_when_all_are_gone()]

    def _stop_training(self) -> list[Instruction]:
        """Stops what is not a parameter server; servers that wait for their start stay away."""
        return self._stop(
            [task for task, state in self.states.items() if task.job != PS or state == WAITING]
        )

    def _stop_servers_after_training(self) -> list[Instruction]:
        if any(self.states[t] in (RUNNING, STOPPING) for t in self.states if t.job != PS):
            return []
        return [*self._stop(list(self.states)), *self._finish_when_all_are_gone()]

    def _stop(self, tasks: Sequence[Task]) -> list[Instruction]:
        done: list[Instruction] = []
        for task in tasks:
            if self.states[task] == WAITING:
                self.states[task] = STOPPED
                done.append(Cancel(task))
            elif self.states[task] == RUNNING:
                self.states[task] = STOPPING
                done.append(Stop(task, self._signal))
        return done

    def _finish_when_all_are_gone(self) -> list[Instruction]:
        if self._finished or any(state in (RUNNING, STOPPING) for state in self.states.values()):
            return []
        self._finished = True
        assert self._closing is not None
        return [Finish(self._closing)]


def delay_of_restart(restart: int) -> float:
    """Returns the seconds before a start, `restart` being 1 for the second start."""
    return min(FIRST_DELAY_S * 2.0 ** (restart - 1), LONGEST_DELAY_S)


def exit_status(status: int) -> int:
    """Returns the status of a shell for that of `subprocess`: 128 + N for the signal N."""
    return 128 - status if status < 0 else status


def describe_status(status: int) -> str:
    """Returns how a process ended, for a message."""
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"

"""Runs the tasks of a job as child processes, as a `Supervision` decides."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

from headrace.distributed.cluster.tasks import Task
from headrace.distributed.engines.launchers.child_processes import ChildProcess, GroupGuard
from headrace.distributed.engines.launchers.console import Console, describe_states
from headrace.distributed.engines.launchers.job_plan import task_label
from headrace.distributed.engines.launchers.supervision import (
    Cancel,
    Finish,
    Instruction,
    Report,
    Start,
    Stop,
    Supervision,
)

GRACE_S = 10.0
_CHUNK = 1 << 16
_REFRESH_S = 1.0
_POLL_S = 0.2

# Sends a signal to a task.
Stopper = Callable[[Task, ChildProcess, int], None]

# Command and whole environment of a task, by task and number of earlier starts.
Commands = Callable[[Task, int], tuple[Sequence[str], Mapping[str, str]]]


class Supervisor:
    """One thread, the main one, that waits for output, ends of processes, signals and delays.

    Args:
      supervision: decides.
      commands: returns command and environment of a task that is to be started.
      console: gets output and states.
      grace_s: how long a task may take to end after SIGTERM or SIGINT before it is killed.
      stop: sends a signal to a task; by default to its processes.
      completed: is asked from time to time whether the job has ended elsewhere.
    """

    def __init__(
        self,
        supervision: Supervision,
        commands: Commands,
        console: Console,
        grace_s: float = GRACE_S,
        stop: Stopper = lambda task, child, number: child.kill(number),
        completed: Callable[[], bool] | None = None,
    ) -> None:
        self._supervision = supervision
        self._commands = commands
        self._console = console
        self._grace_s = grace_s
        self._stop = stop
        self._completed = completed
        self._children: dict[Task, ChildProcess] = {}
        self._starts: dict[Task, tuple[float, int]] = {}
        self._kills: dict[Task, float] = {}
        self._selector = selectors.DefaultSelector()
        self._signals: list[int] = []
        self._status: int | None = None

    def run(self) -> int:
        """Runs the job to its end; called in the main thread.

        Returns: the exit status of the job.
        """
        self._guard = GroupGuard()
        try:
            with self._signals_wake_up():
                self._follow(self._supervision.begin())
                while self._status is None:
                    self._wait()
        finally:
            self._guard.close()
            for child in self._children.values():
                child.poll()
                child.close()
            self._selector.close()
        supervision = self._supervision
        if len(supervision.states) > 1:
            self._console.report(describe_states(supervision.states, supervision.restarts))
        return self._status

    def _wait(self) -> None:
        now = time.monotonic()
        due = [at for at, _ in self._starts.values()] + list(self._kills.values())
        period = _REFRESH_S if self._completed is None else _POLL_S
        timeout = max(0.0, min([now + period, *due]) - now)
        for key, _ in self._selector.select(timeout):
            if key.data is None:
                os.read(key.fd, 4096)
            else:
                self._read(key.fileobj, *key.data)  # type: ignore[arg-type]
        while self._signals:
            self._follow(self._supervision.interrupted(self._signals.pop(0)))
        for task, child in list(self._children.items()):
            status = child.poll()
            if status is not None:
                self._forget(task, child)
                self._follow(self._supervision.exited(task, status))
        if self._completed is not None and self._completed():
            self._follow(self._supervision.completed())
        self._follow_clock(time.monotonic())
        self._console.refresh()

    def _follow_clock(self, now: float) -> None:
        for task, (at, restart) in list(self._starts.items()):
            if at <= now and task in self._starts:
                self._start(task, restart)
        for task, at in list(self._kills.items()):
            if at <= now and task in self._children:
                del self._kills[task]
                self._console.report(
                    f"{task_label(task)} has not ended in {self._grace_s:g} s: killed"
                )
                self._children[task].kill(signal.SIGKILL)

    def _follow(self, instructions: list[Instruction]) -> None:
        now = time.monotonic()
        for instruction in instructions:
            match instruction:
                case Start(task, delay, restart):
                    self._starts[task] = now + delay, restart
                    if not delay:
                        self._start(task, restart)
                case Cancel(task):
                    self._starts.pop(task, None)
                case Stop(task, number):
                    self._stop(task, self._children[task], number)
                    if number != signal.SIGKILL:
                        self._kills[task] = now + self._grace_s
                case Report(text):
                    self._console.report(text)
                case Finish(status):
                    self._status = status
        self._console.show(self._supervision.states, self._supervision.restarts)

    def _start(self, task: Task, restart: int) -> None:
        del self._starts[task]
        command, environ = self._commands(task, restart)
        child = ChildProcess(command, environ, self._guard)
        self._children[task] = child
        for name, stream in child.outputs.items():
            self._selector.register(stream, selectors.EVENT_READ, (task, name))
        self._supervision.started(task)
        self._console.report(f"{task_label(task)} started (pid {child.pid})")
        self._console.show(self._supervision.states, self._supervision.restarts)

    def _read(self, stream: IO[bytes], task: Task, name: str) -> bool:
        """Prints what there is. Returns: whether there may be more."""
        try:
            data = os.read(stream.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._selector.unregister(stream)
            return False
        self._console.output(task, name, data)
        return True

    def _forget(self, task: Task, child: ChildProcess) -> None:
        """Prints the rest of a child's output and closes its pipes."""
        for name, stream in child.outputs.items():
            if stream in self._selector.get_map():
                while self._read(stream, task, name):
                    pass
            if stream in self._selector.get_map():
                self._selector.unregister(stream)
            self._console.output(task, name, b"")
        child.close()
        self._kills.pop(task, None)
        del self._children[task]

    @contextmanager
    def _signals_wake_up(self) -> Iterator[None]:
        """Makes signals and ends of children wake the selector, and keeps the signals."""
        read_end, write_end = os.pipe()
        for end in (read_end, write_end):
            os.set_blocking(end, False)
        self._selector.register(read_end, selectors.EVENT_READ, None)
        before: dict[int, Any] = {}
        wakeup = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            # nohup, or the background of a shell, ignores a signal: so do we.
            if signal.getsignal(name) != signal.SIG_IGN or name == signal.SIGCHLD:
                before[name] = signal.signal(name, self._note)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(wakeup)
            os.close(read_end)
            os.close(write_end)

    def _note(self, number: int, frame: Any) -> None:
        if number != signal.SIGCHLD:
            self._signals.append(number)

"""What a launcher prints: the output of each task after its name, and the states of all."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from tqdm import tqdm

from headrace.distributed.cluster.tasks import Task
from headrace.distributed.engines.launchers.job_plan import PS, task_label
from headrace.distributed.engines.launchers.supervision import ENDED, FAILED, RUNNING

_COLOURS = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)  # of ANSI terminals
_LONGEST_LINE = 1 << 20


class Console:
    """Prints lines of tasks and of the launcher; on a terminal with colours and a bar of states.

    Args:
      tasks: all that will print.
      logdir: folder that gets a file of the output of each task, "worker-0.log"; "" for none.
      named: whether the name of a task stands before its output.
      stdout, stderr: where lines go; by default those of the process.
    """

    def __init__(
        self,
        tasks: list[Task],
        logdir: str = "",
        named: bool = True,
        stdout: IO[str] | None = None,
        stderr: IO[str] | None = None,
    ) -> None:
        self._streams = {"stdout": stdout or sys.stdout, "stderr": stderr or sys.stderr}
        self._named = named
        self._width = max((len(task_label(task)) for task in tasks), default=0)
        self._order = {task: i for i, task in enumerate(tasks)}
        self._partial: dict[tuple[Task, str], bytes] = {}
        self._logs: dict[Task, IO[bytes]] = {}
        if logdir:
            Path(logdir).mkdir(parents=True, exist_ok=True)
            for task in tasks:
                path = Path(logdir) / f"{task.job}-{task.index}.log"
                self._logs[task] = path.open("ab", buffering=0)
        self._training = sum(task.job != PS for task in tasks)
        self._bar: Any = None
        if self._streams["stderr"].isatty():
            self._bar = tqdm(
                total=self._training,
                file=self._streams["stderr"],
                bar_format="{n_fmt}/{total_fmt} ended [{elapsed}] {desc}{postfix}",
                dynamic_ncols=True,
                leave=False,
            )

    def output(self, task: Task, stream: str, data: bytes) -> None:
        """Prints the whole lines of a task's output; b"" at its end prints the rest."""
        if data and task in self._logs:
            self._logs[task].write(data)
        text = self._partial.pop((task, stream), b"") + data
        *lines, rest = text.split(b"\n")
        if rest and (not data or len(rest) > _LONGEST_LINE):
            lines, rest = [*lines, rest], b""
        if rest:
            self._partial[task, stream] = rest
            self._show_progress(rest)
        for line in lines:
            # A progress bar returns to the start of its line: only its last state is of interest.
            shown = line.rstrip(b"\r").rpartition(b"\r")[2].decode(errors="replace")
            self._print(stream, f"{self._prefix(task, stream)}{shown}")

    def report(self, text: str) -> None:
        """Prints a line of the launcher itself."""
        self._print("stderr", f"headrace-launch: {text}")

    def show(self, states: Mapping[Task, str], restarts: Mapping[Task, int]) -> None:
        """Updates the bar of states."""
        if self._bar is None:
            return
        self._bar.n = sum(states[t] in (ENDED, FAILED) for t in states if t.job != PS)
        self._bar.set_description_str(describe_states(states, restarts))

    def refresh(self) -> None:
        """Updates the time of the bar."""
        if self._bar is not None:
            self._bar.refresh()

    def close(self) -> None:
        """Removes the bar and closes the files."""
        if self._bar is not None:
            self._bar.close()
        for log in self._logs.values():
            log.close()

    def _show_progress(self, rest: bytes) -> None:
        """Shows the newest state of a task's own progress bar beside the states of the tasks."""
        if self._bar is not None and b"\r" in rest:
            self._bar.set_postfix_str(rest.rpartition(b"\r")[2].decode(errors="replace").strip())

    def _prefix(self, task: Task, stream: str) -> str:
        if not self._named:
            return ""
        label = f"{task_label(task):{self._width}} | "
        if not self._streams[stream].isatty() or os.environ.get("NO_COLOR"):
            return label
        colour = _COLOURS[self._order[task] % len(_COLOURS)]
        return f"\x1b[{colour}m{label}\x1b[0m"

    def _print(self, stream: str, line: str) -> None:
        file = self._streams[stream]
        if self._bar is None:
            file.write(line + "\n")
        else:
            self._bar.write(line, file=file)
        file.flush()


def describe_states(states: Mapping[Task, str], restarts: Mapping[Task, int]) -> str:
    """Returns one line about all tasks: "ps:0 running, worker:0 ended (1 restart)"."""
    parts = []
    for task, state in states.items():
        count = restarts[task]
        again = f" ({count} restart{'s' if count > 1 else ''})" if count else ""
        parts.append(f"{task_label(task)} {state}{again}")
    if len(parts) > 8:  # of a large job only what is unusual
        running = sum(state == RUNNING for state in states.values())
        unusual = [p for p, s in zip(parts, states.values(), strict=True) if s != RUNNING]
        parts = [f"{running} running", *unusual[:8]]
    return ", ".join(parts)

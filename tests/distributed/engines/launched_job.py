"""Runs headrace-launch for tests, and looks for processes that it leaves behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

LAUNCH = [sys.executable, "-m", "headrace.distributed.command.launch"]
PATIENCE_S = 50.0
_STARTED = re.compile(r"(\w+:\d+) started \(pid (\d+)\)")


class LaunchedJob:
    """A running headrace-launch, whose output is collected."""

    def __init__(self, command: list[str], environ: Mapping[str, str], folder: Path) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._texts: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._readers = [threading.Thread(target=self._read, args=[name]) for name in self._texts]
        for reader in self._readers:
            reader.start()

    @property
    def stdout(self) -> str:
        return "".join(self._texts["stdout"])

    @property
    def stderr(self) -> str:
        return "".join(self._texts["stderr"])

    def pids(self, task: str) -> list[int]:
        """Returns the processes of a task so far, the newest last."""
        return [int(pid) for name, pid in _STARTED.findall(self.stderr) if name == task]

    def wait_for(self, what: str, happened: Callable[[], bool]) -> None:
        """Waits for a condition; fails with all output when the job ends before."""
        wait_for(
            lambda: f"{what}\n{self.stdout}\n{self.stderr}",
            lambda: happened() or self.process.poll() is not None,
        )
        assert happened(), f"the job ended before {what}\n{self.stdout}\n{self.stderr}"

    def end(self) -> int:
        """Waits for the end of the job. Returns: its exit status."""
        try:
            status = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end\n{self.stdout}\n{self.stderr}") from None
        for reader in self._readers:
            reader.join(PATIENCE_S)
        return status

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for reader in self._readers:
            reader.join(PATIENCE_S)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def _read(self, name: str) -> None:
        for line in getattr(self.process, name):
            self._texts[name].append(line)


@contextmanager
def launched(
    arguments: list[str],
    folder: Path,
    environ: Mapping[str, str] | None = None,
    within: Sequence[str] = (),
) -> Iterator[LaunchedJob]:
    """Starts headrace-launch in a folder; at the end nothing of it is left.

    Args:
      arguments: what follows `headrace-launch`; scripts are named by paths in the folder, by which
        processes that are left behind are found.
      within: a command that runs headrace-launch, such as salloc.
    """
    command = [*within, *LAUNCH, *arguments]
    job = LaunchedJob(command, os.environ if environ is None else environ, folder)
    try:
        yield job
    finally:
        job.close()
        wait_for(
            lambda: f"the end of {[command for command in processes_of(folder)]}",
            lambda: not processes_of(folder),
        )


def processes_of(folder: Path) -> list[str]:
    """Returns the commands of the living processes whose arguments name a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if str(folder).encode() in command and state != "Z":
                found.append(command.replace(b"\0", b" ").decode())
    return found


def wait_for(what: str | Callable[[], str], happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        if time.monotonic() > deadline:
            raise AssertionError(f"not in {PATIENCE_S:g} s: {what() if callable(what) else what}")
        time.sleep(0.02)

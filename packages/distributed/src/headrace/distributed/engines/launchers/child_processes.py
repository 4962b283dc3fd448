"""Child processes in groups of their own, none of which outlives this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

_HERE = Path(__file__).parent
_BARE_PYTHON = [sys.executable, "-I", "-S"]


class GroupGuard:
    """A process that kills the remaining groups when this process is gone, even by SIGKILL."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [*_BARE_PYTHON, str(_HERE / "group_guard.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )

    def add(self, group: int) -> None:
        """Takes over a group."""
        self._write(f"+{group}\n")

    def remove(self, group: int) -> None:
        """Forgets a group that has ended."""
        self._write(f"-{group}\n")

    def close(self) -> None:
        """Kills the groups that are left and ends the guard."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        self._process.wait()

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except BrokenPipeError:  # the guard was killed: tethers still hold the tasks themselves
            pass


class ChildProcess:
    """A command in a process group of its own, with pipes for its output.

    Attributes:
      pid: of the command itself, which is also the number of its group.
      outputs: read ends of pipes that do not block, "stdout" and "stderr".
    """

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        guard: GroupGuard,
        folder: str | None = None,
    ) -> None:
        """Starts the command; the kernel kills it when the thread that calls this ends.

        Args:
          environ: its whole environment.
          folder: where it runs; None for that of this process.
        """
        self._process = subprocess.Popen(
            [*_BARE_PYTHON, str(_HERE / "tether.py"), str(os.getpid()), *command],
            env=dict(environ),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        self._guard = guard
        self.pid = self._process.pid
        guard.add(self.pid)
        assert self._process.stdout is not None and self._process.stderr is not None
        self.outputs: dict[str, IO[bytes]] = {
            "stdout": self._process.stdout,
            "stderr": self._process.stderr,
        }
        for stream in self.outputs.values():
            os.set_blocking(stream.fileno(), False)

    def poll(self) -> int | None:
        """Returns the status of the command if it has ended: -N for the signal N.

        What it started and left behind in its group is killed.
        """
        if self._process.returncode is None:
            # The number of a group can be given away once its first process is reaped.
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            if os.waitid(os.P_PID, self.pid, options) is None:
                return None
            self.kill(signal.SIGKILL)
            self._process.wait()
            self._guard.remove(self.pid)
        return self._process.returncode

    def kill(self, number: int) -> None:
        """Sends a signal to all processes of the group."""
        if self._process.returncode is None:
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                pass

    def close(self) -> None:
        """Closes the pipes."""
        for stream in self.outputs.values():
            stream.close()

"""The two programs that are compared: started, queried and stopped in the same way."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

WITH_TEST_HOOKS = (
    Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "board_with_test_hooks.py"
)
_DEADLINE_S = 120


class Side:
    """A board's server, not yet started.

    Attributes:
      name: for the table.
      url: once it replies.
    """

    name = ""

    def __init__(self, logdir: Path) -> None:
        self.logdir = logdir
        self.url = ""
        self._process: subprocess.Popen[str] | None = None
        self.started_at = 0.0

    def command(self) -> list[str]:
        raise NotImplementedError

    def start(self) -> float:
        """Starts it. Returns: seconds until the page's address replied."""
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
        self.started_at = time.perf_counter()
        self._process = subprocess.Popen(
            self.command(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            found = re.search(r"http://[\w.]+:(\d+)/", line)
            if found:
                self.url = f"http://127.0.0.1:{found[1]}/"
                break
        else:
            raise RuntimeError(f"{self.name} did not start")
        os.set_blocking(self._process.stdout.fileno(), False)
        wait_for(lambda: self.get("") is not None)
        return time.perf_counter() - self.started_at

    def get(self, path: str, data: bytes | None = None, **headers: str) -> bytes:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.url + path, data=data, headers=named)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.read()

    def rss_mb(self) -> float:
        """Returns: resident memory of the program and its children, MB."""
        assert self._process is not None
        total = 0
        for pid in _family(self._process.pid):
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            found = re.search(r"VmRSS:\s+(\d+) kB", status)
            total += int(found[1]) if found else 0
        return total / 1000

    def stop(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()


class Board(Side):
    name = "board"
    program: tuple[str, ...] = ("-m", "headrace.board")

    def command(self) -> list[str]:
        return [sys.executable, *self.program, "--logdir", str(self.logdir), "--port", "0"]


class BoardWithTestHooks(Board):
    """The board with a front end that reports what it has painted."""

    program = (str(WITH_TEST_HOOKS),)


class TensorBoard(Side):
    name = "TensorBoard"

    def __init__(self, program: Path, logdir: Path) -> None:
        super().__init__(logdir)
        self._program = program

    def command(self) -> list[str]:
        fixed = ["--port", "0", "--host", "127.0.0.1", "--load_fast", "auto"]
        return [str(self._program.absolute()), "--logdir", str(self.logdir), *fixed]


def wait_for(holds: object, deadline: float = _DEADLINE_S, every: float = 0.01) -> None:
    """Waits until holds() is true; an error of the network counts as not yet."""
    end = time.perf_counter() + deadline
    while time.perf_counter() < end:
        try:
            if holds():  # type: ignore[operator]
                return
        except OSError:
            pass
        time.sleep(every)
    raise TimeoutError(f"not within {deadline} s")


def _family(pid: int) -> list[int]:
    found = [pid]
    for child in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = child.read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if int(fields[1]) == pid:
            found += _family(int(child.parent.name))
    return found

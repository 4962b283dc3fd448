"""Child processes that run cases with Headrace, watched for crashes and hangs, or TensorFlow."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NO_LIMIT = 0


class Ended(Exception):
    """A child ended before its batch did.

    Attributes:
      seed: the case that it was running.
      how: "crash" or "hang".
      detail: signal or exit status, and the last lines of what it printed.
    """

    def __init__(self, seed: int, how: str, detail: str) -> None:
        super().__init__(how)
        self.seed, self.how, self.detail = seed, how, detail


def run_batch(
    kind: str,
    first: int,
    count: int,
    *,
    memory: int = 4 << 30,
    limit_s: float = 10.0,
    file: str = "",
    nice: int = 5,
) -> Iterator[tuple[Any, ...]]:
    """Yields the reports of fuzz_child.py for the cases of a batch.

    Args:
      memory: bytes of address space for the child; 0: no limit (for sanitizers).
      limit_s: seconds that one case may take.
      file: a case in text form instead of those of the seeds.
    Raises: Ended.
    """
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        errors = open(Path(folder) / "stderr", "w+b")  # noqa: SIM115 (closed below)
        progress = open(Path(folder) / "progress", "w+b")  # noqa: SIM115
        progress.truncate(16)
        read, write = os.pipe()
        work = Path(folder) / "work"
        work.mkdir()
        options = {
            "out": write, "progress": progress.fileno(), "memory": memory, "folder": str(work),
            "file": file,
        }  # fmt: skip
        command = [sys.executable, str(HERE / "fuzz_child.py"), kind, str(first), str(count)]
        child = subprocess.Popen(
            [*command, json.dumps(options)],
            pass_fds=(write, progress.fileno()),
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            start_new_session=True,
            preexec_fn=lambda: os.nice(nice),
        )
        os.close(write)
        shared = mmap.mmap(progress.fileno(), 16)
        try:
            yield from _messages(child, read, shared, errors, limit_s)
        finally:
            os.close(read)
            _kill(child)
            shared.close()
            progress.close()
            errors.close()


def _messages(
    child: subprocess.Popen[bytes], read: int, shared: mmap.mmap, errors: Any, limit_s: float
) -> Iterator[tuple[Any, ...]]:
    stream = _Pickles(read)
    started = time.time()
    while True:
        ready, _, _ = select.select([read], [], [], 0.5)
        if ready:
            if not stream.fill():
                break
            for message in stream.complete():
                yield message
                if message[0] == "end":
                    return
            continue
        seed, since = struct.unpack("<qd", shared[:16])
        # Before the first case the child imports, which sanitizers make slow.
        if since and time.time() - since > limit_s or not since and time.time() - started > 300:
            os.kill(child.pid, signal.SIGABRT)  # faulthandler prints where it is
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=10.0)
            raise Ended(seed, "hang", f"over {limit_s} s\n{_tail(errors)}")
    child.wait()
    seed, _ = struct.unpack("<qd", shared[:16])
    status = child.returncode
    name = signal.Signals(-status).name if status < 0 else f"exit {status}"
    raise Ended(seed, "crash", f"{name}\n{_tail(errors)}")


class _Pickles:
    """Splits the bytes of a pipe into pickles."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._left = b""

    def fill(self) -> bool:
        data = os.read(self._descriptor, 1 << 16)
        self._left += data
        return bool(data)

    def complete(self) -> Iterator[Any]:
        import io

        stream = io.BytesIO(self._left)
        at = 0
        try:
            while True:
                message = pickle.load(stream)
                at = stream.tell()
                yield message
        except (EOFError, pickle.UnpicklingError, IndexError, ValueError, AttributeError):
            self._left = self._left[at:]


def _kill(child: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL)  # with the children that it forked
    except ProcessLookupError:
        pass
    child.wait()


def _tail(errors: Any) -> str:
    errors.flush()
    size = os.fstat(errors.fileno()).st_size
    errors.seek(max(0, size - 6000))
    return str(errors.read().decode(errors="replace"))


class Judge:
    """TensorFlow in a process that runs the same graphs and is restarted if it ends.

    Attributes:
      crashes: how often the process ended, or gave no reply in a minute.
      hangs: how often a run did not end.
    """

    def __init__(self, python: str, environment: dict[str, str] | None = None) -> None:
        self._python = python
        self._environment = environment or {}
        self._child: subprocess.Popen[bytes] | None = None
        self.crashes = self.hangs = 0

    def run(self, case: Any, portable: Any) -> list[tuple[str, Any]] | None:
        """TensorFlow's outcomes for a case, up to a run that hung; None where it has none."""
        child = self._started()
        runs = [
            ({k: portable(v) for k, v in run.feeds.items()}, run.fetches, run.targets)
            for run in case.runs
        ]
        message = pickle.dumps((case.sent, runs), protocol=4)
        assert child.stdin is not None and child.stdout is not None
        try:
            child.stdin.write(struct.pack("<I", len(message)) + message)
            child.stdin.flush()
            ready, _, _ = select.select([child.stdout], [], [], 60)
            if ready:
                (size,) = struct.unpack("<I", child.stdout.read(4))
                return self._without_hang(pickle.loads(child.stdout.read(size)))
        except (OSError, struct.error, EOFError):
            pass
        self.crashes += 1
        self.close()
        return None

    def _without_hang(self, outcomes: list[tuple[str, Any]]) -> list[tuple[str, Any]] | None:
        if not outcomes or outcomes[-1][0] != "hung":
            return outcomes
        self.hangs += 1
        self.close()
        return outcomes[:-1] or None

    def close(self) -> None:
        """Ends the process."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": ""}
            folder = tempfile.mkdtemp(prefix="judge")
            self._child = subprocess.Popen(
                [self._python, str(HERE / "tensorflow_child.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env={k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
                | quiet
                | self._environment,
                preexec_fn=lambda: os.nice(5),
            )
        return self._child

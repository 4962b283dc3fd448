"""One process of a measured cluster: reads commands from stdin as JSON lines, replies likewise.

    python task.py '{"side": "tensorflow", "role": "serve", "job": "ps", ...}'

It ends at the end of its input, or with the process that started it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import step_programs  # noqa: E402
import training  # noqa: E402
import worker  # noqa: E402

PR_SET_PDEATHSIG = 1
WARMUP_S = 0.3


class Client:
    """Runs the steps of a program in a session of the worker's server, from this process."""

    def __init__(self, tf: Any, spec: dict[str, Any]) -> None:
        self._n = 0
        self._steps = step_programs.PROGRAMS[spec["program"]](tf, spec["n_ps"])
        self._session = tf.Session("grpc://" + spec["cluster"]["worker"][0])
        self._session.run(tf.global_variables_initializer())

    def step(self, n: int) -> None:
        for _ in range(n):
            self._session.run(self._steps.fetches)
        self._n += n

    def measure(self, seconds: float) -> dict[str, Any]:
        """Returns: seconds of each step."""
        if not self._n:
            self._run(WARMUP_S)
        times = self._run(seconds)
        self._steps.check(self._session, self._n)
        return {"seconds": times}

    def _run(self, seconds: float) -> list[float]:
        run, fetches = self._session.run, self._steps.fetches
        times: list[float] = []
        start = now = time.perf_counter()
        while now < start + seconds:
            run(fetches)
            before, now = now, time.perf_counter()
            times.append(now - before)
        self._n += len(times)
        return times


class Task:
    """The state of this process; each method is a command."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec
        side = spec["side"]
        theirs = side == "tensorflow"
        self._tf = (worker.tensorflow() if theirs else worker.headrace(None, True, False))[0]
        self._server: Any = None
        self._program: Any = None
        if spec["job"]:
            self._server = self._tf.train.Server(
                spec["cluster"], job_name=spec["job"], task_index=spec["task"]
            )

    def open(self) -> None:
        """Makes the session and the first step's preparations."""
        if self._spec["role"] == "client":
            self._program = Client(self._tf, self._spec)
        else:
            self._program = training.Trainer(
                self._tf,
                self._server,
                self._spec["cluster"],
                self._spec["task"],
                self._spec["n_workers"],
                self._spec["sync"],
            )

    def measure(self, seconds: float) -> dict[str, Any]:
        return self._program.measure(seconds)

    def step(self, n: int) -> None:
        self._program.step(n)

    def stop(self) -> None:
        self._program.stop()

    def release(self) -> None:
        self._program.release()

    def join(self) -> None:
        self._program.join()

    def resident(self) -> int:
        """Returns: bytes of resident memory, shared memory included; the peak begins anew."""
        Path("/proc/self/clear_refs").write_text("5")
        return status("VmRSS")

    def peak(self) -> int:
        """Returns: the most bytes that were resident since `resident`."""
        return status("VmHWM")


def status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {name}")


def main() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    spec = json.loads(sys.argv[1])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: spec["n_cores"]])
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is not a reply
    # SIGTERM is for shells; the parent closes stdin, or kills.
    task: Task | None = None
    commands = iter(sys.stdin.readline, "")
    for line in commands:
        command = json.loads(line)
        try:
            if command["do"] == "start":
                task = Task(spec)
                result = None
            else:
                result = getattr(task, command["do"])(**command["with"])
            reply = {"result": result}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(reply), file=replies, flush=True)
    # Servers cannot be stopped in TensorFlow: their threads would outlive a normal exit.
    os._exit(0)


if __name__ == "__main__":
    threading.current_thread().name = "commands"
    main()

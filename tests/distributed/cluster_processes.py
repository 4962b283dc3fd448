"""A cluster of real processes on the loopback, which tests kill and start."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hosts import Hosts

HERE = Path(__file__).resolve().parent
# Of every wait that a test expects to end; the bounds that it checks are tighter.
PATIENCE_S = 60.0


def free_ports(count: int) -> list[int]:
    """Returns ports that were free just now, below those that the system gives to clients."""
    ports: list[int] = []
    while len(ports) < count:
        port = random.SystemRandom().randrange(10_000, 32_000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        if port not in ports:
            ports.append(port)
    return ports


class Cluster:
    """Processes by task, "ps:0"; each writes JSON lines, which the test reads.

    Args:
      hosts: gets one for each task; None: all tasks are on the loopback.
    """

    def __init__(
        self,
        folder: Path,
        n_ps: int = 1,
        n_workers: int = 1,
        hosts: Hosts | None = None,
        **env: str,
    ) -> None:
        self.folder = folder
        self.hosts = hosts
        ports = free_ports(n_ps + n_workers)
        self.jobs = {
            job: [
                f"{hosts.add(f'{job}:{i}') if hosts else '127.0.0.1'}:{ports.pop()}"
                for i in range(n_tasks)
            ]
            for job, n_tasks in (("ps", n_ps), ("worker", n_workers))
        }
        if hosts is not None:
            env = {"HEADRACE_INSECURE": "1", "HEADRACE_TRANSPORT": "grpc+tcp", **env}
        self.env = {**os.environ, "PYTHONUNBUFFERED": "1", **env}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.starts: dict[str, int] = {}

    @property
    def text(self) -> str:
        """The cluster specification."""
        return ",".join(f"{job}={'|'.join(tasks)}" for job, tasks in self.jobs.items() if tasks)

    def start_ps(self, index: int, *options: str) -> None:
        """Starts a parameter server."""
        self.start(
            f"ps:{index}", "-m", "headrace.distributed.command.server", "--job", "ps", "--task",
            str(index), "--cluster", self.text, *options,
        )  # fmt: skip

    def start_worker(self, index: int, *options: str, script: str = "train_worker.py") -> None:
        """Starts a worker: the training script of these tests."""
        self.start(
            f"worker:{index}", str(HERE / "faults" / script), "--task", str(index),
            "--cluster", self.text, *options,
        )  # fmt: skip

    def start_task(self, job: str, index: int, *options: str) -> None:
        """Starts a server with two devices, which only serves."""
        self.start(
            f"{job}:{index}", str(HERE / "serve_task.py"), "--job", job, "--task", str(index),
            "--cluster", self.text, *options,
        )  # fmt: skip

    def start(self, name: str, *command: str) -> None:
        number = self.starts[name] = self.starts.get(name, 0) + 1
        path = self._output(name, number)
        on_host = self.hosts.command(name) if self.hosts else []
        with path.open("wb") as output:
            self.processes[name] = subprocess.Popen(
                [*on_host, sys.executable, *command], stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, env=self.env, start_new_session=True,
            )  # fmt: skip

    def _output(self, name: str, number: int) -> Path:
        return self.folder / f"{name.replace(':', '-')}.{number}.log"

    def signal(self, name: str, number: signal.Signals) -> None:
        self.processes[name].send_signal(number)

    def kill(self, name: str) -> None:
        """Kills a process at once, and waits until it is gone."""
        self.processes[name].kill()
        self.processes[name].wait(PATIENCE_S)

    def wait(self, name: str, timeout_s: float = PATIENCE_S) -> int:
        """Waits for the end of a process; its exit status."""
        try:
            return self.processes[name].wait(timeout_s)
        except subprocess.TimeoutExpired:
            pytest.fail(f"{name} has not ended after {timeout_s} s:\n{self.output(name)}")

    def output(self, name: str, start: int | None = None) -> str:
        """What a process has written, of its last start or an earlier one."""
        return self._output(name, start or self.starts[name]).read_text(errors="replace")

    def events(self, name: str, start: int | None = None) -> list[dict[str, Any]]:
        """The JSON lines of a process."""
        lines = self.output(name, start).splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def until(
        self, name: str, condition: Callable[[dict[str, Any]], bool], timeout_s: float = PATIENCE_S,
        after: int = 0,
    ) -> dict[str, Any]:  # fmt: skip
        """Waits for an event of a process, skipping its first `after`; returns the event."""
        end = time.monotonic() + timeout_s
        while True:
            running = self.processes[name].poll() is None
            for event in self.events(name)[after:]:
                if condition(event):
                    return event
            if not running or time.monotonic() > end:
                state = "runs" if running else f"ended with {self.processes[name].returncode}"
                pytest.fail(
                    f"{name} ({state}) did not report it within {timeout_s} s:\n{self.output(name)}"
                )
            time.sleep(0.02)

    def until_step(self, name: str, step: int, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
        """Waits until a worker has seen a global step."""
        return self.until(name, lambda event: event.get("step", -1) >= step, timeout_s)

    def close(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
        for process in self.processes.values():
            process.wait(PATIENCE_S)
        if self.hosts is not None:
            self.hosts.close()


@pytest.fixture
def make_cluster(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Makes clusters, whose processes end with the test."""
    made: list[Cluster] = []

    def make(n_ps: int = 1, n_workers: int = 1, hosts: Hosts | None = None, **env: str) -> Cluster:
        folder = tmp_path / f"cluster{len(made)}"
        folder.mkdir()
        made.append(Cluster(folder, n_ps, n_workers, hosts, **env))
        return made[-1]

    yield make
    for cluster in made:
        cluster.close()

"""The processes of a measured cluster: started together, asked by turns, never left behind."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PATIENCE_S = 120.0


class Failure(Exception):
    """A row has no number, and this is why."""


class Process:
    """A task.py, and the commands to it."""

    def __init__(self, python: Path, env: dict[str, str], spec: dict[str, Any]) -> None:
        self.name = f"{spec['side']} {spec['role']} {spec['job']}:{spec['task']}"
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [str(python), str(HERE / "task.py"), json.dumps(spec)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=env,
            bufsize=0,
        )
        self.pid = self._process.pid

    def ask(self, command: str, **arguments: Any) -> Any:
        """Sends a command and returns the reply's result."""
        self.send(command, **arguments)
        return self.reply()

    def send(self, command: str, **arguments: Any) -> None:
        line = json.dumps({"do": command, "with": arguments}) + "\n"
        try:
            self._process.stdin.write(line.encode())
        except BrokenPipeError:
            raise Failure(self._death()) from None

    def reply(self) -> Any:
        """Waits for the reply to the oldest command sent."""
        line, end = b"", time.monotonic() + PATIENCE_S
        while not line.endswith(b"\n"):
            output = self._process.stdout
            if not select.select([output], [], [], max(0.0, end - time.monotonic()))[0]:
                raise Failure(f"{self.name} has not replied in {PATIENCE_S:g} s")
            data = os.read(output.fileno(), 1 << 20)
            if not data:
                raise Failure(self._death())
            line += data
        reply = json.loads(line)
        if "error" in reply:
            raise Failure(f"{self.name}: {reply['error']}")
        return reply["result"]

    def _death(self) -> str:
        status = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines() or ["no word"]
        return f"{self.name} ended with {status}: {lines[-1]}"

    def close(self) -> None:
        """Ends the process: politely, then not."""
        self._process.stdin.close()
        try:
            self._process.wait(3)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()


class Cluster:
    """Parameter servers, workers and perhaps a client, each a process; a context manager.

    Args:
      python, env: of the processes.
      spec: "side", "role" (client, train), "program", "n_ps", "n_workers", "sync", "n_cores".
        A client's worker only serves; workers that train have their sessions themselves. Without
        parameter servers a single process trains alone.
    """

    def __init__(self, python: Path, env: dict[str, str], spec: dict[str, Any]) -> None:
        n_ps, n_workers = spec["n_ps"], spec["n_workers"]
        ports = [f"127.0.0.1:{port}" for port in free_ports(n_ps + n_workers)]
        cluster = {"ps": ports[:n_ps], "worker": ports[n_ps:]}
        self._processes: list[Process] = []
        self.clients: list[Process] = []  # those with a session, the chief first

        def start(role: str, job: str, task: int) -> Process:
            more = {"role": role, "job": job, "task": task, "cluster": cluster}
            self._processes.append(Process(python, env, spec | more))
            return self._processes[-1]

        try:
            self.ps = [start("serve", "ps", i) for i in range(n_ps)]
            if spec["role"] == "client":
                self.workers = [start("serve", "worker", 0)]
                self.clients = [start("client", "", 0)]
            else:
                job = "worker" if n_ps else ""
                self.clients = self.workers = [start("train", job, i) for i in range(n_workers)]
            for process in self._processes:
                process.send("start")
            for process in self._processes:
                process.reply()
        except BaseException:
            self.close()
            raise

    def open(self) -> None:
        """Makes the sessions, and the variables."""
        for client in self.clients:
            client.ask("open")

    def measure(self, seconds: float) -> list[dict[str, Any]]:
        """Lets all clients run for some seconds at once. Returns: what each reports."""
        for client in self.clients:
            client.send("measure", seconds=seconds)
        return [client.reply() for client in self.clients]

    def halt(self) -> None:
        """Ends the training loops, so that the other side has the machine."""
        for command in ("stop", "release", "join"):
            for client in self.clients[:1] if command == "release" else self.clients:
                client.ask(command)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for process in reversed(self._processes):
            process.close()


def free_ports(count: int) -> list[int]:
    """Returns: ports that were free just now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports

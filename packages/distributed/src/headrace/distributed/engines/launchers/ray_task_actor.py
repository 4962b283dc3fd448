"""The actor in which Ray runs a task. Imported where Ray is installed only."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

import ray

from headrace.distributed.cluster.addresses import split_address
from headrace.distributed.cluster.tasks import Task
from headrace.distributed.engines.launchers.child_processes import ChildProcess, GroupGuard
from headrace.distributed.engines.launchers.console import Console
from headrace.distributed.engines.launchers.job_plan import JobPlan, task_command, task_environment
from headrace.distributed.engines.launchers.supervision import (
    CANNOT_RUN,
    delay_of_restart,
    describe_status,
)
from headrace.distributed.engines.resolvers.port_reservation import reserving_socket
from headrace.formats.errors import UnavailableError

_POLL_S = 0.1
_LOOPBACK = "127.0.0.1"


class StartLedger:
    """Counts the starts of each task; it outlives the actors that run them."""

    def __init__(self) -> None:
        self._starts: dict[str, int] = {}
        self._events: list[str] = []

    def started(self, label: str, pid: int, host: str) -> None:
        """Notes a start."""
        self._events.append(f"{label} started (pid {pid} on {host})")

    def begin(self, label: str) -> int:
        """Returns how often a task was begun before, and counts this one."""
        before = self._starts.get(label, 0)
        self._starts[label] = before + 1
        return before

    def ended(self, label: str, status: int) -> None:
        """Notes an end that Ray answers by a new start."""
        self._events.append(f"{label} {describe_status(status)}: Ray starts it again")

    def counts(self) -> dict[str, int]:
        """Returns the number of starts by task."""
        return dict(self._starts)

    def events(self) -> list[str]:
        """Returns what was noted since the last call."""
        events, self._events = self._events, []
        return events


class TaskActor:
    """Runs one task. When the task fails, the actor dies, and Ray starts both again.

    `run` is retried by Ray on the new actor; its arguments hold all that it needs.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._reserving: socket.socket | None = None
        self._guard = GroupGuard()
        self._child: ChildProcess | None = None
        self._stopping = threading.Event()

    def __repr__(self) -> str:
        return self._label  # Ray writes it before each line of output

    def reserve(self, host: str) -> str:
        """Reserves a port of this node.

        Args:
          host: address of this node for the other tasks; "": that under which Ray knows it.
        Returns: the address of the task.
        """
        host = host or _node_address()
        self._reserving = reserving_socket(host)
        port = self._reserving.getsockname()[1]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def run(
        self,
        plan: JobPlan,
        addresses: Sequence[str],
        task: Task,
        folder: str,
        variables: Mapping[str, str],
        ledger: Any,
    ) -> int:
        """Runs the task to its end.

        Args:
          addresses: of the tasks of the cluster, by rank.
          folder: where the task runs, if this node has it.
          variables: further variables of its environment.
          ledger: the actor of the job's StartLedger.
        Returns: its exit status. Where a restart is left, the actor dies instead.
        Raises: UnavailableError if Ray moved the actor to another node than the address names.
        """
        restart = ray.get(ledger.begin.remote(self._label))
        if restart:
            time.sleep(delay_of_restart(restart))
        cluster = plan.cluster(list(addresses))
        tasks = plan.tasks()
        if tasks.index(task) < len(addresses):
            self._hold(addresses[tasks.index(task)])
        variables = {**plan.variables(), **variables}
        variables |= task_environment("ray", cluster, task, restart)
        self._child = ChildProcess(
            task_command(plan, cluster, task),
            os.environ | variables,
            self._guard,
            folder=folder if os.path.isdir(folder) else None,
        )
        host = socket.gethostname()
        ray.get(ledger.started.remote(self._label, self._child.pid, host))
        status = _follow(self._child, task, plan.logdir)
        last = restart >= plan.restarts or status in CANNOT_RUN
        if status == 0 or last or self._stopping.is_set():
            return status
        ray.get(ledger.ended.remote(self._label, status))
        os._exit(1)

    def stop(self, number: int) -> None:
        """Sends a signal to the task, whose end is then not answered by a new start."""
        self._stopping.set()
        if self._child is not None:
            self._child.kill(number)

    def _hold(self, address: str) -> None:
        """Reserves the port again after a restart."""
        if self._reserving is not None:
            return
        host, port = split_address(address)
        here = _node_address()
        if host not in (here, _LOOPBACK):
            raise UnavailableError(
                None,
                None,
                f"{self._label} was at {address}, and Ray moved it to {here}: the other tasks look"
                " for it at its old address; start the job again",
            )
        self._reserving = reserving_socket(host, port)


def _follow(child: ChildProcess, task: Task, logdir: str) -> int:
    """Prints the output of a child, which Ray brings to the driver. Returns: its exit status."""
    console = Console([task], logdir, named=False)
    status = None
    while status is None:
        time.sleep(_POLL_S)
        status = child.poll()  # before the output is read: what it wrote last is there then
        for name, stream in child.outputs.items():
            while data := _read(stream):
                console.output(task, name, data)
    for name in child.outputs:
        console.output(task, name, b"")
    console.close()
    child.close()
    return status


def _read(stream: IO[bytes]) -> bytes:
    """Returns what a pipe holds, b"" for nothing at the moment."""
    try:
        return os.read(stream.fileno(), 1 << 16)
    except BlockingIOError:
        return b""


def _node_address() -> str:
    """Returns the address under which Ray knows this node."""
    here = ray.get_runtime_context().get_node_id()
    (address,) = (n["NodeManagerAddress"] for n in ray.nodes() if n["NodeID"] == here)
    return str(address)

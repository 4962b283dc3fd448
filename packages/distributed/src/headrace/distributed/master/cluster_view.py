"""The tasks that a session sees, how they are called, and which devices they have."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import wait

from headrace.distributed.master.worker_clients import WorkerClient
from headrace.distributed.rpc.daemon_threads import DaemonThreads
from headrace.distributed.rpc.deadline import Deadline
from headrace.distributed.rpc.host import host_identity
from headrace.formats import errors
from headrace.formats.proto.device_pb2 import DeviceAttributes
from headrace.formats.proto.worker_service_pb2 import GetStatusResponse

_CLOCK_CALLS = 5


def _same_machine(status: GetStatusResponse) -> bool:
    here = host_identity().boot_id
    return here != "" and here == status.boot_id


class ClusterView:
    """The tasks of one session, or of all sessions with the server's own cluster.

    Args:
      own: the name of the master's task in this cluster.
      clients: by name of the task.
      threads: to ask many tasks at once.
    """

    def __init__(
        self, own: str, clients: Mapping[str, WorkerClient], threads: DaemonThreads
    ) -> None:
        self.own = own
        self.clients = dict(clients)
        self._threads = threads
        self._lock = threading.Lock()
        self._devices: dict[str, list[DeviceAttributes]] = {}  # of tasks that have answered

    def only(self, tasks: list[str]) -> ClusterView:
        """Returns a view of some of the tasks, which knows what this one knows."""
        view = ClusterView(self.own, {t: self.clients[t] for t in tasks}, self._threads)
        with self._lock:
            view._devices = dict(self._devices)
        return view

    def client(self, task: str) -> WorkerClient:
        """Returns the client of a task. Raises: NotFoundError."""
        found = self.clients.get(task)
        if found is None:
            raise errors.NotFoundError(
                None, None, f"the session sees no task {task} (it sees: {', '.join(self.clients)})"
            )
        return found

    def note(self, task: str, status: GetStatusResponse) -> bool:
        """Remembers the devices of a task. Returns: whether they are news."""
        devices = []
        for given in status.device:
            device = DeviceAttributes()
            device.CopyFrom(given)
            # A session may call the task by another name than it calls itself.
            device.name = f"{task}/device:{given.name.rpartition('/device:')[2]}"
            devices.append(device)
        with self._lock:
            before = self._names(task)
            self._devices[task] = devices
            return self._names(task) != before

    def device_names(self) -> list[str]:
        """Returns the devices of all tasks, those of the master's first.

        A task that has not answered yet is assumed to have one CPU: whether it is there matters
        only to what uses it.
        """
        with self._lock:
            order = [self.own, *(task for task in self.clients if task != self.own)]
            return [name for task in order for name in self._names(task)]

    def _names(self, task: str) -> list[str]:
        devices = self._devices.get(task)
        if devices is None:
            return [f"{task}/device:CPU:0"]
        return [device.name for device in devices]

    def unknown(self) -> list[str]:
        """Returns the tasks that have not answered yet."""
        with self._lock:
            return [task for task in self.clients if task not in self._devices]

    def ask(self, tasks: list[str], deadline: Deadline) -> dict[str, GetStatusResponse]:
        """Asks tasks for their status, all at once.

        Returns: the status of those that answer in time.
        """
        calls = {self._threads.submit(self._ask, task, deadline): task for task in tasks}
        done, _ = wait(calls, deadline.left_s + 0.1)
        found = {}
        for call in done:
            status = call.result()
            if status is not None:
                found[calls[call]] = status
                self.note(calls[call], status)
        return found

    def _ask(self, task: str, deadline: Deadline) -> GetStatusResponse | None:
        try:
            return self.clients[task].status(deadline)
        except errors.OpError:
            return None

    def clock_offsets_ns(self, tasks: Sequence[str], deadline: Deadline) -> dict[str, int]:
        """Asks tasks for the time.

        Returns: by task, its wall clock minus this machine's, from the fastest of some calls; 0 for
          a task of this machine, or one that does not answer.
        """
        calls = {t: self._threads.submit(self._clock_offset_ns, t, deadline) for t in tasks}
        done, _ = wait(calls.values(), deadline.left_s + 0.1)
        return {task: call.result() if call in done else 0 for task, call in calls.items()}

    def _clock_offset_ns(self, task: str, deadline: Deadline) -> int:
        fastest_ns, offset_ns = 1 << 62, 0
        for _ in range(_CLOCK_CALLS):
            asked_ns = time.time_ns()
            status = self._ask(task, deadline)
            took_ns = time.time_ns() - asked_ns
            if status is None or not status.wall_clock_ns or _same_machine(status):
                break
            if 0 <= took_ns < fastest_ns:
                fastest_ns = took_ns
                offset_ns = status.wall_clock_ns - (asked_ns + took_ns // 2)
        return offset_ns

    def devices(self, tasks: list[str]) -> list[DeviceAttributes]:
        """Returns what is known of the devices of tasks."""
        with self._lock:
            return [device for task in tasks for device in self._devices.get(task, [])]

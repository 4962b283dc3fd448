"""The master of a task: its sessions, and the cluster that they see."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence

from headrace.distributed.cluster.device_filters import visible_tasks
from headrace.distributed.cluster.tasks import Task, task_of_device, tasks_of
from headrace.distributed.machines.leases import Leases
from headrace.distributed.master.cluster_view import ClusterView
from headrace.distributed.master.master_session import MasterSession
from headrace.distributed.master.worker_clients import LocalWorker, RemoteWorker, WorkerClient
from headrace.distributed.rpc.daemon_threads import DaemonThreads
from headrace.distributed.rpc.deadline import Deadline, operation_timeout_s
from headrace.distributed.rpc.links import Links
from headrace.distributed.worker.worker_service import WorkerService
from headrace.formats import errors
from headrace.formats.proto.device_pb2 import DeviceAttributes
from headrace.formats.proto.run_pb2 import ConfigProto
from headrace.formats.proto.server_pb2 import ServerDef
from headrace.formats.services import RuntimeService

_log = logging.getLogger("headrace.distributed")
_LIVE_S = 1.0  # for tasks to answer that they are alive
_MOST_ENDED = 1024  # sessions of which the reason of their end is known


class Master:
    """Opens and keeps sessions. It is safe to use from several threads at once.

    Args:
      server_def: cluster, own task, and the defaults of sessions.
      address: of the server, "host:port".
      runtime: the service headrace.runtimes.
      worker: of the same task.
      links: of this process.
      threads: for calls to tasks.
    """

    def __init__(
        self,
        server_def: ServerDef,
        address: str,
        runtime: RuntimeService,
        worker: WorkerService,
        links: Links,
        threads: DaemonThreads,
    ) -> None:
        self.address = address
        self.task = str(Task(server_def.job_name, server_def.task_index))
        self.incarnation = links.endpoint.incarnation
        self._server_def = server_def
        self._runtime = runtime
        self._worker = worker
        self._links = links
        self._threads = threads
        self._lock = threading.Lock()
        self._sessions: dict[int, MasterSession] = {}
        self._ended: dict[str, str] = {}  # why, by handle
        self._leases = Leases(links.settings.session_grace_s)
        tasks = tasks_of(server_def.cluster)
        own = Task(server_def.job_name, server_def.task_index)
        seen = visible_tasks(tasks, own, _server_filters(server_def))
        self._view = ClusterView(str(own), self._clients(seen, own), threads)
        links.watch(self._on_lost, self._on_back, self._on_tick)

    # ---- sessions

    def create_session(self, config: bytes, target: str, client: int = 0) -> MasterSession:
        """Opens a session.

        Args:
          config: a serialized ConfigProto, which adds to the server's defaults.
          target: what the client connected to, "grpc://host:port".
          client: the incarnation of a linked client, with which the session ends; 0: none.
        Raises: InvalidArgumentError for options that no session can have.
        """
        merged = ConfigProto()
        merged.CopyFrom(self._server_def.default_session_config)
        merged.MergeFromString(config)
        if merged.operation_timeout_in_ms < 0:
            raise errors.InvalidArgumentError(
                None, None,
                f"operation_timeout_in_ms is {merged.operation_timeout_in_ms}, must be 0 or more",
            )  # fmt: skip
        view = self._session_view(merged, target)
        planner = self._runtime.open_planner(_for_runtime(merged).SerializeToString())
        session = MasterSession(merged, view, planner, self._links, self._threads, self.address)
        with self._lock:
            self._sessions[session.number] = session
            if client:
                for ended in self._leases.add(session.number, f"client {client}", client):
                    _log.info("session %x has ended with its client", ended)
        if client and not self._links.has_link(client):
            self._on_lost(client, "")
        return session

    def session(self, handle: str) -> MasterSession:
        """Returns an open session. Raises: AbortedError."""
        with self._lock:
            for session in self._sessions.values():
                if session.handle == handle:
                    return session
            why = self._ended.get(handle, "it was closed, or the master has been restarted")
        raise errors.AbortedError(
            None, None, f"Session {handle} is not found at {self.task} ({self.address}): {why}"
        )

    def close_session(
        self, session: MasterSession, why: str = "the session was closed",
        code: int = errors.CANCELLED,
    ) -> None:  # fmt: skip
        """Ends a session; its runs end with CancelledError."""
        with self._lock:
            self._sessions.pop(session.number, None)
            self._leases.remove(session.number)
            self._ended[session.handle] = why
            while len(self._ended) > _MOST_ENDED:
                del self._ended[next(iter(self._ended))]
        session.close(why, code)

    # ---- the cluster

    def list_devices(
        self, session: MasterSession | None
    ) -> tuple[list[DeviceAttributes], list[DeviceAttributes]]:
        """Returns the devices of the own task, and those of the other tasks that answer."""
        view = self._view if session is None else session.view
        timeout_s = operation_timeout_s(0) if session is None else session.operation_s
        tasks = list(view.clients)
        view.ask(tasks, Deadline.after(min(timeout_s, self._links.settings.dead_after_s)))
        others = [task for task in tasks if task != view.own]
        return view.devices([view.own]), view.devices(others)

    def reset(self, containers: Sequence[str], filters: Sequence[str]) -> None:
        """Clears containers at all tasks and ends the sessions of this master.

        Args:
          containers: names; none: the default container.
          filters: device filters, which limit the tasks.
        Raises: UnavailableError for a task that cannot be reached; the others are cleared.
        """
        with self._lock:
            sessions = list(self._sessions.values())
        for session in sessions:
            self.close_session(session, "its resources were reset", errors.ABORTED)
        own = Task(self._server_def.job_name, self._server_def.task_index)
        seen = visible_tasks(tasks_of(self._server_def.cluster), own, filters)
        clients = [c for t, c in self._view.clients.items() if t in map(str, seen)]
        deadline = Deadline.after(min(operation_timeout_s(0), self._links.settings.dead_after_s))
        calls = [self._threads.submit(c.reset, list(containers), deadline) for c in clients]
        failures = [call.exception() for call in calls]
        for failure in failures:
            if failure is not None:
                raise failure

    def live_tasks(self, session: MasterSession, job: str) -> list[int]:
        """Returns the indices of the tasks of a job that are alive.

        A task is alive if it answers, or if its master holds sessions on a task of this session.
        """
        found = set()
        for task, status in session.ask_all(_LIVE_S).items():
            for name in (task, *status.master):
                named = _task(name)
                if named is not None and named.job == job:
                    found.add(named.index)
        return sorted(found)

    def close(self) -> None:
        """Ends all sessions."""
        self._links.unwatch(self._on_lost)
        with self._lock:
            sessions = list(self._sessions.values())
        for session in sessions:
            self.close_session(session, f"{self.task} was stopped")

    # ---- events

    def _on_lost(self, incarnation: int, reason: str) -> None:
        with self._lock:
            sessions = list(self._sessions.values())
            self._leases.lost(incarnation, time.monotonic())
        for session in sessions:
            session.on_lost(incarnation)

    def _on_back(self, incarnation: int) -> None:
        with self._lock:
            self._leases.back(incarnation)

    def _on_tick(self, now: float) -> None:
        with self._lock:
            sessions = list(self._sessions.values())
            expired = [self._sessions.get(number) for number in self._leases.expired(now)]
        for session in sessions:
            session.drop_unused()
        for gone in expired:
            if gone is not None:
                self._threads.submit(self.close_session, gone, "its client is gone")

    # ---- views

    def _session_view(self, config: ConfigProto, target: str) -> ClusterView:
        if config.HasField("cluster_def") and config.cluster_def.job:
            tasks = tasks_of(config.cluster_def)
            own = self._own_task(tasks, target)
            seen = visible_tasks(tasks, own, config.device_filters)
            return ClusterView(str(own), self._clients(seen, own), self._threads)
        own = Task(self._server_def.job_name, self._server_def.task_index)
        seen = visible_tasks(tasks_of(self._server_def.cluster), own, config.device_filters)
        return self._view.only([str(t) for t in seen if str(t) in self._view.clients])

    def _own_task(self, tasks: Mapping[Task, str], target: str) -> Task:
        addresses = (target.removeprefix("grpc://"), self.address)
        for task, address in tasks.items():
            if address in addresses:
                return task
        raise errors.InvalidArgumentError(
            None, None, f"the cluster_def of the session has no task at {addresses[0]}, which is "
            "its master",
        )  # fmt: skip

    def _clients(self, tasks: Mapping[Task, str], own: Task) -> dict[str, WorkerClient]:
        clients: dict[str, WorkerClient] = {}
        for task, address in tasks.items():
            if task == own:
                clients[str(task)] = LocalWorker(str(task), self.address, self._worker)
            else:
                clients[str(task)] = RemoteWorker(self._links.channels, str(task), address)
        return clients


def _task(name: str) -> Task | None:
    """The task of a name; None for a client's."""
    try:
        return task_of_device(name)
    except errors.InvalidArgumentError:
        return None


def _server_filters(server_def: ServerDef) -> list[str]:
    for job in server_def.cluster_device_filters.jobs:
        if job.name == server_def.job_name:
            return list(job.tasks[server_def.task_index].device_filters)
    return []


def _for_runtime(config: ConfigProto) -> ConfigProto:
    """Returns a config without what is decided here."""
    found = ConfigProto()
    found.CopyFrom(config)
    for field in ("cluster_def", "device_filters", "isolate_session_state"):
        found.ClearField(field)
    return found

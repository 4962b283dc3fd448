"""The worker of a task: sessions of masters, and the partitions that they register."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import wait
from typing import Any

from headrace.distributed.machines import worker_sessions as machine
from headrace.distributed.machines.leases import Leases
from headrace.distributed.machines.worker_sessions import WorkerSessions
from headrace.distributed.rpc.daemon_threads import DaemonThreads
from headrace.distributed.rpc.deadline import Deadline
from headrace.distributed.rpc.links import Links
from headrace.distributed.worker.renamed_graph import renamed_graph
from headrace.distributed.worker.request_checks import (
    check_instance,
    check_registration,
    check_session,
)
from headrace.formats import errors
from headrace.formats.proto.device_pb2 import DeviceAttributes
from headrace.formats.proto.worker_service_pb2 import (
    ConnectRequest,
    DeregisterGraphRequest,
    GetStatusResponse,
    OpenWorkerSessionRequest,
    RegisterGraphRequest,
    TaskInstance,
)
from headrace.formats.services import Worker

_log = logging.getLogger("headrace.distributed")
_PEER_DIALS_S = 1.0  # within which a peer makes its link, unless it was lost again


class WorkerService:
    """The worker of a task, for masters of this process and of others.

    Args:
      task: its name.
      worker: the runtime's.
      links: of this process.
      advertised_host: under which others reach this host.
      threads: for work that events cause.
    """

    def __init__(
        self, task: str, worker: Worker, links: Links, advertised_host: str, threads: DaemonThreads
    ) -> None:
        self.task = task
        self._worker = worker
        self._links = links
        self._threads = threads
        self._advertised_host = advertised_host
        self._leases = Leases(links.settings.session_grace_s)
        self._machine = WorkerSessions(self._leases)
        self._changed = threading.Condition()
        self._opening: set[int] = set()
        self._names: dict[int, str] = {}  # of the sessions, what they call this task
        self._masters: dict[int, TaskInstance] = {}
        links.watch(self._on_lost, self._on_back, self._on_tick)

    # ---- methods, as of the service headrace.WorkerService

    def get_status(self) -> GetStatusResponse:
        """Returns who this is, the ways to it, its devices, and who uses it."""
        status = GetStatusResponse(wall_clock_ns=time.time_ns())
        self._links.describe(status, self._advertised_host)
        for i, wire in enumerate(self._worker.list_devices()):
            device = DeviceAttributes.FromString(wire)
            device.incarnation = device.incarnation or (status.incarnation + i) % (1 << 63)
            status.device.append(device)
        with self._changed:
            status.master.extend(name.split("@")[0] for name in self._leases.connected())
        return status

    def open_session(self, request: OpenWorkerSessionRequest, timeout_s: float) -> None:
        """Opens a session of a master, which has made a link or is making it.

        Raises: AbortedError if the session was closed, or its master was restarted.
        """
        deadline = Deadline.after(timeout_s)
        master = request.master
        check_session(request.session)
        check_instance(master)
        self._await_link(master, deadline)
        renamed = request.task not in ("", self.task)
        name = f"{master.task}@{master.address}" if renamed else master.task
        session = request.session
        with self._changed:
            while session in self._opening:  # the same request is being carried out
                self._changed.wait(deadline.left_s)
                deadline.check(f"{self.task}: a session is being opened")
            instructions = self._machine.handle(
                machine.OpenSession(session, name, master.incarnation)
            )
            opens = machine.Open(session) in instructions
            if opens:
                self._opening.add(session)
                self._names[session] = request.task or self.task
                self._masters[session] = master
        if opens:
            try:
                self._follow([i for i in instructions if i != machine.Open(session)])
                config = request.config.SerializeToString()
                self._worker.open_session(_name(session), config, request.own_state or renamed)
                with self._changed:
                    closed = session not in self._machine.sessions
                if closed:  # while it was being opened
                    self._worker.close_session(_name(session))
                    raise errors.AbortedError(None, None, f"{self.task}: the session was closed")
            except BaseException:
                with self._changed:
                    closes = self._machine.handle(machine.CloseSession(session))
                self._follow(closes)
                raise
            finally:
                with self._changed:
                    self._opening.discard(session)
                    self._changed.notify_all()
        else:
            self._follow(instructions)
        if not self._links.has_link(master.incarnation):
            self._on_lost(master.incarnation, "")

    def connect(self, request: ConnectRequest, timeout_s: float) -> None:
        """Makes sure that a session is open, and linked to its master and, if they live, its peers.

        A peer that cannot be reached is no fault of this task's: the steps that need it fail.

        Raises: AbortedError for a session that is not open; UnavailableError.
        """
        deadline = Deadline.after(timeout_s)
        for peer in request.peer:
            check_instance(peer)
        with self._changed:
            instructions = self._machine.handle(machine.UseSession(request.session))
            master = self._masters.get(request.session)
        self._follow(instructions)
        if master is not None:
            self._await_link(master, deadline)
        missing = [p for p in request.peer if not self._links.has_link(p.incarnation)]
        tries = [self._threads.submit(self._link_peer, peer, deadline) for peer in missing]
        wait(tries, 0.8 * deadline.left_s)  # so that the answer is in time

    def _link_peer(self, peer: TaskInstance, deadline: Deadline) -> None:
        try:
            self._links.ensure(peer.task, peer.address, peer.incarnation, deadline)
        except errors.OpError as error:
            _log.info("%s has no link to %s: %s", self.task, peer.task, error)

    def register_graph(self, request: RegisterGraphRequest, timeout_s: float) -> int:
        """Registers a partition, and links to the tasks that it exchanges tensors with.

        Returns: the number of the partition, for steps.
        Raises: AbortedError for a session that is not open; UnavailableError for a peer that cannot
          be reached; what the runtime raises.
        """
        check_registration(request)
        deadline = Deadline.after(timeout_s)
        session, signature = request.session, request.signature
        number = self._register(request, session, signature, deadline)
        for peer in request.peer:
            if self._links.endpoint.incarnation < peer.incarnation:
                self._links.ensure(peer.task, peer.address, peer.incarnation, deadline)
        for peer in request.peer:
            self._await_link(peer, deadline)
        return number

    def _await_link(self, peer: TaskInstance, deadline: Deadline) -> None:
        """Waits for the link that a peer makes, and makes one where none comes.

        Raises: AbortedError if it has been restarted; UnavailableError.
        """
        if not self._links.wait_for(peer.incarnation, deadline.at_most(_PEER_DIALS_S)):
            self._links.ensure(peer.task, peer.address, peer.incarnation, deadline)

    def _register(
        self, request: RegisterGraphRequest, session: int, signature: int, deadline: Deadline
    ) -> int:
        with self._changed:
            while True:
                (decision,) = self._machine.handle(machine.RegisterGraph(session, signature))
                if not isinstance(decision, machine.AwaitRegistration):
                    break
                self._changed.wait(deadline.left_s)
                deadline.check(f"{self.task}: a partition is being registered")
            name = self._names.get(session, self.task)
        if not isinstance(decision, machine.Register):
            return self._follow([decision])
        event: machine.Event = machine.RegisterFailed(session, signature)
        try:
            graph_def = request.graph_def
            if name != self.task:
                graph_def = renamed_graph(graph_def, name, self.task)
            number = self._worker.register(_name(session), graph_def)
            self._links.endpoint.bind(
                session,
                number,
                [(d.edge, d.incarnation) for d in request.destination],
                [(peer.incarnation, peer.task) for peer in request.peer],
            )
            event = machine.Registered(session, signature, number)
        finally:
            with self._changed:
                instructions = self._machine.handle(event)
                self._changed.notify_all()
            accepted = self._follow(instructions)
        if accepted < 0:  # the session was closed meanwhile
            raise errors.AbortedError(None, None, f"{self.task}: the session was closed")
        return accepted

    def deregister_graph(self, request: DeregisterGraphRequest) -> None:
        """Forgets partitions of a session."""
        self._tell(machine.DeregisterGraph(request.session, tuple(request.partition)))

    def close_session(self, session: int) -> None:
        """Closes a session, with all that it has registered; nothing happens to an unknown one."""
        self._tell(machine.CloseSession(session))

    def reset(self, containers: list[str]) -> None:
        """Clears containers of the state that sessions share."""
        self._worker.reset(containers)

    def close(self) -> None:
        """Ends all sessions and runs."""
        self._links.unwatch(self._on_lost)
        self._worker.close()

    # ---- events

    def _on_lost(self, incarnation: int, reason: str) -> None:
        with self._changed:
            self._machine.handle(machine.MasterLost(incarnation, time.monotonic()))

    def _on_back(self, incarnation: int) -> None:
        with self._changed:
            self._machine.handle(machine.MasterBack(incarnation))

    def _on_tick(self, now: float) -> None:
        with self._changed:
            instructions = self._machine.handle(machine.Tick(now))
        if instructions:
            self._threads.submit(self._follow, instructions)

    def _tell(self, event: machine.Event) -> None:
        with self._changed:
            instructions = self._machine.handle(event)
        self._follow(instructions)

    # ---- instructions

    def _follow(self, instructions: list[machine.Instruction]) -> int:
        """Carries out instructions. Returns: the partition of an Accept. Raises: a Reject."""
        partition = -1
        for instruction in instructions:
            match instruction:
                case machine.Accept(number):
                    partition = number
                case machine.Reject(code, message):
                    raise errors.from_code(code, f"{self.task}: {message}")
                case machine.Deregister(session, number):
                    self._quietly(self._forget, session, number)
                case machine.Close(session, partitions, why):
                    _log.info("%s: closes session %x: %s", self.task, session, why)
                    self._quietly(self._close, session, partitions)
        return partition

    def _forget(self, session: int, partition: int) -> None:
        self._links.endpoint.unbind(partition)
        self._worker.deregister(partition)

    def _close(self, session: int, partitions: tuple[int, ...]) -> None:
        with self._changed:
            self._names.pop(session, None)
            self._masters.pop(session, None)
        for partition in partitions:
            self._links.endpoint.unbind(partition)
        self._worker.close_session(_name(session))

    def _quietly(self, act: Callable[..., None], *arguments: Any) -> None:
        try:
            act(*arguments)
        except errors.OpError as error:
            _log.warning("%s: %s", self.task, error)


def _name(session: int) -> str:
    return f"{session:x}"

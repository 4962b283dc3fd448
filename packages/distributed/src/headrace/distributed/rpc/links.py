"""The links of a process: dialled when they are needed, accepted, watched."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator

import grpc

from headrace.distributed.cluster.addresses import split_address
from headrace.distributed.native.endpoint import Endpoint
from headrace.distributed.rpc import planes
from headrace.distributed.rpc.channels import Channels
from headrace.distributed.rpc.deadline import Deadline
from headrace.distributed.rpc.hello import PROTOCOL_VERSION, Greeted, Party
from headrace.distributed.rpc.host import host_identity, is_loopback
from headrace.distributed.rpc.listener import Listener, dial_socket
from headrace.distributed.rpc.settings import Settings
from headrace.distributed.rpc.status_call import ask_status, check_incarnation
from headrace.distributed.rpc.streams import accept_stream, dial_stream
from headrace.formats import errors
from headrace.formats.proto.worker_service_pb2 import GetStatusResponse

_log = logging.getLogger("headrace.distributed")

# Those of this process by incarnation, between which links need no socket.
_here: dict[int, Links] = {}
os.register_at_fork(after_in_child=_here.clear)

OnLost = Callable[[int, str], None]
OnBack = Callable[[int], None]
OnTick = Callable[[float], None]


class Links:
    """Makes and watches the links of an endpoint.

    Args:
      endpoint: of this process.
      channels: for calls, and for streams.
      host: the interface on which links over TCP are accepted; None: none are accepted.
    """

    def __init__(self, endpoint: Endpoint, channels: Channels, host: str | None) -> None:
        self.endpoint = endpoint
        self.channels = channels
        self.settings: Settings = channels.settings
        self._me = Party(endpoint.name, endpoint.incarnation)
        self._host = host_identity()
        self._changed = threading.Condition()
        self._dialling: set[int] = set()
        self._watchers: list[tuple[OnLost, OnBack, OnTick]] = []
        self._closed = False
        self._listener: Listener | None = None
        if host is not None:
            # Frames over TCP are not encrypted: with TLS they go over streams.
            tcp = self.settings.tls is None and self.settings.transport in ("auto", "tcp")
            self._listener = Listener(
                self._me, self.settings, host if tcp else None, self._on_socket
            )
        _here[endpoint.incarnation] = self
        self._monitor = threading.Thread(target=self._watch, name="headrace_monitor", daemon=True)
        self._monitor.start()

    # ---- what others need to know

    def describe(self, status: GetStatusResponse, advertised_host: str) -> None:
        """Fills in the ways to this endpoint.

        Args:
          advertised_host: under which others reach this host.
        """
        status.protocol_version = PROTOCOL_VERSION
        status.task, status.incarnation = self._me.task, self._me.incarnation
        status.boot_id, status.user = self._host.boot_id, self._host.user
        status.network_namespace = self._host.network_namespace
        if self._listener is not None:
            status.socket_name = self._listener.socket_name
            status.shared_memory = bool(status.socket_name)
            if self._listener.port:
                host = f"[{advertised_host}]" if ":" in advertised_host else advertised_host
                status.data_address = f"{host}:{self._listener.port}"

    # ---- links

    def has_link(self, incarnation: int) -> bool:
        """Whether there is a link, or none is needed."""
        return self.endpoint.has_link(incarnation)

    def ensure(self, task: str, address: str, incarnation: int, deadline: Deadline) -> None:
        """Makes a link to a start of a task, unless there is one.

        Raises: AbortedError if the task has been restarted; UnavailableError and others, with the
          task, its address and the reason.
        """
        while not self.has_link(incarnation):
            with self._changed:
                if incarnation in self._dialling:  # another thread does
                    if not self._changed.wait(deadline.left_s):
                        deadline.check(f"the link to {task} at {address}")
                    continue
                self._dialling.add(incarnation)
            try:
                if not self.has_link(incarnation):
                    self._dial(task, address, incarnation, deadline)
            finally:
                with self._changed:
                    self._dialling.discard(incarnation)
                    self._changed.notify_all()

    def wait_for(self, incarnation: int, deadline: Deadline) -> bool:
        """Waits until a task that dials has made its link. Returns: whether it has, in time."""
        with self._changed:
            while not self.has_link(incarnation):
                if self._closed or not self._changed.wait(deadline.left_s):
                    return False
            return True

    def accept_stream(
        self, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        """Serves the method Stream."""
        return accept_stream(self.endpoint, requests, context, self._on_back)

    def _dial(self, task: str, address: str, incarnation: int, deadline: Deadline) -> None:
        local = _here.get(incarnation)
        if local is not None and self.settings.transport == "auto" and not local.endpoint.closed:
            if self.endpoint.add_local(local.endpoint) is not None:
                local._on_back(self._me.incarnation)
                return self._on_back(incarnation)
        status = ask_status(self.channels, task, address, deadline)
        check_incarnation(status, task, address, incarnation)
        reasons = []
        for plane in planes.planes_to(
            status, self._host, self.settings.transport, local is not None
        ):
            try:
                self._dial_plane(plane, status, address, deadline)
                _log.debug("%s: linked to %s by %s", self._me.task, task, plane)
                return self._on_back(incarnation)
            except (OSError, errors.UnavailableError, errors.DeadlineExceededError) as error:
                reasons.append(f"{plane}: {error}")
        raise errors.UnavailableError(
            None, None, f"{task} at {address}: no link could be made ({'; '.join(reasons)})"
        )

    def _dial_plane(
        self, plane: str, status: GetStatusResponse, address: str, deadline: Deadline
    ) -> None:
        if plane == planes.LOCAL:
            raise errors.UnavailableError(None, None, "the endpoint is closed")
        if plane == planes.STREAM:
            return dial_stream(self.endpoint, self.channels, address, status.incarnation, deadline)
        shared = plane == planes.SHM
        timeout_s = max(0.01, deadline.left_s)
        if plane == planes.TCP:
            # A host that drops packets must leave time for the stream.
            host, port = split_address(status.data_address)
            connection = socket.create_connection((host, port), min(timeout_s, 3.0))
        else:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(timeout_s)
        try:
            if plane != planes.TCP:
                connection.connect("\0" + status.socket_name)
            greeted = dial_socket(
                connection, self._me, status.incarnation, self.settings.token, shared, timeout_s
            )
            self._hand_over(connection, greeted)
        except BaseException:
            connection.close()
            raise

    def _hand_over(self, connection: socket.socket, greeted: Greeted) -> None:
        connection.setblocking(False)
        number = self.endpoint.add_socket(
            connection.detach(), greeted.peer.incarnation, greeted.peer.task, greeted.shared_memory
        )
        if number is None:
            raise errors.CancelledError(None, None, f"{self._me.task} was stopped")

    def _on_socket(self, connection: socket.socket, greeted: Greeted) -> None:
        self._hand_over(connection, greeted)
        self._on_back(greeted.peer.incarnation)

    # ---- watching

    def watch(self, lost: OnLost, back: OnBack, tick: OnTick) -> None:
        """Calls functions, which must not wait, about lost and new links and once in a while."""
        with self._changed:
            self._watchers = [*self._watchers, (lost, back, tick)]

    def unwatch(self, lost: OnLost) -> None:
        """Ends the calls of the watcher with this function."""
        with self._changed:
            self._watchers = [w for w in self._watchers if w[0] != lost]

    def _on_back(self, incarnation: int) -> None:
        for _, back, _ in self._watchers:
            back(incarnation)
        with self._changed:
            self._changed.notify_all()

    def _watch(self) -> None:
        next_tick = time.monotonic()
        while not self._closed:
            event = self.endpoint.next_event(0.25)
            if self._closed:
                return
            if event is not None:
                _, peer, reason = event
                if not self.has_link(peer):  # there may have been two
                    for lost, _, _ in self._watchers:
                        lost(peer, reason)
            now = time.monotonic()
            if now >= next_tick:
                next_tick = now + 0.25
                for _, _, tick in self._watchers:
                    tick(now)

    def close(self) -> None:
        """Ends the links, and takes no more."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        if self._listener is not None:
            self._listener.close()
        self.endpoint.close()
        if threading.current_thread() is not self._monitor:
            self._monitor.join()
        _here.pop(self._me.incarnation, None)


def interface_of(address: str, settings: Settings) -> str:
    """Returns the interface on which a server of an address listens.

    Raises: InvalidArgumentError for one beyond the loopback interface without token and TLS.
    """
    host = settings.bind or split_address(address)[0]
    if is_loopback(host):
        return "::1" if ":" in host else "127.0.0.1" if host == "localhost" else host
    if not settings.token and settings.tls is None and not settings.insecure:
        raise errors.InvalidArgumentError(
            None, None, f"{address}: a server that listens on {host}, which others reach, needs a "
            "token (HEADRACE_CLUSTER_TOKEN or HEADRACE_CLUSTER_TOKEN_FILE) or mutual TLS "
            "(HEADRACE_TLS_*); in a network that you trust, set HEADRACE_INSECURE=1",
        )  # fmt: skip
    return host

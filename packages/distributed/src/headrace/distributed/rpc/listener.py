"""Accepts the sockets of links: over TCP, and over a UNIX socket of the abstract namespace."""

from __future__ import annotations

import logging
import os
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from headrace.distributed.rpc import hello
from headrace.distributed.rpc.hello import HELLO_DEADLINE_S, Greeted, Handshake, Party
from headrace.distributed.rpc.settings import Settings
from headrace.formats import errors

_log = logging.getLogger("headrace.distributed")

OnLink = Callable[[socket.socket, Greeted], None]


@dataclass
class _HalfOpen:
    """A connection in the middle of its handshake."""

    handshake: Handshake
    who: str
    until: float
    got: bytes = b""


class Listener:
    """One thread that accepts connections and leads their handshakes.

    Args:
      me: the task.
      settings: token, and how many connections may be half open: the oldest gives way to a new one.
      host: the interface to listen on with TCP; None: no TCP.
      on_link: gets a socket after its handshake, and owns it.
    Attributes:
      port: of TCP; 0: none.
      socket_name: of the UNIX socket; empty: none.
    """

    def __init__(self, me: Party, settings: Settings, host: str | None, on_link: OnLink) -> None:
        self._me = me
        self._settings = settings
        self._on_link = on_link
        self._selector = selectors.DefaultSelector()
        self._half_open: dict[socket.socket, _HalfOpen] = {}
        self._stopped = False
        self._wake, wake = socket.socketpair()
        self._selector.register(wake, selectors.EVENT_READ, "wake")
        self._own: list[socket.socket] = [wake]
        self.port, self.socket_name = 0, ""
        if host is not None:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            tcp = socket.create_server((host, 0), family=family, backlog=128)
            self.port = tcp.getsockname()[1]
            self._listen(tcp)
        if hasattr(socket, "AF_UNIX") and os.path.exists("/proc/self/ns/net"):
            unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.socket_name = f"headrace-{me.incarnation:016x}"
            unix.bind("\0" + self.socket_name)
            unix.listen(128)
            self._listen(unix)
        self._thread = threading.Thread(target=self._serve, name="headrace_listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread, and all connections that are half open."""
        self._stopped = True
        self._wake.close()
        self._thread.join()

    def _listen(self, listening: socket.socket) -> None:
        listening.setblocking(False)
        self._selector.register(listening, selectors.EVENT_READ, "listen")
        self._own.append(listening)

    def _serve(self) -> None:
        while not self._stopped:
            for key, _ in self._selector.select(self._time_left()):
                if key.data == "wake":
                    continue
                if key.data == "listen":
                    self._accept(key.fileobj)  # type: ignore[arg-type]
                else:
                    self._read(key.fileobj)  # type: ignore[arg-type]
            now = time.monotonic()
            for connection, state in list(self._half_open.items()):
                if now >= state.until:
                    self._end(connection, f"no handshake within {HELLO_DEADLINE_S:.0f} s")
        for connection in list(self._half_open):
            self._end(connection, "")
        for own in self._own:
            own.close()
        self._selector.close()

    def _time_left(self) -> float | None:
        untils = [state.until for state in self._half_open.values()]
        return max(0.0, min(untils) - time.monotonic()) if untils else None

    def _accept(self, listening: socket.socket) -> None:
        try:
            connection, address = listening.accept()
        except OSError as error:  # it was gone before, or there are no descriptors
            _log.warning("%s: a connection was not accepted: %s", self._me.task, error)
            time.sleep(0.01)
            return
        who = f"{address[0]}:{address[1]}" if isinstance(address, tuple) else "a UNIX socket"
        if connection.family == getattr(socket, "AF_UNIX", None) and not _same_user(connection):
            connection.close()
            _log.warning("%s: refused a process of another user", self._me.task)
            return
        if len(self._half_open) >= self._settings.half_open:
            self._end(next(iter(self._half_open)), "there are too many unfinished handshakes")
        connection.setblocking(False)
        shared = connection.family == getattr(socket, "AF_UNIX", None)
        handshake = Handshake(hello.accept(self._me, self._settings.token, shared))
        until = time.monotonic() + HELLO_DEADLINE_S
        self._half_open[connection] = _HalfOpen(handshake, who, until)
        self._selector.register(connection, selectors.EVENT_READ, "half open")

    def _read(self, connection: socket.socket) -> None:
        state = self._half_open.get(connection)
        if state is None:  # it was ended in this round
            return
        try:
            data = connection.recv(state.handshake.wants - len(state.got))
            if not data:
                return self._end(connection, "it was closed during the handshake")
            state.got += data
            if len(state.got) < state.handshake.wants:
                return None
            got, state.got = state.got, b""
            reply = state.handshake.receive(got)
            if reply:
                connection.sendall(reply)
        except BlockingIOError:
            return None
        except OSError as error:
            return self._end(connection, str(error))
        except errors.OpError as error:
            try:
                connection.sendall(hello.refusal(error))
            except OSError:
                pass  # it is told by the end of the connection
            return self._end(connection, error.message)
        except Exception as error:  # noqa: BLE001 - the listener serves others as well
            _log.exception("%s: a handshake failed", self._me.task)
            return self._end(connection, repr(error))
        if state.handshake.result is not None:
            del self._half_open[connection]
            self._selector.unregister(connection)
            try:
                self._on_link(connection, state.handshake.result)
            except Exception:  # noqa: BLE001 - the listener serves others as well
                _log.exception("%s: the link to %s failed", self._me.task, state.who)
                connection.close()
        return None

    def _end(self, connection: socket.socket, why: str) -> None:
        state = self._half_open.pop(connection)
        self._selector.unregister(connection)
        connection.close()
        if why:
            _log.warning("%s: closed a connection from %s: %s", self._me.task, state.who, why)


def _same_user(connection: socket.socket) -> bool:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    _, user, _ = struct.unpack("iII", credentials)
    return bool(user == os.getuid())


def dial_socket(
    connection: socket.socket,
    me: Party,
    to: int,
    token: bytes,
    shared_memory: bool,
    timeout_s: float,
) -> Greeted:
    """Leads the handshake of a connected socket, on the dialling side.

    Raises: errors.OpError of the handshake; OSError, TimeoutError of the socket.
    """
    until = time.monotonic() + min(timeout_s, HELLO_DEADLINE_S)
    handshake = Handshake(hello.dial(me, to, token, shared_memory))
    connection.settimeout(max(0.01, until - time.monotonic()))
    connection.sendall(handshake.first)
    while handshake.result is None:
        got = b""
        while len(got) < handshake.wants:
            connection.settimeout(max(0.01, until - time.monotonic()))
            data = connection.recv(handshake.wants - len(got))
            if not data:
                raise ConnectionError("the connection was closed during the handshake")
            got += data
        reply = handshake.receive(got)
        if reply:
            connection.sendall(reply)
    return handshake.result

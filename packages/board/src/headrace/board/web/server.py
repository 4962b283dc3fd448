"""Listens on a port and serves an app until it is stopped."""

from __future__ import annotations

import ipaddress
import logging
import socket
import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from headrace.board.web.security import MAX_UPLOAD_BYTES

_BACKLOG = 1024  # connections that arrive before the server is ready wait


def listening_socket(host: str, ports: Sequence[int]) -> socket.socket:
    """Returns a socket that listens on the first free port of a list. Raises: OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for last, port in enumerate(ports, 1):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            if last == len(ports):
                raise
            continue
        except BaseException:
            listener.close()
            raise
        return listener
    raise ValueError("no port to listen on was given")


class BoardServer:
    """Serves an app in background threads.

    Args:
      app: the result of `create_app`; its board stops with the server.
      listener: a listening socket, which is closed with the server.
      threads: number of requests served at once; each browser that shows the board occupies one.
    """

    def __init__(self, app: Any, listener: socket.socket, threads: int) -> None:
        import waitress

        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        self._app = app
        self._sockets: dict[int, Any] = {}
        self._server = waitress.create_server(
            app,
            map=self._sockets,
            sockets=[listener],
            threads=threads,
            ident="",
            channel_timeout=600,
            max_request_body_size=MAX_UPLOAD_BYTES,
        )
        self._thread = threading.Thread(target=self._server.run, name="headrace-board", daemon=True)
        self._lock = threading.Lock()
        self._stopped = False

    @property
    def port(self) -> int:
        """The port of the listener."""
        return int(self._server.effective_port)

    def start(self) -> None:
        """Starts serving."""
        self._thread.start()

    def wait(self) -> None:
        """Blocks until another thread stops the server."""
        self._thread.join()

    def stop(self) -> None:
        """Stops the board, the server and all connections; a second call does nothing."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            # First, because the event streams of open pages end only when the board stops.
            self._app.board.stop()
            if self._thread.is_alive():
                self._server.trigger.pull_trigger(self._close_all)
                self._thread.join()
            else:
                self._close_all()

    def _close_all(self) -> None:
        self._server.task_dispatcher.shutdown()
        self._server.asyncore.close_all(self._sockets)


def address(host: str, port: int, token: str | None = None) -> str:
    """Returns the URL of the board for a browser on this machine.

    >>> address("127.0.0.1", 6006), address("::1", 6006), address("0.0.0.0", 80, "a b")
    ('http://localhost:6006/', 'http://[::1]:6006/', 'http://localhost:80/?t=a%20b')
    """
    if host == "127.0.0.1" or is_unspecified(host):
        host = "localhost"
    query = f"?t={quote(token, safe='')}" if token else ""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/{query}"


def is_unspecified(host: str) -> bool:
    """Returns whether a listener on this host listens on all addresses of the machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False

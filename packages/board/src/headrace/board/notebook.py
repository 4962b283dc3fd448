"""The board in a Jupyter notebook."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from html import escape

from headrace.board.reading.places.log_places import Place
from headrace.board.web.security import Access
from headrace.board.web.server import BoardServer, address, listening_socket

_HEIGHT = 800
_THREADS = 16
# The places of a board and the address that was asked for.
_Key = tuple[tuple[str, ...], str | None]
_servers: dict[_Key, tuple[BoardServer, str]] = {}
_lock = threading.Lock()


class Display:
    """A board in an output cell; Jupyter displays it by `_repr_html_`.

    Args:
      key: identifies the board within this process.
      url: the board's address, also linked for opening it in a window.
      height: height of the frame in CSS pixels.
    """

    def __init__(self, key: _Key, url: str, height: int) -> None:
        self.url = url
        self._key = key
        self._height = height

    def stop(self) -> None:
        """Stops the board and frees its port; does nothing if it has stopped already."""
        with _lock:
            server, url = _servers.get(self._key, (None, ""))
            if server is not None and url == self.url:  # and not a board that was started later
                del _servers[self._key]
                server.stop()

    def _repr_html_(self) -> str:
        url = escape(self.url, quote=True)
        return (
            f'<iframe src="{url}" width="100%" height="{self._height}" style="border:0"'
            f' title="Headrace board"></iframe><a href="{url}" target="_blank"'
            ' rel="noopener">open in a window</a>'
        )

    def __repr__(self) -> str:
        return f"headrace board on {self.url}"


def show(
    logdir: Place | Mapping[str, Place], height: int = _HEIGHT, url: str | None = None
) -> Display:
    """Displays a logdir in an output cell of a notebook.

    The board runs in threads of the kernel, until the kernel ends or `stop` is called. A second
    call with the same logdir and `url` displays the same board.

    Args:
      logdir: folder of event logs, or its URL. Several of them by name.
      height: height of the frame in CSS pixels.
      url: the address at which a browser on another machine reaches the board, with `{port}` in
        place of the port: `"/proxy/{port}/"` for jupyter-server-proxy. The board then requires a
        token, which the displayed address contains.
    Returns: an object with `url` and `stop()`.
    Raises: FrontendMissingError if the package was not built.
    """
    from headrace.board.app import create_app, new_token

    key = (_key_of(logdir), url)
    with _lock:
        if key not in _servers:
            listener = listening_socket("127.0.0.1", [0])
            try:
                port = listener.getsockname()[1]
                if url is None:
                    # The notebook has another origin: it may only frame the board.
                    frames = ("http://localhost:*", "http://127.0.0.1:*")
                    access = Access(frames=frames)
                    shown = address("127.0.0.1", port)
                else:
                    token = new_token()
                    access = Access(token=token, any_host=True, frames=("'self'",))
                    shown = f"{url.replace('{port}', str(port))}?t={token}"
                server = BoardServer(create_app(logdir, access=access), listener, _THREADS)
            except BaseException:
                listener.close()
                raise
            server.start()
            _servers[key] = (server, shown)
        return Display(key, _servers[key][1], height)


def _key_of(logdir: Place | Mapping[str, Place]) -> tuple[str, ...]:
    if not isinstance(logdir, Mapping):
        text = os.fspath(logdir)
        return (text if "://" in text else os.path.realpath(text),)
    return tuple(part for name, place in logdir.items() for part in (name, *_key_of(place)))


@atexit.register
def _stop_all() -> None:
    with _lock:
        while _servers:
            _servers.popitem()[1][0].stop()

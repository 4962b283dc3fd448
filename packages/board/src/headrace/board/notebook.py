"""The board inside a Jupyter notebook."""

from __future__ import annotations

import os
import threading
from html import escape
from typing import Any

_HEIGHT = 800
_servers: dict[str, tuple[Any, str]] = {}
_lock = threading.Lock()


class Display:
    """A board in an output cell; Jupyter shows it by `_repr_html_`.

    Attributes:
      url: the board's address, for a window of its own.
    """

    def __init__(self, url: str, height: int) -> None:
        self.url = url
        self._height = height

    def _repr_html_(self) -> str:
        url = escape(self.url, quote=True)
        return (
            f'<iframe src="{url}" width="100%" height="{self._height}" style="border:0"'
            f' title="Headrace board"></iframe><a href="{url}" target="_blank"'
            ' rel="noopener">open in a window</a>'
        )

    def __repr__(self) -> str:
        return f"headrace board on {self.url}"


def show(logdir: str | os.PathLike[str], height: int = _HEIGHT) -> Display:
    """Returns a display of a logdir; a notebook shows it as an output cell.

    The board runs in threads of the kernel and ends with it. A second call for the same folder
    shows the same board.

    Args:
      logdir: folder of event logs.
      height: of the cell's frame, in CSS pixels.
    """
    import waitress

    from headrace.board.app import create_app
    from headrace.board.security import Access

    key = os.path.realpath(logdir)
    with _lock:
        if key not in _servers:
            # A notebook's page has an origin of its own: it may frame the board, not ask it.
            loopback = ("http://localhost:*", "http://127.0.0.1:*")
            app = create_app(logdir, access=Access(frames=loopback))
            server = waitress.create_server(app, host="127.0.0.1", port=0, threads=16)
            threading.Thread(target=server.run, name="headrace-board", daemon=True).start()
            _servers[key] = (server, f"http://localhost:{server.effective_port}/")
        return Display(_servers[key][1], height)

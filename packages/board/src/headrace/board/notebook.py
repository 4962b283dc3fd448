"""The board inside a Jupyter notebook."""

from __future__ import annotations

import atexit
import os
import threading
from html import escape

from headrace.board.web.security import Access
from headrace.board.web.server import BoardServer, address, listening_socket

_HEIGHT = 800
_THREADS = 16
_servers: dict[tuple[str, str | None], tuple[BoardServer, str]] = {}
_lock = threading.Lock()


class Display:
    """A board in an output cell; Jupyter shows it by `_repr_html_`.

    Args:
      key: of the board among those of this process.
      url: the board's address, for a window of its own.
      height: of the cell's frame, in CSS pixels.
    """

    def __init__(self, key: tuple[str, str | None], url: str, height: int) -> None:
        self.url = url
        self._key = key
        self._height = height

    def stop(self) -> None:
        """Ends the board and frees its port. If it has ended before: nothing."""
        with _lock:
            server, url = _servers.get(self._key, (None, ""))
            if server is not None and url == self.url:  # not one that was shown since
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


def show(logdir: str | os.PathLike[str], height: int = _HEIGHT, url: str | None = None) -> Display:
    """Returns a display of a logdir; a notebook shows it as an output cell.

    The board runs in threads of the kernel and ends with it, or with the display's `stop`. A second
    call for the same folder and `url` shows the same board.

    Args:
      logdir: folder of event logs.
      height: of the cell's frame, in CSS pixels.
      url: where a browser on another machine reaches the board's port, which stands in it as
        `{port}`: `"/proxy/{port}/"` where jupyter-server-proxy is installed. The board then asks
        for a token, which the display's address carries.
    Returns: the display; it has `url` and `stop()`.
    Raises: FrontendMissingError if the package was not built.
    """
    from headrace.board.app import create_app, new_token

    key = (os.path.realpath(logdir), url)
    with _lock:
        if key not in _servers:
            listener = listening_socket("127.0.0.1", [0])
            try:
                port = listener.getsockname()[1]
                if url is None:
                    # A notebook's page has an origin of its own: it may frame the board, not ask.
                    frames = ("http://localhost:*", "http://127.0.0.1:*")
                    access = Access(port=port, frames=frames)
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


@atexit.register
def _stop_all() -> None:
    with _lock:
        while _servers:
            _servers.popitem()[1][0].stop()

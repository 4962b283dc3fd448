"""Servers and stores for tests of files by URL: HTTP as a process, and a store that fails."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

WITH_RANGES = """
import asyncio, sys
from aiohttp import web
async def serve():
    app = web.Application()
    app.router.add_static("/", sys.argv[1], show_index=True)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
asyncio.run(serve())
"""
WITHOUT_RANGES = """
import functools, http.server, sys, threading
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
"""


class HttpServer:
    """A process that serves the files of a folder on loopback; `url` is that of the folder."""

    def __init__(self, folder: Path, ranges: bool) -> None:
        script = WITH_RANGES if ranges else WITHOUT_RANGES
        self._process = subprocess.Popen(
            [sys.executable, "-c", script, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"

    def stop(self) -> None:
        """Ends the process, which reads until its input is closed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


class WatchedStore(LocalFileSystem):
    """Local files under the scheme "watched": calls `on_change` before each change of a file."""

    protocol = ("watched",)
    cachable = False
    on_change: Callable[[str, str], None] = staticmethod(lambda what, path: None)

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return super()._strip_protocol(str(path).removeprefix("watched://"))

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        if "w" in mode:
            type(self).on_change("open", path)
        file = super()._open(path, mode, **options)
        if "w" in mode:
            write, close = file.f.write, file.f.close
            watched = type(self)

            class File:
                closed = False
                opener = file  # which closes the file when it is forgotten

                def write(self, data: Any) -> int:
                    watched.on_change("write", path)
                    return int(write(data))

                def close(self) -> None:
                    if not self.closed:
                        self.closed = True
                        try:
                            watched.on_change("close", path)
                        finally:
                            close()

                def __enter__(self) -> Any:
                    return self

                def __exit__(self, *_: object) -> None:
                    self.close()

            return File()
        return file

    def mv(self, path1: str, path2: str, **options: Any) -> None:
        """Renames a file."""
        type(self).on_change("rename", self._strip_protocol(path2))
        super().mv(path1, path2, **options)

    def cp_file(self, path1: str, path2: str, **options: Any) -> None:
        """Copies a file."""
        type(self).on_change("copy", self._strip_protocol(path2))
        super().cp_file(path1, path2, **options)

    def rm_file(self, path: str) -> None:
        """Removes a file."""
        type(self).on_change("remove", self._strip_protocol(path))
        super().rm_file(path)


fsspec.register_implementation("watched", WatchedStore, clobber=True)

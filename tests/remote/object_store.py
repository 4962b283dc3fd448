"""An S3-compatible server (moto) as a process on loopback; `python object_store.py` runs it.

It prints its port, and runs until its input is closed. Requests to /_tests/ are for tests:

    requests      the requests since the last one: [method, path, Range header, bytes sent]
    kill/PID/N    kills a process before the Nth change from now on
    delay/MS      waits before each answer
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable
from typing import Any

CHANGES = ("PUT", "POST", "DELETE")


class Watched:
    """A WSGI application around that of moto."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self._lock = threading.Lock()
        self._requests: list[tuple[str, str, str, int]] = []
        self._kill: tuple[int, int] | None = None
        self._delay_s = 0.0

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path.startswith("/_tests/"):
            answer = json.dumps(self._control(*path.split("/")[2:])).encode()
            start("200 OK", [("Content-Length", str(len(answer)))])
            return [answer]
        time.sleep(self._delay_s)
        method = environ["REQUEST_METHOD"]
        victim = self._victim() if method in CHANGES else None
        if victim is not None:
            os.kill(victim, signal.SIGKILL)
            start("503 Service Unavailable", [("Content-Length", "0")])
            return [b""]
        body = b"".join(self._application(environ, start))
        with self._lock:
            asked = environ.get("HTTP_RANGE", "")
            self._requests.append((method, path, asked, 0 if method == "HEAD" else len(body)))
        return [body]

    def _victim(self) -> int | None:
        """Returns the process to be killed at this change."""
        with self._lock:
            if self._kill is None:
                return None
            process, left = self._kill
            self._kill = (process, left - 1) if left > 1 else None
            return process if left == 1 else None

    def _control(self, verb: str, *words: str) -> Any:
        with self._lock:
            if verb == "kill":
                self._kill = (int(words[0]), int(words[1]))
            if verb == "delay":
                self._delay_s = int(words[0]) / 1000
            found, self._requests = self._requests, []
            return found


def main() -> None:
    """Serves until the input is closed."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    application = Watched(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True)
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


class ObjectStore:
    """Starts the server; `environment` is what its clients need."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        self.environment = {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.url,
        }

    def control(self, *words: Any) -> list[tuple[str, str, str, int]]:
        """Sends a request for tests; returns the requests since the last one."""
        address = "/".join([self.url, "_tests", *map(str, words)])
        with urllib.request.urlopen(address, timeout=60) as answer:
            return [tuple(entry) for entry in json.load(answer)]

    def requests(self) -> list[tuple[str, str, str, int]]:
        """Returns (method, path, Range header, bytes sent) of each request since the last call."""
        return self.control("requests")

    def stop(self) -> None:
        """Ends the server."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


if __name__ == "__main__":
    main()

"""Measure a Flask service over Headrace beside one over TensorFlow: latency and throughput.

    python3 tools/benchmarks/service.py --peer /path/to/python/with/tensorflow
    python3 tools/benchmarks/service.py --peer ... --filters 64 --side 224 --rounds 3
    python3 tools/benchmarks/service.py --short-step            # a 7 us step in a busy process

Both serve one frozen graph (examples/service_model.py) on waitress with eight threads; eight
clients send requests to one of them and then to the other in every round, so that both see the same
machine.
"""

from __future__ import annotations

import argparse
import http.client
import io
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
THREADS = 8


class Service:
    """A server process."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        self.address = urlsplit(self._process.stdout.readline().strip()).netloc
        if not self.address:
            raise SystemExit(f"{command[1]} did not start")
        self.seconds: list[float] = []  # of each request
        self.spent = 0.0  # with all clients at work

    def load(self, body: bytes, clients: int, requests: int) -> None:
        """So many clients at once, each with so many requests."""
        times: list[list[float]] = [[] for _ in range(clients)]
        workers = [
            threading.Thread(target=_client, args=(self.address, body, requests, found))
            for found in times
        ]
        began = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.spent += time.perf_counter() - began
        self.seconds += [second for found in times for second in found]

    def row(self, name: str) -> str:
        p50, p99 = np.percentile(self.seconds, [50, 99]) * 1e3
        rate = len(self.seconds) / self.spent
        return f"{name:12} {p50:9.2f} ms p50  {p99:9.2f} ms p99  {rate:9.1f} requests/s"

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(20)


def _client(address: str, body: bytes, requests: int, found: list[float]) -> None:
    connection = http.client.HTTPConnection(address, timeout=600)
    for _ in range(requests):
        began = time.perf_counter()
        connection.request("POST", "/predict", body, {"Content-Type": "application/octet-stream"})
        response = connection.getresponse()
        response.read()
        if response.status != 200:
            raise RuntimeError(f"{address}: {response.status}")
        found.append(time.perf_counter() - began)
    connection.close()


def compare(options: argparse.Namespace) -> None:
    """Prints a row for each service, and the ratios."""
    body = io.BytesIO()
    np.save(body, np.zeros([options.batch, options.side, options.side, 3], np.float32))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/network.pb"
        size = ["--side", str(options.side), "--filters", str(options.filters)]
        subprocess.run(
            [sys.executable, str(EXAMPLES / "service_model.py"), path, *size], check=True
        )
        ours = Service([sys.executable, str(EXAMPLES / "service_flask.py"), path, "--port", "0"])
        theirs = Service([options.peer, str(HERE / "service_tensorflow.py"), path, str(THREADS)])
        try:
            for service in (ours, theirs):
                service.load(body.getvalue(), THREADS, 2)
                service.seconds, service.spent = [], 0.0
            for number in range(options.rounds):
                for service in (ours, theirs) if number % 2 else (theirs, ours):
                    service.load(body.getvalue(), THREADS, options.requests)
        finally:
            ours.close()
            theirs.close()
    print(ours.row("headrace"))
    print(theirs.row("tensorflow"))
    ratios = [np.percentile(theirs.seconds, q) / np.percentile(ours.seconds, q) for q in (50, 99)]
    print(f"its time / ours: {ratios[0]:.2f} p50, {ratios[1]:.2f} p99; ", end="")
    print(f"throughput {theirs.spent / ours.spent:.2f}")


def short_step(seconds: float) -> None:
    """A step of a few microseconds, alone and beside seven threads that run Python all the time."""
    import headrace.graph as hr
    from headrace.runtime import load_graph

    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [1, 32], name="x")
        for _ in range(4):
            x = hr.nn.relu(hr.matmul(x, hr.constant(np.eye(32), hr.float32)))
        hr.identity(x, name="y")
        wire = graph.as_graph_def().SerializeToString()
    fed = np.ones([1, 32], np.float32)
    weights = np.eye(32, dtype=np.float32)

    def with_numpy() -> None:
        y = fed
        for _ in range(4):
            y = np.maximum(y @ weights, 0)

    with load_graph(wire, ["x"], ["y"]) as model:
        for busy in (0, THREADS - 1):
            with _Busy(busy):
                for name, call in (("headrace", lambda: model({"x": fed})), ("numpy", with_numpy)):
                    times = _timed(call, seconds)
                    p50, p99 = np.percentile(times, [50, 99]) * 1e6
                    print(f"{busy} busy threads, {name:9} {p50:9.1f} us p50  {p99:9.1f} us p99")


class _Busy:
    """Threads that take and give the GIL as handlers of requests do: they compute and sleep."""

    def __init__(self, count: int) -> None:
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work) for _ in range(count)]

    def _work(self) -> None:
        import json

        text = json.dumps(list(range(300)))
        while not self._stop.is_set():
            for _ in range(10):
                json.loads(text)
            time.sleep(0.0005)

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def _timed(call: object, seconds: float) -> list[float]:
    """Durations of single calls. A pause after each, as between requests, gives the GIL away."""
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        call()  # type: ignore[operator]
        times.append(time.perf_counter() - began)
        time.sleep(0.0002)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer", help="interpreter that has tensorflow, flask and waitress")
    parser.add_argument("--filters", type=int, default=64)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--requests", type=int, default=5, help="of each client in a round")
    parser.add_argument("--short-step", action="store_true", help="measure that, and no service")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each short-step row")
    options = parser.parse_args()
    if options.short_step:
        short_step(options.seconds)
    elif options.peer:
        compare(options)
    else:
        parser.error("--peer is needed: where TensorFlow is")


if __name__ == "__main__":
    main()

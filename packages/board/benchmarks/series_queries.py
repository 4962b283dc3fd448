"""Measures replies to charts over HTTP: single series, many runs, exports.

    python packages/board/benchmarks/series_queries.py [--events 1000000] [--tries 31]

Prints a line each. Another process serves; what is timed is what a page waits for, until the last
byte is there.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fixtures import event_logs  # noqa: E402

RUNS, POINTS, PX = 100, 1000, 2000


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--events", type=int, default=1_000_000)
    arguments.add_argument("--tries", type=int, default=31)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        event_logs.write_a(Path(folder, "a"), options.events)
        event_logs.write_m(Path(folder, "m"), runs=RUNS, tags=1, steps=POINTS)
        server = subprocess.Popen(
            [sys.executable, "-m", "headrace.board", "--logdir", folder, "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            measure(Server(server), options.events, options.tries)
        finally:
            server.terminate()
            server.wait(10)


class Server:
    """A client of a board in another process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            found = re.search(r"http://([\w.]+):(\d+)", line)
            if found:
                break
        else:
            raise SystemExit("the board did not say where it is")
        self._connection = http.client.HTTPConnection(found[1], int(found[2]), timeout=60)

    def request(self, path: str, body: object = None) -> bytes:
        """Returns the body of the reply."""
        method = "GET" if body is None else "POST"
        headers = {"X-Board": "1", "Content-Type": "application/json", "Accept-Encoding": "gzip"}
        data = None if body is None else json.dumps(body)
        self._connection.request(method, f"/api/v1{path}", data, headers if data else {})
        response = self._connection.getresponse()
        got = response.read()
        if response.status != 200:
            raise SystemExit(f"{path}: {response.status} {got[:300]!r}")
        return got

    def timed(self, path: str, body: object = None) -> tuple[float, bytes]:
        """Returns milliseconds and the body."""
        start = time.perf_counter()
        got = self.request(path, body)
        return (time.perf_counter() - start) * 1e3, got


def measure(server: Server, events: int, tries: int) -> None:
    points = events + RUNS * POINTS
    while json.loads(server.request("/health"))["points"] < points:
        time.sleep(0.1)
    runs = {run["name"]: run["id"] for run in json.loads(server.request("/runs"))["runs"]}
    tags = {tag["name"]: tag["id"] for tag in json.loads(server.request("/tags"))["tags"]}
    long = {"tag": tags["loss"], "runs": [runs["a"]], "px": PX}
    several = [id for name, id in runs.items() if name.startswith("m/")]
    metric = {"tag": tags["eval/metric0"], "runs": several, "px": 1000}

    first, _ = server.timed("/scalars", {"queries": [long]})
    whole = [server.timed("/scalars", {"queries": [long]}) for _ in range(tries)]
    report("series", f"{events} points to {PX} px", whole, first)
    zoomed = []
    for i in range(tries):
        lo = i * events // (2 * tries)
        zoom = {**long, "lo": lo, "hi": lo + events // 10}
        zoomed.append(server.timed("/scalars", {"queries": [zoom]}))
    report("series", f"a tenth of {events} points to {PX} px", zoomed)
    smooth = []
    for i in range(5):
        smoothing = {"kind": "ema", "weight": 0.5 + i * 0.09}
        smooth.append(server.timed("/scalars", {"queries": [{**long, "smooth": smoothing}]}))
    report("series", f"{events} points smoothed, each time by another weight", smooth)

    first, _ = server.timed("/scalars", {"queries": [metric]})
    many = [server.timed("/scalars", {"queries": [metric]}) for _ in range(tries)]
    report("runs", f"1 tag x {len(several)} runs x {POINTS} points", many, first)
    group = {"runs": [several], "center": "mean", "band": "std"}
    grouped = {"tag": metric["tag"], "group": group, "px": 1000}
    means = [server.timed("/scalars", {"queries": [grouped]}) for _ in range(tries)]
    report("runs", f"the same {len(several)} runs as mean and band", means)

    for form in ("csv", "json"):
        took, body = server.timed(f"/export.{form}?tags={tags['loss']}&runs={runs['a']}")
        rows = body.count(b"\n") - 1 if form == "csv" else len(json.loads(body)[0]["step"])
        print(f"export export.{form}: {rows} rows, {len(body) / 1e6:.1f} MB in {took / 1e3:.2f} s")


def report(
    criterion: str, what: str, tries: list[tuple[float, bytes]], first: float | None = None
) -> None:
    took = sorted(one for one, _ in tries)
    body = tries[-1][1]
    (size,) = struct.unpack("<I", body[:4])
    curves = json.loads(body[4 : 4 + size])["curves"]
    drawn = sum(curve["drawn"] for curve in curves)
    p95 = took[min(len(took) - 1, int(len(took) * 0.95))]
    cold = "" if first is None else f", first {first:.1f} ms"
    print(
        f"{criterion} {what}: p50 {statistics.median(took):.1f} ms, p95 {p95:.1f} ms{cold};"
        f" {len(body) / 1e3:.0f} kB, {drawn} points drawn"
    )


if __name__ == "__main__":
    main()

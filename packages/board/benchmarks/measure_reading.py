"""Measures how fast the board starts and reads, and its memory.

python benchmarks/measure_reading.py [start] [load] [load-python] [append] [images] [soak [SECONDS]]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from fixtures import event_logs  # noqa: E402

from headrace.formats.event_file import EventFileWriter  # noqa: E402

CACHE = Path(os.environ.get("HEADRACE_BENCHMARKS", "/tmp/headrace-board-benchmarks"))
LOAD = """
import resource, sys, time
from headrace.board.board import Board
board = Board(sys.argv[1], follow=False)
began = time.perf_counter()
board.load()
took = time.perf_counter() - began
points = sum(len(s) for s in board.index.all_series())
rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{took:.3f} {points} {rss:.0f}")
"""


def fixture(name: str) -> Path:
    """Returns the folder of a fixture, written once."""
    folder = CACHE / name
    if not folder.exists():
        result = CACHE / f".{name}"
        {
            "A": lambda: event_logs.write_a(result / "run"),
            "B": lambda: event_logs.write_b(result / "run"),
            "C": lambda: event_logs.write_c(result / "run"),
            "M": lambda: event_logs.write_m(result),
            "images": lambda: event_logs.write_images(result / "run"),
        }[name]()
        result.rename(folder)
    return folder


def measure_load(scanner: str) -> None:
    """Seconds to load a million points, the points kept and the greatest memory."""
    for name in "ABC":
        folder = fixture(name)
        environment = {**os.environ, "HEADRACE_BOARD_SCANNER": scanner}
        lines = [
            subprocess.run(
                [sys.executable, "-c", LOAD, folder],
                env=environment,
                check=True,
                capture_output=True,
                text=True,
            ).stdout.split()
            for _ in range(3)
        ]
        took, points, rss = min(lines, key=lambda line: float(line[0]))
        print(f"load {name} {scanner}: {took} s, {points} points, {rss} MB at most")


class Server:
    """A headrace-board in a separate process."""

    def __init__(self, logdir: Path) -> None:
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headrace.board", "--logdir", str(logdir), "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.url = line.split(" on ")[1].strip().split("?")[0].rstrip("/")

    def get(self, path: str) -> dict:
        """Returns a JSON reply."""
        with urllib.request.urlopen(f"{self.url}/api/v1{path}", timeout=60) as reply:
            return json.load(reply)

    def rss_mb(self) -> float:
        """Returns the resident memory."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            kib = next(line.split()[1] for line in file if line.startswith("VmRSS"))
        return int(kib) / 1024

    def wait_loaded(self) -> None:
        """Waits until all is read."""
        while self.get("/health")["loading"]:
            time.sleep(0.02)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()


def measure_start() -> None:
    """Measures seconds until the port replies on an empty logdir, and the memory."""
    took, rss = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder, Server(Path(folder)) as server:
            server.get("/health")
            took.append(time.perf_counter() - server.began)
            time.sleep(0.5)
            rss.append(server.rss_mb())
    print(f"start: {min(took):.2f} s to the first reply, {min(rss):.0f} MB")


def measure_live(tries: int = 20) -> None:
    """Milliseconds from append and flush to the event that notifies a page."""
    with tempfile.TemporaryDirectory() as folder:
        writer = EventFileWriter(Path(folder) / "run")
        writer.write(event_logs.simple_event(0, time.time(), [("loss", 1.0)]))
        writer.flush()
        with Server(Path(folder)) as server:
            server.wait_loaded()
            stream = urllib.request.urlopen(f"{server.url}/api/v1/events", timeout=60)
            came: list[tuple[float, int]] = []

            def listen() -> None:
                for line in stream:
                    if line.startswith(b"data:"):
                        came.append((time.perf_counter(), json.loads(line[5:])["points"]))

            threading.Thread(target=listen, daemon=True).start()
            delays = []
            for step in range(1, tries + 1):
                time.sleep(0.37)
                began = time.perf_counter()
                writer.write(event_logs.simple_event(step, time.time(), [("loss", 1.0)]))
                writer.flush()
                while not came or came[-1][1] < step + 1:
                    time.sleep(0.002)
                delays.append(came[-1][0] - began)
            began = time.perf_counter()
            with EventFileWriter(Path(folder) / "new") as other:
                other.write(event_logs.simple_event(0, time.time(), [("loss", 1.0)]))
            while len(server.get("/runs")["runs"]) < 2:
                time.sleep(0.02)
            new_run = time.perf_counter() - began
            began = time.perf_counter()
            with EventFileWriter(Path(folder) / "run", ".second") as other:
                other.write(event_logs.simple_event(0, time.time(), [("other", 1.0)]))
            while len(server.get("/tags")["tags"]) < 2:
                time.sleep(0.02)
            second = time.perf_counter() - began
    delays.sort()
    print(
        f"append: file to event {statistics.median(delays) * 1e3:.0f} ms in the middle,"
        f" p95 {delays[int(len(delays) * 0.95) - 1] * 1e3:.0f} ms;"
        f" new run {new_run * 1e3:.0f} ms; second writer {second * 1e3:.0f} ms"
    )


def measure_blobs() -> None:
    """Measures the memory for 5000 images of 40 KB after all were viewed."""
    script = """
import sys
from headrace.board.board import Board
from headrace.board.updates.status import memory_bytes
board = Board(sys.argv[1], follow=False)
before = memory_bytes()
board.load()
loaded = memory_bytes()
series = board.index.series_of_kind("image")[0]
rows = series.rows()
for i in range(len(rows)):
    value = board.records.value(rows, i)
    assert value.image.encoded_image_string[8:12] == i.to_bytes(4, "little")
print(len(rows), (loaded - before) >> 20, (memory_bytes() - before) >> 20)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, fixture("images")],
        check=True,
        capture_output=True,
        text=True,
    )
    rows, loaded, looked = done.stdout.split()
    print(f"images: {rows} images: +{loaded} MB when loaded, +{looked} MB when all were looked at")


def soak(seconds: float) -> None:
    """Measures memory while a run grows: its slope beyond the size of the data, after warm-up."""
    with tempfile.TemporaryDirectory() as folder:
        writer = EventFileWriter(Path(folder) / "run")
        with Server(Path(folder)) as server:
            step = 0
            marks: list[tuple[int, float]] = []
            until = time.perf_counter() + seconds
            next_mark = time.perf_counter() + min(60, seconds / 4)
            while time.perf_counter() < until:
                for _ in range(50):
                    values = [("loss", event_logs.curve(step)), ("accuracy", 0.5)]
                    writer.write(event_logs.simple_event(step, time.time(), values))
                    step += 1
                writer.flush()
                server.get("/tags")
                time.sleep(0.05)
                if time.perf_counter() >= next_mark:
                    marks.append((step, server.rss_mb()))
                    next_mark += max(5, seconds / 20)
    events = marks[-1][0] - marks[0][0]
    grown = marks[-1][1] - marks[0][1]
    data = events * 2 * 20 / 2**20
    print(
        f"soak: {events} events in {seconds:.0f} s: +{grown:.1f} MB, {data:.1f} MB of it data;"
        f" {(grown - data) / events * 1e4:.2f} MB per 10,000 events over the data's size"
    )


def main(arguments: list[str]) -> None:
    """Runs the measurements that the arguments name."""
    CACHE.mkdir(parents=True, exist_ok=True)
    chosen = arguments or ["start", "load", "load-python", "append", "images"]
    for i, name in enumerate(chosen):
        if name == "start":
            measure_start()
        elif name == "load":
            measure_load("native")
        elif name == "load-python":
            measure_load("python")
        elif name == "append":
            measure_live()
        elif name == "images":
            measure_blobs()
        elif name == "soak":
            follows = chosen[i + 1] if i + 1 < len(chosen) else "600"
            soak(float(follows) if follows.isdigit() else 600.0)


if __name__ == "__main__":
    main(sys.argv[1:])

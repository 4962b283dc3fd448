"""Measures TensorBoard on the same logs, for comparison: start, loading, appending.

python benchmarks/measure_tensorboard.py PYTHON_WITH_TENSORBOARD [a2] [a3] [a3-python] [a12]
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from measure_reading import event_logs, fixture

from headrace.formats.event_file import EventFileWriter

SLOW = """
import resource, sys, time
from tensorboard.backend.event_processing import plugin_event_accumulator as accumulator
began = time.perf_counter()
one = accumulator.EventAccumulator(sys.argv[1])
one.Reload()
took = time.perf_counter() - began
kept = sum(len(one.Tensors(tag)) for tag in one.Tags()["tensors"])
rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{took:.1f} s, {kept} points kept, {rss:.0f} MB at most")
"""


class TensorBoard:
    """A TensorBoard server on a free port."""

    def __init__(self, python: str, logdir: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.began = time.perf_counter()
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
        self.process = subprocess.Popen(
            [python, "-m", "tensorboard.main", "--logdir", str(logdir), "--port", str(port)],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while True:
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                self.get("/data/environment")
                break
            time.sleep(0.02)
        self.replied = time.perf_counter() - self.began

    def get(self, path: str, **arguments: str) -> object:
        """Returns a JSON reply."""
        query = "?" + urllib.parse.urlencode(arguments) if arguments else ""
        with urllib.request.urlopen(self.url + path + query, timeout=60) as reply:
            return json.load(reply)

    def wait_for_step(self, run: str, tag: str, step: int) -> None:
        """Waits until a point is there."""
        while True:
            with contextlib.suppress(urllib.error.HTTPError):
                got = self.get("/data/plugin/scalars/scalars", run=run, tag=tag)
                if isinstance(got, list) and got and got[-1][1] >= step:
                    return
            time.sleep(0.02)

    def rss_mb(self) -> float:
        """Returns the resident memory of the server and its data server."""
        total = 0
        for pid in (self.process.pid, *_children(self.process.pid)):
            with (
                contextlib.suppress(OSError, StopIteration),
                open(f"/proc/{pid}/status", encoding="ascii") as file,
            ):
                total += next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
        return total / 1024

    def __enter__(self) -> TensorBoard:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()


def _children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = stat.read_text().rpartition(")")[2].split()[1]
            if int(parent) == pid:
                found.append(int(stat.parent.name))
    return found


def main(python: str, chosen: list[str]) -> None:
    """Runs the chosen measurements."""
    for name in chosen or ["a2", "a3", "a3-python", "a12"]:
        if name == "a2":
            took, rss = [], []
            for _ in range(3):
                with tempfile.TemporaryDirectory() as folder:
                    with TensorBoard(python, Path(folder)) as server:
                        took.append(server.replied)
                        rss.append(server.rss_mb())
            print(f"start TensorBoard: {min(took):.2f} s to the first reply, {min(rss):.0f} MB")
        elif name == "a3":
            for letter, tag, step in (("A", "loss", 999_999), ("B", "layer99/loss", 9999),
                                      ("C", "layer99/loss", 9999)):  # fmt: skip
                with TensorBoard(python, fixture(letter)) as server:
                    server.wait_for_step("run", tag, step)
                    took_s = time.perf_counter() - server.began
                    print(
                        f"load {letter} TensorBoard: {took_s:.2f} s from start to the last point"
                        f" (1000 a tag kept), {server.rss_mb():.0f} MB"
                    )
        elif name == "a3-python":
            environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
            command = [python, "-c", SLOW, str(fixture("A") / "run")]
            done = subprocess.run(
                command, env=environment, check=True, capture_output=True, text=True
            )
            print(f"load A TensorBoard in Python: {done.stdout.strip()}")
        elif name == "a12":
            _measure_live(python)


def _measure_live(python: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer = EventFileWriter(Path(folder) / "run")
        writer.write(event_logs.simple_event(1, time.time(), [("loss", 1.0)]))
        writer.flush()
        delays = []
        with TensorBoard(python, Path(folder)) as server:
            server.wait_for_step("run", "loss", 1)
            for step in range(2, 8):
                time.sleep(0.37)
                began = time.perf_counter()
                writer.write(event_logs.simple_event(step, time.time(), [("loss", 1.0)]))
                writer.flush()
                server.wait_for_step("run", "loss", step)
                delays.append(time.perf_counter() - began)
    print(
        f"append TensorBoard: append to endpoint {statistics.median(delays):.1f} s in the middle,"
        f" {max(delays):.1f} s at most (its page then polls every 30 s)"
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

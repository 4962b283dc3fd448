"""Measurements that need no browser."""

from __future__ import annotations

import json
import time
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote, urlencode

from sides import Board, Side, wait_for

from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event

_SCALARS = {"Content_Type": "application/json", "X_Board": "1"}


def write_growing(folder: Path) -> None:
    with EventFileWriter(folder / "run") as writer:
        for step in range(100):
            writer.write(_loss(step))


def write_graph(folder: Path, graph: Any) -> None:
    with EventFileWriter(folder / "run") as writer:
        writer.write(Event(wall_time=1.0, graph_def=graph.SerializeToString()))


def start_on_nothing(side: Side, _: Path) -> dict[str, float]:
    """Measures the time until the port replies on an empty logdir, and the memory."""
    try:
        seconds = side.start()
        time.sleep(1.5)
        return {"port replies, s": seconds, "memory, MB": side.rss_mb()}
    finally:
        side.stop()


def load_all(side: Side, folder: Path) -> dict[str, float]:
    """Measures the time from the start of the program until the last point is served."""
    try:
        side.start()
        last = 999_999 if folder.name == "A" else 9_999
        if isinstance(side, Board):
            wait_for(lambda: _board_points(side) == 1_000_000)
        else:
            wait_for(lambda: _last_step(side) == last)
        seconds = time.perf_counter() - side.started_at
        return {"start to all data, s": seconds, "memory, MB": side.rss_mb()}
    finally:
        side.stop()


def one_series(side: Side, folder: Path) -> dict[str, float]:
    """One series of a million points: all of it for 2000 pixels, and a tenth."""
    try:
        side.start()
        if isinstance(side, Board):
            wait_for(lambda: _board_points(side) == 1_000_000)
            tag, run = _ids(side)
            whole = {"tag": tag, "runs": [run], "x": "step", "px": 2000}
            part = {**whole, "lo": 450_000, "hi": 550_000}
            return {
                "one series reply, ms": _p50(lambda: _post(side, [whole])),
                "zoomed reply, ms": _p50(lambda: _post(side, [part])),
            }
        wait_for(lambda: _last_step(side) == 999_999)
        path = _series_path(side)
        return {"one series reply, ms": _p50(lambda: side.get(path))}
    finally:
        side.stop()


def hundred_runs(side: Side, _: Path) -> dict[str, float]:
    """One tag of a hundred runs, 1000 points each."""
    try:
        side.start()
        if isinstance(side, Board):
            wait_for(lambda: _board_points(side) == 100 * 20 * 1000)
            tag, _run = _ids(side)
            runs = [run["id"] for run in json.loads(side.get("api/v1/runs"))["runs"]]
            query = {"tag": tag, "runs": runs, "x": "step", "px": 1000}
            reply = _post(side, [query])
            took = _p50(lambda: _post(side, [query]))
        else:
            wait_for(lambda: len(_tags(side)) == 100)
            time.sleep(3)  # the tags are there before the points
            tag = sorted(next(iter(_tags(side).values())))[0]
            form = urlencode({"requests": json.dumps([{"plugin": "scalars", "tag": tag}])}).encode()
            path = "experiment/defaultExperimentId/data/plugin/timeseries/timeSeries"
            kind = {"Content_Type": "application/x-www-form-urlencoded"}
            reply = side.get(path, form, **kind)
            took = _p50(lambda: side.get(path, form, **kind), tries=5)
        return {"reply, ms": took, "size, MB": len(reply) / 1e6}
    finally:
        side.stop()


def appended_event(side: Side, folder: Path) -> dict[str, float]:
    """Measures the time from the flush of an event until it is served."""
    try:
        side.start()
        tries = []
        with EventFileWriter(folder / f"run-{time.monotonic_ns()}") as writer:
            for step in range(6 if isinstance(side, Board) else 3):
                writer.write(_loss(step))
                writer.flush()
                start = time.perf_counter()
                run = Path(writer.path).parent.name
                wait_for(lambda run=run, step=step: _served(side, run) == step, every=0.02)
                tries.append(time.perf_counter() - start)
        # The first is a new run's, which both find by walking the folder.
        return {"new run served, s": tries[0], "appended event served, s": median(tries[1:])}
    finally:
        side.stop()


def _loss(step: int) -> Any:
    event = Event(wall_time=time.time(), step=step)
    event.summary.value.add(tag="loss", simple_value=1 / (1 + step))
    return event


def _p50(call: Any, tries: int = 30) -> float:
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return median(times) * 1000


def _post(side: Side, queries: list[dict[str, Any]]) -> bytes:
    return side.get("api/v1/scalars", json.dumps({"queries": queries}).encode(), **_SCALARS)


def _board_points(side: Side) -> int:
    health = json.loads(side.get("api/v1/health"))
    return 0 if health["loading"] else health["points"]


def _ids(side: Side) -> tuple[int, int]:
    tags = json.loads(side.get("api/v1/tags"))
    tag = next(tag["id"] for tag in tags["tags"] if tag["kind"] == "scalar")
    at = tags["series"]["tag"].index(tag)
    return tag, tags["series"]["run"][at]


def _tags(side: Side) -> dict[str, Any]:
    return json.loads(side.get("data/plugin/scalars/tags"))


def _series_path(side: Side) -> str:
    run, tags = next(iter(_tags(side).items()))
    return f"data/plugin/scalars/scalars?run={quote(run)}&tag={quote(sorted(tags)[-1])}"


def _last_step(side: Side) -> int:
    if not _tags(side):
        return -1
    return json.loads(side.get(_series_path(side)))[-1][1]


def _served(side: Side, run: str) -> int:
    """Returns: the last step of a run that the server knows; -1 if it does not know the run."""
    if isinstance(side, Board):
        ids = {r["name"]: r["id"] for r in json.loads(side.get("api/v1/runs"))["runs"]}
        series = json.loads(side.get("api/v1/tags"))["series"]
        rows = zip(series["run"], series["last_step"], strict=True)
        return max((int(step) for r, step in rows if r == ids.get(run)), default=-1)
    if run not in _tags(side):
        return -1
    path = f"data/plugin/scalars/scalars?run={quote(run)}&tag=loss"
    return json.loads(side.get(path))[-1][1]

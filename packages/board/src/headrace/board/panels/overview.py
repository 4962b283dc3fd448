"""What there is: runs, tags, problems, progress, and the news of changes."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np
from flask import Blueprint, Response, request

from headrace.board.board import Board
from headrace.board.columns import dump_json
from headrace.board.reading.scanner import scanner_name
from headrace.board.replies import float_argument, int_argument, reply_json
from headrace.board.store.blob_series import BlobSeries
from headrace.board.store.scalar_series import ScalarSeries, ScalarStatistics
from headrace.board.store.series import Series

_MOST_STREAMS = 8  # each holds a thread of the server; more pages ask /changes
_LEAST_BETWEEN_S = 0.1
_HEARTBEAT_S = 1.0
_MOST_WAIT_S = 30.0


def blueprint(board: Board) -> Blueprint:
    """Returns the endpoints meta, health, problems, events, changes, runs and tags."""
    panel = Blueprint("overview", __name__)
    scanner = scanner_name()
    streams = threading.BoundedSemaphore(_MOST_STREAMS)

    @panel.get("/meta")
    def meta() -> Response:
        return reply_json(
            board,
            {
                "version": version("headrace-board"),
                "logdir": board.logdir.name,
                "title": board.title,
                "read_only": board.state_file is None,
                "token_needed": board.token_needed,
            },
        )

    @panel.get("/health")
    def health() -> Response:
        progress = board.progress()
        totals = board.index.totals()
        return reply_json(
            board,
            {
                "files": progress.files,
                "bytes_done": progress.bytes_done,
                "bytes_total": progress.bytes_total,
                "loading": progress.loading,
                "scanner": scanner,
                "memory_bytes": memory_bytes(),
                "series": totals.series,
                "points": totals.points,
                "blobs": totals.blobs,
            },
        )

    @panel.get("/problems")
    def problems() -> Response:
        return reply_json(board, {"problems": problem_documents(board)})

    @panel.get("/runs")
    def runs() -> Response:
        return reply_json(board, {"runs": run_documents(board)})

    @panel.get("/tags")
    def tags() -> Response:
        return reply_json(board, tags_document(board))

    @panel.get("/changes")
    def changes() -> Response:
        since = int_argument("since", 0, -1)
        wait = float_argument("wait", 25.0) or 0.0
        rev = board.index.wait(since, min(max(wait, 0.0), _MOST_WAIT_S))
        return reply_json(board, news(board, rev))

    @panel.get("/events")
    def events() -> Response:
        if request.method == "HEAD":
            return Response(content_type="text/event-stream")
        if not streams.acquire(blocking=False):
            return reply_json(
                board, {"error": "too many pages follow the events; ask /changes instead"}, 503
            )
        return _stream(board, streams)

    return panel


def news(board: Board, rev: int) -> dict[str, Any]:
    """Returns what the page needs to know to decide what to ask for again."""
    totals = board.index.totals()
    return {
        "rev": rev,
        "runs": totals.runs,
        "tags": totals.series,
        "points": totals.points + totals.blobs,
        "problems": len(board.index.problems.list()),
        "loading": board.progress().loading,
    }


def problem_documents(board: Board) -> list[dict[str, Any]]:
    """Returns the lines of the Problems page."""
    return [
        {
            "id": problem.id,
            "severity": problem.severity,
            "kind": problem.kind,
            "run": problem.run,
            "file": None if problem.file is None else _shown(problem.file),
            "offset": problem.offset,
            "bytes": problem.bytes,
            "count": problem.count,
            "text": problem.text,
            "wall": problem.wall,
        }
        for problem in board.index.problems.list()
    ]


def run_documents(board: Board) -> list[dict[str, Any]]:
    """Returns the runs, by name."""
    counts = board.index.problems.count_by_run()
    return [
        {
            "id": run.id,
            "name": run.name,
            "folder": run.name.rpartition("/")[0],
            "start": _number(run.start),
            "last_wall": _number(run.last_wall),
            "live": run.live,
            "segments": run.segments,
            "problems": counts.get(run.id, 0),
        }
        for run in board.index.runs()
    ]


def tags_document(board: Board) -> dict[str, Any]:
    """Returns tags, and the figures of each series as columns."""
    columns: dict[str, list[Any]] = {name: [] for name in ("tag", "run", *ScalarStatistics._fields)}
    used = set()
    for series in board.index.all_series():
        figures = _figures(series)
        if figures is None:
            continue
        used.add(series.tag.id)
        columns["tag"].append(series.tag.id)
        columns["run"].append(series.run.id)
        for name, value in zip(ScalarStatistics._fields, figures):
            columns[name].append(value)
    tags = [
        {
            "id": tag.id,
            "name": tag.name,
            "kind": tag.kind,
            "plugin": tag.plugin,
            "display": tag.display,
            "description": tag.description,
        }
        for tag in board.index.tags()
        if tag.id in used
    ]
    return {"tags": tags, "series": columns}


def memory_bytes() -> int:
    """Returns the resident memory of this process; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _figures(series: Series) -> tuple[Any, ...] | None:
    if isinstance(series, ScalarSeries):
        return series.statistics() if len(series) else None
    if not isinstance(series, BlobSeries):
        return None
    rows = series.rows()
    if not len(rows):
        return None
    live = np.flatnonzero(~rows.superseded)
    first, last = int(live[0]), int(live[-1])
    steps, walls = rows.step, rows.wall
    return (
        len(live),
        int(steps[first]),
        int(steps[last]),
        float(walls[first]),
        float(walls[last]),
        None,
        None,
        None,
        0,
    )


def _stream(board: Board, streams: threading.BoundedSemaphore) -> Response:
    released = threading.Lock()  # close may come twice, and without a first step

    def release() -> None:
        if released.acquire(blocking=False):
            streams.release()

    def lines() -> Iterator[bytes]:
        rev = -1
        last_news = ""
        while not board.index.closed:
            new = board.index.wait(rev, _HEARTBEAT_S)
            if new > rev:
                text = dump_json(news(board, new))
                if text != last_news:
                    yield f"data: {text}\n\n".encode()
                rev, last_news = new, text
                time.sleep(_LEAST_BETWEEN_S)
            else:
                # A page that is gone shows only when something is written to it.
                yield b": still here\n\n"

    response = Response(lines(), content_type="text/event-stream")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    response.call_on_close(release)
    return response


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _shown(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

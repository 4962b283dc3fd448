"""What there is: runs, tags, problems, progress, and the news of changes."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from flask import Blueprint, Response, request

from headrace.board.board import Board
from headrace.board.web.columns import dump_json
from headrace.board.store.changes_since import ChangedSince
from headrace.board.store.json_rows import problem_document
from headrace.board.reading.scanner import scanner_name
from headrace.board.web.responses import float_argument, int_argument, reply_json
from headrace.board.store.scalar_series import ScalarStatistics

_MOST_STREAMS = 8  # each holds a thread of the server; more pages ask /changes
_MOST_WAITERS = 8  # of /changes, each holds a thread; who comes beyond is answered at once
_LEAST_BETWEEN_S = 0.1
_HEARTBEAT_S = 1.0
_MOST_WAIT_S = 30.0


def blueprint(board: Board) -> Blueprint:
    """Returns the endpoints meta, health, problems, events, changes, runs and tags."""
    panel = Blueprint("overview", __name__)
    scanner = scanner_name()
    boot = secrets.token_hex(8)
    changed = ChangedSince(board, boot)
    streams = threading.BoundedSemaphore(_MOST_STREAMS)
    waiters = threading.BoundedSemaphore(_MOST_WAITERS)

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
                "boot": boot,
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
        mark = f"{boot}.{board.index.problems.rev}"  # first: newer ones are told again
        if request.args.get("since") == mark:
            return reply_json(board, {"problems": None, "mark": mark})
        found = [problem_document(problem) for problem in board.index.problems.list()]
        return reply_json(board, {"problems": found, "mark": mark})

    @panel.get("/runs")
    def runs() -> Response:
        new = changed.runs(request.args.get("since"))
        document = {"runs": new.runs, "gone": new.gone, "mark": new.mark, "whole": new.whole}
        return reply_json(board, document)

    @panel.get("/tags")
    def tags() -> Response:
        new = changed.series(request.args.get("since"))
        gone = {"tag": [tag for tag, _ in new.gone], "run": [run for _, run in new.gone]}
        document = {"tags": new.tags, "series": columns_of(new.rows), "gone": gone}
        return reply_json(board, {**document, "mark": new.mark, "whole": new.whole})

    @panel.get("/changes")
    def changes() -> Response:
        since = int_argument("since", 0, -1)
        wait = min(max(float_argument("wait", 25.0) or 0.0, 0.0), _MOST_WAIT_S)
        other = request.args.get("boot", boot) != boot or since > board.index.rev
        # Too many that wait would hold every thread of the server.
        if other or wait == 0 or not waiters.acquire(blocking=False):
            return reply_json(board, news(board, boot))
        try:
            board.index.wait(since, wait)
        finally:
            waiters.release()
        return reply_json(board, news(board, boot))

    @panel.get("/events")
    def events() -> Response:
        if request.method == "HEAD":
            return Response(content_type="text/event-stream")
        if not streams.acquire(blocking=False):
            return reply_json(
                board, {"error": "too many pages follow the events; ask /changes instead"}, 503
            )
        return _stream(board, boot, streams)

    return panel


def news(board: Board, boot: str) -> dict[str, Any]:
    """Returns what the page needs to know to decide what to ask for again.

    Args:
      boot: names this process; ids are its own.
    """
    rev = board.index.rev  # first: what is newer than it says is told again with the next news
    totals = board.index.totals()
    progress = board.progress()
    return {
        "rev": rev,
        "boot": boot,
        "runs": totals.runs,
        "tags": totals.series,
        "points": totals.points + totals.blobs,
        "problems": len(board.index.problems.list()),
        "loading": progress.loading,
        "files": progress.files,
        "bytes_done": progress.bytes_done,
        "bytes_total": progress.bytes_total,
    }


def columns_of(rows: list[tuple[int, int, tuple[Any, ...]]]) -> dict[str, list[Any]]:
    """Returns rows of (tag, run, figures) as columns."""
    columns: dict[str, list[Any]] = {name: [] for name in ("tag", "run", *ScalarStatistics._fields)}
    for tag, run, figures in rows:
        columns["tag"].append(tag)
        columns["run"].append(run)
        for name, value in zip(ScalarStatistics._fields, figures):
            columns[name].append(value)
    return columns


def memory_bytes() -> int:
    """Returns the resident memory of this process; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _stream(board: Board, boot: str, streams: threading.BoundedSemaphore) -> Response:
    released = threading.Lock()  # close may come twice, and without a first step

    def release() -> None:
        if released.acquire(blocking=False):
            streams.release()

    def lines() -> Iterator[bytes]:
        told: dict[str, Any] = {"rev": -1}
        while not board.index.closed:
            board.index.wait(told["rev"], _HEARTBEAT_S)
            new = news(board, boot)
            # Reading may end without a change of the store.
            if new != told:
                told = new
                yield f"data: {dump_json(new)}\n\n".encode()
                time.sleep(_LEAST_BETWEEN_S)
            else:
                # A page that is gone shows only when something is written to it.
                yield b": still here\n\n"

    response = Response(lines(), content_type="text/event-stream")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    response.call_on_close(release)
    return response

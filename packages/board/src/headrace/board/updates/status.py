"""The state of a board in a few numbers, and the stream that sends them when they change."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import Any

from flask import Response

from headrace.board.board import Board
from headrace.board.web.json_text import dump_json

_MIN_INTERVAL_S = 0.1
_HEARTBEAT_S = 1.0


def status_document(board: Board, boot: str) -> dict[str, Any]:
    """Returns what a page needs to decide which data to request again.

    Args:
      boot: identifies this process, to which all ids belong.
    """
    rev = board.index.rev  # read first: later changes then have a greater revision
    totals = board.index.totals()
    progress = board.progress()
    return {
        "rev": rev,
        "boot": boot,
        "runs": totals.runs,
        "tags": totals.series,
        "points": totals.points + totals.blobs,
        "traces": board.index.trace_files.version,
        "problems": len(board.index.problems.list()),
        "loading": progress.loading,
        "files": progress.files,
        "bytes_done": progress.bytes_done,
        "bytes_total": progress.bytes_total,
    }


def event_stream(board: Board, boot: str, streams: threading.BoundedSemaphore) -> Response:
    """Returns server-sent events: the status, each time that it changes.

    Args:
      streams: limits the number of open streams; released when this one closes.
    """
    released = threading.Lock()  # close may be called twice, or before the first event

    def release() -> None:
        if released.acquire(blocking=False):
            streams.release()

    def lines() -> Iterator[bytes]:
        last: dict[str, Any] = {"rev": -1}
        while not board.index.closed:
            board.index.wait(last["rev"], _HEARTBEAT_S)
            status = status_document(board, boot)
            # The end of loading changes the status without a new revision.
            if status != last:
                last = status
                yield f"data: {dump_json(status)}\n\n".encode()
                time.sleep(_MIN_INTERVAL_S)
            else:
                # Only a write shows that the page has closed the connection.
                yield b": still here\n\n"

    response = Response(lines(), content_type="text/event-stream")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    response.call_on_close(release)
    return response


def memory_bytes() -> int:
    """Returns the resident memory of this process; 0 where the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0

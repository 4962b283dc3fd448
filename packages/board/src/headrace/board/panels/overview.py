"""Runs, tags, problems, progress and changes: GET /meta, /health, /problems, /runs and others."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from importlib.metadata import version

from flask import Response, request

from headrace.board.board import Board
from headrace.board.reading.scanner import MANY_SERIES, release_memory, scanner_name
from headrace.board.updates.changes_since import ChangesSince
from headrace.board.updates.json_rows import problem_row, tag_row
from headrace.board.updates.series_columns import compact_columns
from headrace.board.updates.status import event_stream, memory_bytes, status_document
from headrace.board.web.columns import MEDIA_TYPE
from headrace.board.web.panel import Panel, Route
from headrace.board.web.query_arguments import float_argument, int_argument
from headrace.board.web.responses import columns_response, json_response

_MAX_STREAMS = 8  # each occupies a thread of the server; further pages poll /changes
_MAX_WAITERS = 8  # requests of /changes that wait; each occupies a thread, further ones do not wait
_MAX_WAIT_S = 30.0


class OverviewPanel(Panel):
    """Serves what every page needs first, and the changes that it follows."""

    name = "overview"

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self._scanner = scanner_name()
        self._boot = secrets.token_hex(8)
        self._changes = ChangesSince(board, self._boot)
        self._streams = threading.BoundedSemaphore(_MAX_STREAMS)
        self._waiters = threading.BoundedSemaphore(_MAX_WAITERS)

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/meta", self.meta),
            Route("GET", "/health", self.health),
            Route("GET", "/problems", self.problems),
            Route("GET", "/runs", self.runs),
            Route("GET", "/tags", self.tags),
            Route("GET", "/changes", self.changes),
            Route("GET", "/events", self.events),
        )

    def meta(self) -> Response:
        """Returns what the board is and which process serves it."""
        board = self.board
        return json_response(
            board,
            {
                "version": version("headrace-board"),
                "logdir": board.name,
                "title": board.title,
                "read_only": board.state_is_read_only,
                "token_needed": board.token_needed,
                "boot": self._boot,
            },
        )

    def health(self) -> Response:
        """Returns how far reading is and what the store holds."""
        progress = self.board.progress()
        totals = self.board.index.totals()
        return json_response(
            self.board,
            {
                "files": progress.files,
                "bytes_done": progress.bytes_done,
                "bytes_total": progress.bytes_total,
                "loading": progress.loading,
                "scanner": self._scanner,
                "memory_bytes": memory_bytes(),
                "series": totals.series,
                "points": totals.points,
                "blobs": totals.blobs,
            },
        )

    def problems(self) -> Response:
        """Returns all problems; null if they are as they were at the mark `since`."""
        problems = self.board.index.problems
        mark = f"{self._boot}.{problems.rev}"  # read first: later problems are sent again
        if request.args.get("since") == mark:
            return json_response(self.board, {"problems": None, "mark": mark})
        found = [problem_row(problem) for problem in problems.list()]
        return json_response(self.board, {"problems": found, "mark": mark})

    def runs(self) -> Response:
        """Returns the runs that changed since a mark."""
        new = self._changes.runs(request.args.get("since"))
        document = {"runs": new.runs, "gone": new.gone, "mark": new.mark, "whole": new.whole}
        return json_response(self.board, document)

    def tags(self) -> Response:
        """Returns the tags and series that changed since a mark: JSON, or columns on request."""
        new = self._changes.series(request.args.get("since"))
        gone = {"tag": [tag for tag, _ in new.gone], "run": [run for _, run in new.gone]}
        document = {"gone": gone, "mark": new.mark, "whole": new.whole}
        if request.accept_mimetypes.best == MEDIA_TYPE:
            header, columns = compact_columns(new.tags, new.figures.columns)
            response = columns_response(self.board, {**document, **header}, columns, compress=True)
        else:
            tags = [tag_row(tag) for tag in new.tags]
            lists = new.figures.as_lists()
            response = json_response(self.board, {"tags": tags, "series": lists, **document})
        if len(new.figures.series) >= MANY_SERIES:
            response.call_on_close(release_memory)
        return response

    def changes(self) -> Response:
        """Returns the status, once the revision is above `since` or `wait` seconds have passed."""
        since = int_argument("since", 0, -1)
        wait = min(max(float_argument("wait", 25.0) or 0.0, 0.0), _MAX_WAIT_S)
        boot = request.args.get("boot", self._boot)
        foreign = boot != self._boot or since > self.board.index.rev
        # Without a limit, waiting requests could occupy every thread of the server.
        if not foreign and wait and self._waiters.acquire(blocking=False):
            try:
                self.board.index.wait(since, wait)
            finally:
                self._waiters.release()
        return json_response(self.board, status_document(self.board, self._boot))

    def events(self) -> Response:
        """Returns a stream of the status."""
        if request.method == "HEAD":
            return Response(content_type="text/event-stream")
        if not self._streams.acquire(blocking=False):
            message = "too many pages follow the events; request /changes instead"
            return json_response(self.board, {"error": message}, 503)
        return event_stream(self.board, self._boot, self._streams)

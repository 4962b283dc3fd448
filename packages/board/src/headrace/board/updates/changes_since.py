"""Which runs, tags and series have changed since a client's last request."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from headrace.board.board import Board
from headrace.board.store.run import Run, Tag
from headrace.board.updates.json_rows import run_row, series_figures, tag_row


class NewRuns(NamedTuple):
    """Rows of changed runs, ids of removed runs, and the mark for the next request."""

    runs: list[dict[str, Any]]
    gone: list[int]
    mark: str
    whole: bool


class NewSeries(NamedTuple):
    """(tag, run, figures) of changed series, (tag, run) of empty ones, new tags, and the mark."""

    rows: list[tuple[int, int, tuple[Any, ...]]]
    gone: list[tuple[int, int]]
    tags: list[dict[str, Any]]
    mark: str
    whole: bool


class _KnownRun:
    """The state of a run at the last comparison, and the comparison at which each part changed."""

    __slots__ = ("run", "seen", "changed_at", "versions", "series_changed_at", "newest")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.seen: tuple[Any, ...] = ()
        self.changed_at = 0
        self.versions: dict[int, int] = {}
        self.series_changed_at: dict[int, int] = {}
        self.newest = 0  # the greatest of series_changed_at


class _KnownTag(NamedTuple):
    """The texts of a tag, and the comparison that first saw them."""

    tag: Tag
    words: tuple[str, str, str]
    changed_at: int


class ChangesSince:
    """Compares the store with its state at the last comparison, and numbers the comparisons.

    A mark names a comparison of this process. A client without a mark, or with a mark of another
    process, gets everything. Versions are read before values, so a value may be sent twice but is
    never missed.

    Args:
      board: the board whose store is compared.
      boot: identifies this process in marks.
    """

    def __init__(self, board: Board, boot: str) -> None:
        self._board = board
        self._boot = boot
        self._lock = threading.Lock()
        self._looks = 0
        self._known: dict[int, _KnownRun] = {}
        self._gone: dict[int, int] = {}  # removed run: the comparison that missed it
        self._tags: dict[int, _KnownTag] = {}

    def runs(self, mark: str | None) -> NewRuns:
        """Returns the runs that changed since a mark, by name."""
        counts = self._board.index.problems.count_by_run()
        with self._lock:
            self._look(counts)
            since = self._number(mark)
            changed = [known.run for known in self._known.values() if known.changed_at > since]
            gone = [run for run, look in self._gone.items() if look > since]
            mark = self._mark()
        changed.sort(key=lambda run: run.name)
        documents = [run_row(run, counts.get(run.id, 0)) for run in changed]
        return NewRuns(documents, gone, mark, since < 0)

    def series(self, mark: str | None) -> NewSeries:
        """Returns the series that changed since a mark, by run and then by tag."""
        with self._lock:
            self._look(self._board.index.problems.count_by_run())
            since = self._number(mark)
            changed = [
                (known.run, tag)
                for known in sorted(self._known.values(), key=lambda known: known.run.name)
                if known.newest > since
                for tag, look in sorted(known.series_changed_at.items())
                if look > since
            ]
            tags = [known.tag for known in self._tags.values() if known.changed_at > since]
            mark = self._mark()
        rows = []
        gone = []
        for run, tag in changed:
            series = run.series.get(tag)
            figures = None if series is None else series_figures(series)
            if figures is None:
                gone.append((tag, run.id))
            else:
                rows.append((tag, run.id, figures))
        if since < 0:
            gone = []
            used = {tag for tag, _, _ in rows}
            tags = [tag for tag in tags if tag.id in used]
        tags.sort(key=lambda tag: tag.id)
        return NewSeries(rows, gone, [tag_row(tag) for tag in tags], mark, since < 0)

    def _mark(self) -> str:
        return f"{self._boot}.{self._looks}"

    def _number(self, mark: str | None) -> int:
        boot, _, number = (mark or "").rpartition(".")
        if boot != self._boot or not (number.isascii() and number.isdigit()):
            return -1
        # A greater number cannot come from this process.
        return int(number) if len(number) < 16 and int(number) <= self._looks else -1

    def _look(self, problems: dict[int, int]) -> None:
        look = self._looks + 1
        changed = False
        there = self._board.index.runs()
        for run in there:
            known = self._known.get(run.id)
            if known is None:
                known = self._known[run.id] = _KnownRun(run)
            grown = False
            for tag, series in tuple(run.series.items()):
                if known.versions.get(tag) != series.version:
                    known.versions[tag] = series.version
                    known.series_changed_at[tag] = known.newest = look
                    self._see_tag(series.tag, look)
                    grown = True
            # As text, because the NaN of a run without events is unequal to itself.
            seen = (repr(run.start), repr(run.last_wall), run.live, problems.get(run.id, 0))
            if grown or seen != known.seen:
                known.seen = seen
                known.changed_at = look
                changed = True
        if len(self._known) != len(there):
            ids = {run.id for run in there}
            for run_id in [run_id for run_id in self._known if run_id not in ids]:
                del self._known[run_id]
                self._gone[run_id] = look
                changed = True
        if changed:
            self._looks = look

    def _see_tag(self, tag: Tag, look: int) -> None:
        words = (tag.plugin, tag.display, tag.description)
        known = self._tags.get(tag.id)
        if known is None or known.words != words:
            self._tags[tag.id] = _KnownTag(tag, words, look)

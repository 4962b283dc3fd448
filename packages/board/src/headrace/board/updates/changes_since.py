"""Which runs, tags and series have changed since a client's last request."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.board.board import Board
from headrace.board.store.run import Run, Tag
from headrace.board.store.series import Series
from headrace.board.updates.json_rows import run_row
from headrace.board.updates.series_columns import SeriesColumns, series_columns


class NewRuns(NamedTuple):
    """Rows of changed runs, ids of removed runs, and the mark for the next request."""

    runs: list[dict[str, Any]]
    gone: list[int]
    mark: str
    whole: bool


class NewSeries(NamedTuple):
    """Figures of changed series, (tag, run) of those that are gone, new tags, and the mark."""

    figures: SeriesColumns
    gone: list[tuple[int, int]]
    tags: list[Tag]
    mark: str
    whole: bool


class _KnownRun:
    """The state of a run at the last comparison, and the number of its newest change."""

    __slots__ = ("run", "seen", "changed_at")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.seen: tuple[Any, ...] = ()
        self.changed_at = 0


class ChangesSince:
    """Finds what has changed by the numbers of changes: a mark is the number of the newest one.

    Each series has the number of its newest change, so nothing is kept of series here. What else a
    run has is compared with its state at the last request. A client without a mark, or with a mark
    of another process, gets everything. Numbers are read before values, so a value may be sent
    twice but is never missed.

    Args:
      board: the board whose store is compared.
      boot: identifies this process in marks.
    """

    def __init__(self, board: Board, boot: str) -> None:
        self._index = board.index
        self._boot = boot
        self._known: dict[int, _KnownRun] = {}
        self._gone: dict[int, int] = {}  # removed run: the number of that change

    def runs(self, mark: str | None) -> NewRuns:
        """Returns the runs that changed since a mark, by name."""
        counts = self._index.problems.count_by_run()
        with self._index.lock:
            self._look(counts)
            since = self._number(mark)
            changed = [known.run for known in self._known.values() if known.changed_at > since]
            gone = [run for run, number in self._gone.items() if number > since]
            mark = self._mark()
        changed.sort(key=lambda run: run.name)
        documents = [run_row(run, counts.get(run.id, 0)) for run in changed]
        return NewRuns(documents, gone, mark, since < 0)

    def series(self, mark: str | None) -> NewSeries:
        """Returns the series that changed since a mark, by run and then by tag."""
        counts = self._index.problems.count_by_run()
        changed: list[Series] = []
        gone: list[tuple[int, int]] = []
        with self._index.lock:
            self._look(counts)
            since = self._number(mark)
            for run in self._index.runs():
                if run.version > since:
                    of_run = [one for one in run.series.values() if one.version > since]
                    changed += sorted(of_run, key=lambda series: series.tag.id)
                    gone += [(tag, run.id) for tag, at in run.removed.items() if at > since]
            mark = self._mark()
        figures = series_columns(changed)
        tags = {one.tag.id: one.tag for one in figures.series if one.tag.version > since}
        ordered = [tags[tag] for tag in sorted(tags)]
        gone = [] if since < 0 else gone + figures.gone
        return NewSeries(figures, gone, ordered, mark, since < 0)

    def _mark(self) -> str:
        return f"{self._boot}.{self._index.versions.last}"

    def _number(self, mark: str | None) -> int:
        boot, _, number = (mark or "").rpartition(".")
        if boot != self._boot or not (number.isascii() and number.isdigit()):
            return -1
        # A greater number cannot come from this process.
        last = self._index.versions.last
        return int(number) if len(number) < 16 and int(number) <= last else -1

    def _look(self, problems: dict[int, int]) -> None:
        """Finds the runs that changed; its caller holds the lock of the store."""
        there = self._index.runs()
        for run in there:
            known = self._known.get(run.id)
            if known is None:
                known = self._known[run.id] = _KnownRun(run)
            known.changed_at = max(known.changed_at, run.version)
            # As text, because the NaN of a run without events is unequal to itself.
            seen = (repr(run.start), repr(run.last_wall), run.live, problems.get(run.id, 0))
            if seen != known.seen:
                known.seen = seen
                known.changed_at = self._index.versions.next()
        if len(self._known) != len(there):
            ids = {run.id for run in there}
            for run_id in [run_id for run_id in self._known if run_id not in ids]:
                del self._known[run_id]
                self._gone[run_id] = self._index.versions.next()

"""Histograms of several runs, read from the event files within a limit on memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.board.errors import BadRequest
from headrace.board.store.blob_series import BlobSeries
from headrace.board.summaries.histogram_buckets import Buckets, buckets_of
from headrace.board.summaries.series_rows import current_rows, evenly_spaced, values_of_rows

if TYPE_CHECKING:
    from headrace.board.board import Board

# Of all histograms of a response, 24 bytes each: a few bytes of a log may expand to 65,536 buckets.
_MAX_BUCKETS_HELD = 8_000_000


class Place(NamedTuple):
    """Where a histogram comes from: id of the run, row of the series, step and wall time."""

    run: int
    row: int
    step: int
    wall: float


class HistogramRows:
    """The histograms read so far, with their places and a summary of each run."""

    def __init__(self) -> None:
        self.histograms: list[Buckets] = []
        self.places: list[Place] = []
        self.runs: list[dict[str, int]] = []
        self._buckets = 0

    def read(
        self,
        board: Board,
        series: BlobSeries,
        limit: int,
        lo: int | None = None,
        hi: int | None = None,
        superseded: bool = False,
    ) -> None:
        """Adds at most `limit` evenly spaced histograms of a run.

        Args:
          lo, hi: the first and the last step.
          superseded: whether to include rows that a restart has superseded.
        Raises: BadRequest if all histograms together have more buckets than may be held.
        """
        rows = series.rows()
        found = current_rows(rows, lo, hi, superseded)
        before = len(self.histograms)
        unreadable = 0
        for row, value in values_of_rows(board, rows, evenly_spaced(found, limit)):
            histogram = None if value is None else buckets_of(value)
            if histogram is None:
                unreadable += 1
                continue
            self._buckets += len(histogram.left)
            if self._buckets > _MAX_BUCKETS_HELD:
                raise BadRequest(
                    f"the histograms have more than {_MAX_BUCKETS_HELD:,} buckets: request fewer"
                    " rows (max) or runs"
                )
            self.histograms.append(histogram)
            self.places.append(
                Place(series.run.id, row, int(rows.step[row]), float(rows.wall[row]))
            )
        self.runs.append(
            {
                "run": series.run.id,
                "rows": len(self.histograms) - before,
                "total": len(found),
                "unreadable": unreadable,
            }
        )

"""Series of scalars, with all of their points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headrace.board.store.few_rows import RowFormat
from headrace.board.store.run import Run, Tag
from headrace.board.store.series import Series

_F32, _F64, _I64 = np.dtype("f4"), np.dtype("f8"), np.dtype("i8")
_VALUE = 2


@dataclass(frozen=True, slots=True, eq=False)
class ScalarColumns:
    """A snapshot of all points of a series, in order of file; read-only.

    step: [n] i64; wall: [n] f64, seconds since 1970; value: [n] f32, or f64 if a point needs it.
    segment: [n] i32, number of restarts before; superseded: [n] bool, superseded by a restart.
    """

    step: np.ndarray
    wall: np.ndarray
    value: np.ndarray
    segment: np.ndarray
    superseded: np.ndarray
    segments: int

    def __len__(self) -> int:
        return len(self.step)


class ScalarStatistics(NamedTuple):
    """Figures of the points that no restart has superseded; min and max ignore NaN."""

    n: int
    first_step: int
    last_step: int
    first_wall: float
    last_wall: float
    last: float
    min: float
    max: float
    nan: int


class ScalarSeries(Series):
    """The curve of one tag in one run."""

    __slots__ = ("_statistics",)
    format = RowFormat(_I64, _F64, _F32)

    def __init__(self, run: Run, tag: Tag) -> None:
        super().__init__(run, tag)
        # (version, drops, figures, whether of all points)
        self._statistics: tuple[int, int, ScalarStatistics, bool] | None = None

    def add_points(
        self,
        file: int,
        order: str,
        rows: tuple[np.ndarray, ...],
        wide: bool,
        starts: list[tuple[int, int]],
        rising: bool | None = None,
        last_wall: float | None = None,
    ) -> None:
        """Appends points of a file.

        Args:
          file, order: number of the file, and its place among the files of the run.
          rows: columns step, wall, value.
          wide: whether the values need float64.
          starts, rising, last_wall: as for `Series.append`.
        """
        if wide:
            # Few rows are packed as float32.
            columns = self._all_columns()
            if columns.columns.dtype(_VALUE) == _F32:
                columns.widen(_VALUE, _F64)
        elif rows[_VALUE].dtype != _F32 and self._value_dtype() == _F32:
            with np.errstate(over="ignore", invalid="ignore"):
                rows = (*rows[:_VALUE], rows[_VALUE].astype(_F32))
        self.append(file, order, rows, starts, rising, last_wall)

    def columns(self) -> ScalarColumns:
        """Returns a snapshot of all points, without copying them."""
        (step, wall, value), restarts = self._snapshot()
        return ScalarColumns(
            step, wall, value, restarts.segment, restarts.superseded, restarts.segments
        )

    def only_row(self) -> bytes:
        """Returns the packed row of a series of one point; b"" for any other."""
        rows = self._rows
        alone = isinstance(rows, bytes) and len(rows) == self.format.record.itemsize
        return rows if alone else b""  # type: ignore[return-value]

    def statistics(self) -> ScalarStatistics:
        """Returns the figures for the run table; incremental, so only new points are read."""
        version, rows = self.version, self._rows
        if isinstance(rows, bytes):
            return _figures_of_few([*self.format.unpacked.iter_unpack(rows)])
        drops = rows.drops
        kept = self._statistics
        if kept is not None and kept[:2] == (version, drops):
            return kept[2]
        points = self.columns()
        if points.segments > 1:
            live = ~points.superseded
            figures = _figures(points.step[live], points.wall[live], points.value[live], 0)
        else:
            # If no rows were dropped, new points only follow those of the last figures.
            known = kept[2] if kept is not None and kept[1] == drops == rows.drops else None
            since = known.n if known is not None and kept is not None and kept[3] else 0
            figures = _figures(points.step, points.wall, points.value, since)
            if known is not None and since:
                figures = _joined(known, figures) if figures.n else known
        self._statistics = (version, drops, figures, points.segments == 1)
        return figures

    def _value_dtype(self) -> np.dtype:
        rows = self._rows
        return _F32 if isinstance(rows, bytes) else rows.columns.dtype(_VALUE)

    def _count(self, added: int) -> None:
        self.run.points += added


def _figures_of_few(rows: list[tuple[int, float, float]]) -> ScalarStatistics:
    """Returns what `_figures` does, for rows of step, wall and value."""
    nan = float("nan")
    if not rows:
        return ScalarStatistics(0, 0, 0, nan, nan, nan, nan, nan, 0)
    first_step, first_wall, value = rows[0]
    if len(rows) == 1:
        missing = value != value
        return ScalarStatistics(
            1, first_step, first_step, first_wall, first_wall, value, value, value, int(missing)
        )
    last_step, last_wall, last = rows[-1]
    present = [value for _, _, value in rows if value == value]
    return ScalarStatistics(
        len(rows),
        first_step,
        last_step,
        first_wall,
        last_wall,
        last,
        min(present, default=nan),
        max(present, default=nan),
        len(rows) - len(present),
    )


def _figures(step: np.ndarray, wall: np.ndarray, value: np.ndarray, since: int) -> ScalarStatistics:
    new = value[since:]
    if not len(new):
        nan = float("nan")
        return ScalarStatistics(0, 0, 0, nan, nan, nan, nan, nan, 0)
    missing = np.isnan(new)
    count = int(np.count_nonzero(missing))
    present = new[~missing] if count else new
    return ScalarStatistics(
        len(new),
        int(step[since]),
        int(step[-1]),
        float(wall[since]),
        float(wall[-1]),
        float(new[-1]),
        float(present.min()) if len(present) else float("nan"),
        float(present.max()) if len(present) else float("nan"),
        count,
    )


def _joined(old: ScalarStatistics, new: ScalarStatistics) -> ScalarStatistics:
    return ScalarStatistics(
        old.n + new.n,
        old.first_step,
        new.last_step,
        old.first_wall,
        new.last_wall,
        new.last,
        # fmin and fmax ignore NaN, which stands for no value yet.
        float(np.fmin(old.min, new.min)),
        float(np.fmax(old.max, new.max)),
        old.nan + new.nan,
    )

"""The series and tags of a reply as columns: their figures, and their texts, each text once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.board.store.run import Tag
from headrace.board.store.scalar_series import ScalarSeries, ScalarStatistics
from headrace.board.store.series import Series
from headrace.board.updates.json_rows import series_figures
from headrace.board.web.columns import smallest_dtype

_INTEGERS = ("n", "first_step", "last_step", "nan")
_VALUES = ("last", "min", "max")  # of scalars alone
_EQUAL = (
    ("last_step", "first_step"),
    ("last_wall", "first_wall"),
    ("min", "last"),
    ("max", "last"),
)
_TEXTS = ("kind", "plugin", "display", "description")


@dataclass(frozen=True, slots=True, eq=False)
class SeriesColumns:
    """Figures of series, by name; `valued` says which are scalars, and so have values."""

    series: list[Series]
    gone: list[tuple[int, int]]  # (tag, run) of series without rows
    columns: dict[str, np.ndarray]
    valued: np.ndarray

    def as_lists(self) -> dict[str, list[Any]]:
        """Returns the columns for JSON, with null where there are no values."""
        lists: dict[str, list[Any]] = {name: c.tolist() for name, c in self.columns.items()}
        for i in np.flatnonzero(~self.valued).tolist():
            for name in _VALUES:
                lists[name][i] = None
        return lists


def series_columns(changed: Sequence[Series]) -> SeriesColumns:
    """Returns the figures of series; vectorized over those of one point."""
    present: list[Series] = []
    gone: list[tuple[int, int]] = []
    single: list[bytes] = []
    single_at: list[int] = []
    figures: list[tuple[Any, ...]] = []
    figures_at: list[int] = []
    for series in changed:
        row = series.only_row() if isinstance(series, ScalarSeries) else b""
        if row:
            single.append(row)
            single_at.append(len(present))
        else:
            found = series_figures(series)
            if found is None:
                gone.append((series.tag.id, series.run.id))
                continue
            figures.append(found)
            figures_at.append(len(present))
        present.append(series)
    count = len(present)
    columns: dict[str, np.ndarray] = {
        "tag": np.fromiter((series.tag.id for series in present), np.int64, count),
        "run": np.fromiter((series.run.id for series in present), np.int64, count),
    }
    rows = np.frombuffer(b"".join(single), ScalarSeries.format.record)
    step, wall, value = (rows[name] for name in ScalarSeries.format.record.names or ())
    of_single = {
        "n": 1,
        "first_step": step,
        "last_step": step,
        "first_wall": wall,
        "last_wall": wall,
        "last": value,
        "min": value,
        "max": value,
        "nan": np.isnan(value),
    }
    for k, name in enumerate(ScalarStatistics._fields):
        column = np.empty(count, np.int64 if name in _INTEGERS else np.float64)
        column[single_at] = of_single[name]
        # None, of series without values, becomes NaN.
        column[figures_at] = np.array([one[k] for one in figures], column.dtype)
        columns[name] = column
    valued = np.fromiter((isinstance(one, ScalarSeries) for one in present), np.bool_, count)
    return SeriesColumns(present, gone, columns, valued)


def compact_columns(
    tags: Sequence[Tag], columns: Mapping[str, np.ndarray]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Returns header and columns of a reply: names of tags, and numbers of their other texts."""
    texts: dict[str, int] = {"": 0}
    header: dict[str, Any] = {"names": [tag.name for tag in tags]}
    found = {"tag_id": _integers(tag.id for tag in tags)}
    for what in _TEXTS:
        numbers = (texts.setdefault(getattr(tag, what), len(texts)) for tag in tags)
        found[f"tag_{what}"] = _integers(numbers)
    header["texts"] = [*texts]
    for name, column in columns.items():
        found[name] = smallest_dtype(column) if column.dtype.kind == "i" else column
    # Of series of one point, these are equal; columns of one array are sent once.
    for name, same in _EQUAL:
        if np.array_equal(columns[name], columns[same], equal_nan=True):
            found[name] = found[same]
    return header, found


def _integers(numbers: Iterable[int]) -> np.ndarray:
    return smallest_dtype(np.fromiter(numbers, np.int64))

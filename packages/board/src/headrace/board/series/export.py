"""Exports all points of scalars as streamed CSV or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from headrace.board.store.scalar_series import ScalarColumns

_ROWS = 1 << 14
# Characters with which a formula starts in a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Selection:
    """Which points of a series to export.

    Args:
      lo, hi: first and last step; None: all.
      superseded: whether to include points that a restart has superseded.
    """

    lo: int | None = None
    hi: int | None = None
    superseded: bool = False

    def rows(self, columns: ScalarColumns) -> np.ndarray | slice:
        keep = None
        if not self.superseded and columns.segments > 1:
            keep = ~columns.superseded
        for bound, is_lower in ((self.lo, True), (self.hi, False)):
            if bound is not None:
                inside = columns.step >= bound if is_lower else columns.step <= bound
                keep = inside if keep is None else keep & inside
        return slice(None) if keep is None else np.flatnonzero(keep)


def csv_rows(series: Iterable[Any], selection: Selection) -> Iterator[str]:
    """Yields pieces of a CSV file (RFC 4180) with the columns run, tag, step, wall_time, value.

    Numbers are written so that they are read back as the same doubles. A name that a spreadsheet
    would take for a formula gets an apostrophe.

    Args:
      series: ScalarSeries.
      selection: which points; with superseded ones there is a sixth column, superseded.
    """
    extra = ",superseded" if selection.superseded else ""
    yield f"run,tag,step,wall_time,value{extra}\r\n"
    for one in series:
        names = f"{csv_cell(one.run.name)},{csv_cell(one.tag.name)},"
        for columns in _pieces(one.columns(), selection):
            step, wall, value, superseded = columns
            values = map(repr, value.tolist())
            if not np.isfinite(value).all():
                values = map(_number_text, value.tolist())
            rows = zip(step.tolist(), wall.tolist(), values)
            if selection.superseded:
                marks = superseded.astype(int).tolist()
                yield "".join([
                    f"{names}{s},{w!r},{v},{mark}\r\n" for (s, w, v), mark in zip(rows, marks)
                ])  # fmt: skip
            else:
                yield "".join([f"{names}{s},{w!r},{v}\r\n" for s, w, v in rows])


def json_pieces(series: Iterable[Any], selection: Selection) -> Iterator[str]:
    """Yields pieces of a JSON list: {run, tag, step: [..], wall_time: [..], value: [..]} each.

    NaN and the infinities are the strings "NaN", "Infinity" and "-Infinity".
    """
    yield "["
    separator = "\n"
    for one in series:
        head = json.dumps({"run": one.run.name, "tag": one.tag.name})[:-1]
        yield f"{separator}{head}"
        columns = one.columns()
        names = ["step", "wall_time", "value"] + ["superseded"] * selection.superseded
        for k, name in enumerate(names):
            yield f', "{name}": ['
            comma = ""
            for piece in _pieces(columns, selection):
                yield comma + _json_numbers(piece[k])
                comma = ", "
            yield "]"
        yield "}"
        separator = ",\n"
    yield "\n]\n"


def csv_cell(text: str) -> str:
    """Returns a text as a CSV cell that no spreadsheet treats as a formula.

    >>> csv_cell("loss"), csv_cell("a,b"), csv_cell("=1+1")
    ('loss', '"a,b"', '"\\'=1+1"')
    """
    dangerous = text.startswith(_FORMULA)
    if dangerous:
        text = "'" + text
    if dangerous or any(c in text for c in ',"\r\n') or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def _pieces(columns: ScalarColumns, selection: Selection) -> Iterator[tuple[np.ndarray, ...]]:
    rows = selection.rows(columns)
    all_of = (columns.step, columns.wall, columns.value, columns.superseded)
    n = len(columns) if isinstance(rows, slice) else len(rows)
    for begin in range(0, n, _ROWS):
        part = slice(begin, begin + _ROWS)
        pick = part if isinstance(rows, slice) else rows[part]
        yield tuple(column[pick] for column in all_of)


def _json_numbers(column: np.ndarray) -> str:
    if column.dtype == np.bool_:
        return ", ".join(map(str, column.astype(int).tolist()))
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        texts = map(_number_text, column.tolist())
        return ", ".join(f'"{t}"' if t[-1] in "Ny" else t for t in texts)
    return ", ".join(map(repr, column.tolist()))


def _number_text(value: float) -> str:
    if value != value:
        return "NaN"
    if value in (np.inf, -np.inf):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)

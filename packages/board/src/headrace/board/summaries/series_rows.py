"""Rows of a series whose values stay in the event files: which to read, and their values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.board.errors import BadRequest, NotFound
from headrace.board.store.blob_series import BlobRows, BlobSeries
from headrace.board.web.query_arguments import int_argument
from headrace.formats.errors import DataLossError

if TYPE_CHECKING:
    from headrace.board.board import Board


def requested_series(board: Board, *kinds: str) -> BlobSeries:
    """Returns the series that the arguments `run` and `tag` name. Raises: BadRequest; NotFound."""
    return series_of_kinds(board, int_argument("run"), int_argument("tag"), kinds)


def series_of_kinds(board: Board, run: int, tag: int, kinds: tuple[str, ...]) -> BlobSeries:
    """Returns a series whose kind is one of `kinds`. Raises: BadRequest; NotFound."""
    try:
        found = board.index.series(run, tag)
    except KeyError:
        raise NotFound(f"run {run} has no tag {tag}") from None
    if not isinstance(found, BlobSeries) or found.tag.kind not in kinds:
        raise BadRequest(f"tag {tag} is of kind {found.tag.kind}, not {' or '.join(kinds)}")
    return found


def requested_row(rows: BlobRows) -> int:
    """Returns the argument `row`, by default the last row. Raises: BadRequest; NotFound."""
    row = int_argument("row", max(0, len(rows) - 1))
    if row >= len(rows):
        raise NotFound(f"there is no row {row}: the tag has {len(rows)}")
    return row


def value_of_row(board: Board, rows: BlobRows, row: int) -> Any:
    """Returns the Summary.Value of a row. Raises: NotFound if the file no longer has it."""
    try:
        return board.records.value(rows, row)
    except DataLossError as error:
        raise NotFound(str(error)) from None


def values_of_rows(
    board: Board, rows: BlobRows, chosen: np.ndarray
) -> Iterator[tuple[int, Any | None]]:
    """Yields rows with their values; the value is None where the file no longer has it."""
    for row in chosen.tolist():
        try:
            yield row, board.records.value(rows, row)
        except DataLossError:
            yield row, None


def current_rows(
    rows: BlobRows, lo: int | None = None, hi: int | None = None, superseded: bool = False
) -> np.ndarray:
    """Returns the indices of rows in order of step, within the steps lo to hi.

    Args:
      superseded: whether to include rows that a restart has superseded.
    """
    keep = np.ones(len(rows), bool) if superseded else ~np.asarray(rows.superseded, bool)
    if lo is not None:
        keep &= rows.step >= lo
    if hi is not None:
        keep &= rows.step <= hi
    found = np.flatnonzero(keep)
    steps = rows.step[found]
    if len(found) > 1 and (steps[1:] < steps[:-1]).any():
        found = found[np.argsort(steps, kind="stable")]
    return found


def evenly_spaced(rows: np.ndarray, limit: int) -> np.ndarray:
    """Returns at most `limit` of the rows, evenly spaced, including the first and the last."""
    if len(rows) <= limit:
        return rows
    if limit == 1:
        return rows[-1:]
    return rows[np.linspace(0, len(rows) - 1, limit).round().astype(np.intp)]

"""Tables of a PR curve: counts, precision and recall by threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.board.summaries.series_rows import evenly_spaced, values_of_rows
from headrace.formats.errors import OpError
from headrace.formats.tensor_codec import make_ndarray

if TYPE_CHECKING:
    from headrace.board.board import Board
    from headrace.board.store.blob_series import BlobRows

_MAX_THRESHOLDS = 10_000
_MAX_NUMBERS = 4_000_000  # in one response: 32 MB


def pr_tables(
    board: Board, rows: BlobRows, candidates: np.ndarray, limit: int
) -> tuple[list[tuple[int, np.ndarray]], int]:
    """Returns evenly spaced rows with their tables, and how many rows could not be read.

    Args:
      candidates: row numbers to choose from.
      limit: maximum number of tables; fewer are returned if the tables are very large.
    """
    tables: list[tuple[int, np.ndarray]] = []
    unreadable = 0
    chosen = evenly_spaced(candidates, limit)
    for row, value in values_of_rows(board, rows, chosen):
        table = None if value is None else pr_table(value)
        # All tables of a response have the number of thresholds of the first one.
        if table is None or (tables and table.shape != tables[0][1].shape):
            unreadable += 1
            continue
        if not tables and len(chosen) * table.size > _MAX_NUMBERS:
            fitting = max(1, _MAX_NUMBERS // table.size)
            if fitting < len(chosen):  # spread few large tables evenly instead of cutting the end
                return pr_tables(board, rows, candidates, fitting)
        tables.append((row, table))
    return tables, unreadable


def pr_table(value: Any) -> np.ndarray | None:
    """Returns [6, thresholds] float64 of a Summary.Value; None if it is not a PR curve."""
    if value.WhichOneof("value") != "tensor":
        return None
    try:
        table = make_ndarray(value.tensor, max_expanded_bytes=_MAX_THRESHOLDS * 48)
    except OpError:
        return None
    if table.ndim != 2 or table.shape[0] != 6 or table.dtype.kind not in "fiu":
        return None
    return table.astype(np.float64) if 0 < table.shape[1] <= _MAX_THRESHOLDS else None

"""Precision and recall over thresholds: GET /pr_curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from flask import Blueprint, Response

from headrace.board.summaries.series_rows import (
    asked_series,
    evenly_chosen,
    standing_rows,
    values_of_rows,
)
from headrace.board.web.responses import int_argument, reply_columns
from headrace.formats.errors import OpError
from headrace.formats.tensor_codec import make_ndarray

if TYPE_CHECKING:
    from headrace.board.board import Board
    from headrace.board.store.blob_series import BlobRows

_MOST_ROWS = 1000
_MOST_THRESHOLDS = 10_000
_MOST_NUMBERS = 4_000_000  # of a reply: 32 MB


def blueprint(board: Board) -> Blueprint:
    """Returns the endpoint."""
    panel = Blueprint("pr_curves", __name__)

    @panel.get("/pr_curves")
    def pr_curves() -> Response:
        rows = asked_series(board, "pr_curve").rows()
        most = int_argument("max", 200, 1, _MOST_ROWS)
        standing = standing_rows(rows, superseded=bool(int_argument("superseded", 0, 0, 1)))
        tables, unreadable = _tables(board, rows, standing, most)
        chosen = np.array([row for row, _ in tables], np.intp)
        return reply_columns(
            board,
            {
                "rows": len(tables),
                "thresholds": tables[0][1].shape[1] if tables else 0,
                "total": len(standing),
                "unreadable": unreadable,
            },
            {
                "row": chosen.astype(np.int32),
                "step": rows.step[chosen],
                "wall": rows.wall[chosen],
                "data": np.concatenate([t.reshape(-1) for _, t in tables])
                if tables
                else np.empty(0),
            },
        )

    return panel


def _tables(
    board: Board, rows: BlobRows, standing: np.ndarray, most: int
) -> tuple[list[tuple[int, np.ndarray]], int]:
    """Returns rows, evenly chosen, with their tables, and how many rows have none."""
    tables: list[tuple[int, np.ndarray]] = []
    unreadable = 0
    chosen = evenly_chosen(standing, most)
    for row, value in values_of_rows(board, rows, chosen):
        table = None if value is None else pr_table(value)
        # One reply has one count of thresholds: that of its first row.
        if table is None or (tables and table.shape != tables[0][1].shape):
            unreadable += 1
            continue
        if not tables and len(chosen) * table.size > _MOST_NUMBERS:
            fitting = max(1, _MOST_NUMBERS // table.size)
            if fitting < len(chosen):  # few large tables rather than the first ones
                return _tables(board, rows, standing, fitting)
        tables.append((row, table))
    return tables, unreadable


def pr_table(value: Any) -> np.ndarray | None:
    """Returns [6, thresholds] float64 of a Summary.Value; None if it is no such tensor."""
    if value.WhichOneof("value") != "tensor":
        return None
    try:
        table = make_ndarray(value.tensor, max_expanded_bytes=_MOST_THRESHOLDS * 48)
    except OpError:
        return None
    if table.ndim != 2 or table.shape[0] != 6 or table.dtype.kind not in "fiu":
        return None
    return table.astype(np.float64) if 0 < table.shape[1] <= _MOST_THRESHOLDS else None

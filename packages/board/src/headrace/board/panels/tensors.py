"""Values of plugins that the board has no page for: shape, dtype and the first elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from flask import Blueprint, Response

from headrace.board.board import Board
from headrace.board.summaries.series_rows import asked_row, value_of_row
from headrace.board.web.responses import NotFound, int_argument, reply_json
from headrace.board.store.blob_series import BlobSeries
from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import OpError
from headrace.formats.tensor_codec import MAX_RANK, make_ndarray

_ELEMENTS_SHOWN = 200
_TEXT_BYTES_SHOWN = 1024
_MAX_BYTES = 64 << 20


def blueprint(board: Board) -> Blueprint:
    """Returns the endpoint."""
    panel = Blueprint("tensors", __name__)

    @panel.get("/tensors")
    def tensors() -> Response:
        run, tag = int_argument("run"), int_argument("tag")
        try:
            series = board.index.series(run, tag)
        except KeyError:
            raise NotFound(f"run {run} has no tag {tag}") from None
        if not isinstance(series, BlobSeries) or series.tag.kind in ("graph", "run_metadata"):
            raise NotFound(f"tag {tag} has no tensors")
        rows = series.rows()
        row = asked_row(rows)
        value = value_of_row(board, rows, row)
        document = tensor_document(value.tensor) if value.HasField("tensor") else {"shape": None}
        return reply_json(
            board,
            {
                "row": row,
                "rows": len(rows),
                "step": int(rows.step[row]),
                "wall": float(rows.wall[row]),
                **document,
            },
        )

    return panel


def tensor_document(proto: Any) -> dict[str, Any]:
    """Returns what a page shows of a tensor, or why it cannot."""
    shape = [int(dim.size) for dim in proto.tensor_shape.dim[:MAX_RANK]]
    try:
        dtype = as_dtype(proto.dtype).name
    except (TypeError, ValueError, OpError):
        return {"shape": shape, "dtype": str(proto.dtype), "error": "an unknown element type"}
    document: dict[str, Any] = {"shape": shape, "dtype": dtype}
    try:
        array = make_ndarray(proto, max_expanded_bytes=_MAX_BYTES)
    except (OpError, TypeError, ValueError) as error:
        return {**document, "error": str(error)}
    first = array.reshape(-1)[:_ELEMENTS_SHOWN]
    document["size"] = int(array.size)
    document["values"] = [_element(element) for element in first]
    if array.size and array.dtype.kind in "fiub":
        document["min"], document["max"] = float(np.min(array)), float(np.max(array))
    return document


def _element(element: Any) -> Any:
    if isinstance(element, bytes):
        return element[:_TEXT_BYTES_SHOWN].decode("utf-8", "replace")
    if isinstance(element, (bool, np.bool_)):
        return bool(element)
    if isinstance(element, (int, np.integer)):
        return int(element)
    if isinstance(element, (complex, np.complexfloating)):
        return str(complex(element))
    try:
        return float(element)
    except (TypeError, ValueError):
        return str(element)[:_TEXT_BYTES_SHOWN]

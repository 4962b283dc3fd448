"""The binary response format: a JSON header, then typed columns (docs/board_api.md, Columns)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headrace.board.web.json_text import dump_json

MEDIA_TYPE = "application/x-board-columns"
_ALIGNMENT = 8
_DTYPE_NAMES = {
    np.dtype("<f8"): "f64",
    np.dtype("<f4"): "f32",
    np.dtype("<i8"): "i64",
    np.dtype("<i4"): "i32",
    np.dtype("<i2"): "i16",
    np.dtype("<u4"): "u32",
    np.dtype("<u2"): "u16",
    np.dtype("u1"): "u8",
}


def encode_columns(header: Mapping[str, Any], columns: Mapping[str, np.ndarray]) -> bytes:
    """Returns a response body in the columns format.

    Args:
      header: a JSON object; NaN and infinities become strings.
      columns: one-dimensional arrays by name; an array that has several names is sent once.
    Raises: TypeError for a dtype that the format does not have.
    """
    layout: list[dict[str, Any]] = []
    parts = []
    offset = 0
    places: dict[int, dict[str, Any]] = {}  # by identity of the array
    for name, given in columns.items():
        if id(given) in places:
            layout.append({**places[id(given)], "name": name})
            continue
        column = np.ascontiguousarray(given)
        dtype = column.dtype.newbyteorder("<")
        if dtype not in _DTYPE_NAMES:
            raise TypeError(f"column {name}: the format has no {column.dtype}")
        data = column.astype(dtype, copy=False).tobytes()
        padding = -len(data) % _ALIGNMENT
        place = {"dtype": _DTYPE_NAMES[dtype], "offset": offset, "length": len(column)}
        places[id(given)] = place
        layout.append({"name": name, **place})
        parts += [data, b"\0" * padding]
        offset += len(data) + padding
    text = dump_json({**header, "columns": layout}).encode()
    text += b" " * (-(4 + len(text)) % _ALIGNMENT)
    return b"".join([len(text).to_bytes(4, "little"), text, *parts])


def smallest_dtype(column: np.ndarray) -> np.ndarray:
    """Returns integers in the smallest unsigned dtype of the format that holds them all.

    Args:
      column: integers; negative ones and those of 2^32 and more become f64, exact up to 2^53.
    """
    least, most = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    if least >= 0:
        for dtype in (np.uint8, np.uint16, np.uint32):
            if most <= np.iinfo(dtype).max:
                return column.astype(dtype)
    return column.astype(np.float64)


def columns_as_json(header: Mapping[str, Any], columns: Mapping[str, np.ndarray]) -> str:
    """Returns the same response as JSON, for people and for scripts."""
    lists = {name: column.tolist() for name, column in columns.items()}
    return dump_json({**header, "columns": lists})

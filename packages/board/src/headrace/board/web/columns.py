"""The binary reply of the board: a JSON header, then typed columns (docs/board_api.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

MEDIA_TYPE = "application/x-board-columns"
_ALIGNMENT = 8
_NAMES = {
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
    """Returns the bytes of a reply.

    Args:
      header: what JSON can say; non-finite numbers become strings.
      columns: one-dimensional arrays by name.
    Raises: TypeError for a dtype that has no name in the format.
    """
    placed = []
    parts = []
    offset = 0
    for name, column in columns.items():
        column = np.ascontiguousarray(column)
        dtype = column.dtype.newbyteorder("<")
        if dtype not in _NAMES:
            raise TypeError(f"column {name}: the format has no {column.dtype}")
        data = column.astype(dtype, copy=False).tobytes()
        padding = -len(data) % _ALIGNMENT
        placed.append(
            {"name": name, "dtype": _NAMES[dtype], "offset": offset, "length": len(column)}
        )
        parts += [data, b"\0" * padding]
        offset += len(data) + padding
    text = dump_json({**header, "columns": placed}).encode()
    text += b" " * (-(4 + len(text)) % _ALIGNMENT)
    return b"".join([len(text).to_bytes(4, "little"), text, *parts])


def least_dtype(column: np.ndarray) -> np.ndarray:
    """Returns whole numbers of 0 and more in the least dtype of the format that holds them.

    Args:
      column: of integers; above 2^32 they become f64, which holds them up to 2^53.
    """
    least, most = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    if least >= 0:
        for dtype in (np.uint8, np.uint16, np.uint32):
            if most <= np.iinfo(dtype).max:
                return column.astype(dtype)
    return column.astype(np.float64)


def columns_as_json(header: Mapping[str, Any], columns: Mapping[str, np.ndarray]) -> str:
    """Returns the same reply as JSON, for people and for scripts."""
    lists = {name: column.tolist() for name, column in columns.items()}
    return dump_json({**header, "columns": lists})


def dump_json(document: Any) -> str:
    """Returns JSON that every parser reads: NaN and infinities are strings, no bare tokens."""
    try:
        return json.dumps(document, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    except ValueError:
        plain = _without_nan(document)
        return json.dumps(plain, allow_nan=False, separators=(",", ":"), ensure_ascii=True)


def is_deeper(document: Any, most: int) -> bool:
    """Whether lists and objects lie in one another deeper than that.

    Deep ones end a reader, and the writer here, by the depth of their recursion.
    """
    level = [document]
    for _ in range(most):
        level = [
            item
            for outer in level
            if isinstance(outer, (list, dict))
            for item in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return value

"""Tensors of plugins that the board has no page for: shape, dtype and the first elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import OpError
from headrace.formats.tensor_codec import MAX_RANK, make_ndarray

_ELEMENTS_SHOWN = 200
_TEXT_BYTES_SHOWN = 1024
_MAX_BYTES = 64 << 20


def tensor_document(proto: Any) -> dict[str, Any]:
    """Returns what a page shows of a TensorProto, or the reason why it shows nothing."""
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

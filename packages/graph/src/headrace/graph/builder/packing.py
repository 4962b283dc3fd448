"""Converts lists that contain tensors to Pack nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.formats.dtypes import DType
from headrace.graph.builder.conversion import (
    convert_to_tensor,
    converts_before_constants,
    register_tensor_conversion_function,
)
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.operation import Tensor
from headrace.graph.typing.aliases import DTypeLike


def _convert_sequence(
    value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    """Converts a list that contains tensors to a Pack node."""
    if not _has_tensor(value):
        return NotImplemented
    return pack_sequence(value, dtype, name or "packed")


def _has_tensor(value: Any) -> bool:
    for item in value:
        if type(item) is Tensor or hasattr(item, "_as_graph_element"):
            return True
        if isinstance(item, (list, tuple)) and _has_tensor(item):
            return True
        if _converts(item):
            return True
    return False


def _converts(item: Any) -> bool:
    return not isinstance(
        item, (int, float, str, bytes, np.ndarray, list, tuple)
    ) and converts_before_constants(type(item))


def pack_sequence(value: Any, dtype: DTypeLike, name: str) -> Tensor:
    """Stacks nested lists of tensors and numbers to one tensor."""
    if dtype is None:
        dtype = _first_type(value)
    graph = get_default_graph()
    with graph.name_scope(name) as scope:
        items = []
        for i, item in enumerate(value):
            if isinstance(item, (list, tuple)) and _has_tensor(item):
                items.append(pack_sequence(item, dtype, str(i)))
            else:
                items.append(convert_to_tensor(item, dtype, name=str(i)))
        return op("Pack", items, name=scope)


def _first_type(value: Any) -> DType | None:
    for item in value:
        if isinstance(item, (list, tuple)):
            found = _first_type(item)
            if found is not None:
                return found
        elif isinstance(getattr(item, "dtype", None), DType):
            return item.dtype.base_dtype
    return None


register_tensor_conversion_function((list, tuple), _convert_sequence, 99)

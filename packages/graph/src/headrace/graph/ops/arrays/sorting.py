"""Sorting, repeating, and conversion of flat indices to coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.default_graph import counted_as
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import TensorLike


def sort(
    values: TensorLike, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """Sorts along an axis.

    Args:
      values: numeric tensor.
      axis: axis to sort along.
      direction: "ASCENDING" or "DESCENDING".
    Raises: ValueError for another direction, or a scalar.
    """
    with name_scope(name or "sort"):
        return _sorted(values, axis, direction, positions=False)


def argsort(
    values: TensorLike,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the int32 indices that sort an axis; always stable. Raises: as sort."""
    with name_scope(name or "argsort"):
        return _sorted(values, axis, direction, positions=True)


def _sorted(values: Any, axis: int, direction: str, positions: bool) -> Tensor:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"direction must be ASCENDING or DESCENDING, got {direction!r}")
    x = convert_to_tensor(values, name="values")
    rank = x.get_shape().ndims
    if rank == 0:
        raise ValueError("sort: values must not be a scalar")
    last = axis == -1 or (rank is not None and axis % rank == rank - 1)
    ascending = direction == "ASCENDING"
    moved_nodes = 0 if last else 3 if rank is not None else 17 + (axis < 0)
    with counted_as(8 + (1 if positions else 2) * ascending + moved_nodes):
        order: Any = None
        if not last:
            order = _exchanged(x, axis)
        moved = x if last else op("Transpose", x, order)
        turned = _reverse_order(moved) if ascending else moved
        width = op("GatherV2", op("Shape", moved), op("Rank", x) - 1, 0)
        found, indices = op("TopKV2", turned, width)
        result = indices if positions else _reverse_order(found) if ascending else found
        return result if last else op("Transpose", result, order)


def _exchanged(x: Tensor, axis: int) -> Any:
    """Returns the permutation that exchanges an axis and the last one."""
    rank = x.get_shape().ndims
    if rank is not None:
        order = list(range(rank))
        order[axis], order[-1] = order[-1], order[axis]
        return order
    last = op("Rank", x) - 1
    place = last + 1 + axis if axis < 0 else constant(axis)
    parts = [op("Range", 0, place, 1), [last], op("Range", place + 1, last, 1), [place]]
    return op("ConcatV2", parts, 0)


def _reverse_order(x: Tensor) -> Tensor:
    """Maps values to values in the opposite order; an involution for every dtype."""
    dtype = x.dtype.base_dtype
    if dtype.is_integer:
        # -1 - x does not overflow for the lowest integer, unlike -x
        return constant(dtype.max if dtype.is_unsigned else -1, dtype=dtype) - x
    return -x


def repeat(
    input: TensorLike,  # noqa: A002 - TF's name
    repeats: TensorLike,
    axis: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Repeats the elements along an axis.

    Args:
      input: [...] any dtype.
      repeats: number of repetitions, a scalar or one number per element.
      axis: axis; None flattens the input first.
    """
    with name_scope(name or "Repeat"):
        x = convert_to_tensor(input)
        with counted_as(_repeat_nodes(x, repeats, axis)):
            return _repeated(x, repeats, axis)


def _repeat_nodes(x: Tensor, repeats: Any, axis: int | None) -> int:
    """Returns how many nodes TensorFlow 1.15 adds."""
    given = 1 - isinstance(repeats, Tensor)
    rank = 1 if axis is None else x.get_shape().ndims or 1
    flat = 2 if axis is None else 0
    if isinstance(repeats, Tensor):
        several = repeats.get_shape().ndims != 0
    else:
        several = np.ndim(repeats) != 0
    if not several:
        return flat + given + 18 + rank
    return flat + given + 44 + rank + (0 if axis is None or axis % rank == 0 else 23)


def _repeated(x: Tensor, repeats: Any, axis: int | None) -> Tensor:
    counts = convert_to_tensor(repeats, name="repeats")
    if counts.dtype.base_dtype.name not in ("int32", "int64"):
        counts = op("Cast", counts, DstT="int32")
    known = constant_value(counts)
    if axis is None:
        x, axis = op("Reshape", x, [-1]), 0
    dims = x.get_shape().as_list() if x.get_shape().ndims is not None else [None]
    length = dims[axis] if axis < len(dims) else None
    size: Any = op("GatherV2", op("Shape", x), axis, 0) if length is None else length
    counts = op("BroadcastTo", op("Reshape", counts, [-1]), op("ExpandDims", size, 0))
    most = op("Maximum", op("Max", counts, [0]), op("Cast", 0, DstT=counts.dtype.base_dtype))
    one = op("Cast", 1, DstT=counts.dtype.base_dtype)
    steps = op("Range", op("ZerosLike", one), most, one)
    requested = op("Less", op("ExpandDims", steps, 0), op("ExpandDims", counts, 1))
    rows = op("GatherV2", op("Where", requested), 0, 1)
    if known is not None and (known.size > 1 or length is not None):
        rows.set_shape([int(known.sum()) * (int(length or 1) if known.size == 1 else 1)])
    return op("GatherV2", x, rows, axis)


def unravel_index(indices: TensorLike, dims: TensorLike, name: str | None = None) -> Tensor:
    """Converts flat indices to coordinates.

    Args:
      indices: [] or [n] int32 or int64.
      dims: [rank], shape of the tensor.
    Returns: [rank] or [rank, n].
    """
    return op("UnravelIndex", indices, dims, name=name)

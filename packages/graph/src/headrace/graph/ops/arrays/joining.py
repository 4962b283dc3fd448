"""Joining and splitting: concat, stack, split, meshgrid."""

from __future__ import annotations

from collections.abc import KeysView, ValuesView
from typing import Any

import numpy as np

from headrace.formats.dtypes import int32
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes, counted_as
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import TensorLike


def concat(values: TensorLike, axis: TensorLike, name: str = "concat") -> Tensor:
    """Concatenates tensors along an axis; their other dimensions must be equal.

    Args:
      values: tensors; a list, a tuple or a view of a dict.
      axis: scalar integer.
    Raises: ValueError for an axis that is not a scalar, or shapes that do not fit; TypeError for
      an axis that is not an integer.
    """
    values = list(values) if isinstance(values, list | tuple | ValuesView | KeysView) else [values]
    if len(values) == 1:
        # No node holds the axis of a single value, so it is checked here.
        with name_scope(name) as scope:
            convert_to_tensor(axis, int32, name="concat_dim").get_shape().assert_has_rank(0)
            return op("Identity", values[0], name=scope)
    return op("ConcatV2", values, axis, name=name)


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Stacks tensors of equal shapes along a new axis.

    Args:
      values: tensors, or one tensor, whose slices along its first dimension are stacked.
      axis: place of the new dimension; negative values count from the end.
    Raises: ValueError for an axis outside of the result, or shapes that differ; TypeError for
      values of different dtypes.
    """
    values = list(values) if isinstance(values, ValuesView | KeysView) else values
    if axis == 0:
        # A list of numbers becomes one constant; a list with tensors becomes a Pack node.
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass
    values = unstack(values) if isinstance(values, Tensor) else list(values)
    rank = convert_to_tensor(values[0], name=name).get_shape().ndims if values else None
    if rank is not None and not -rank - 1 <= axis <= rank:
        raise ValueError(f"axis = {axis} not in [{-rank - 1}, {rank + 1})")
    return op("Pack", values, axis=axis, name=name)


def parallel_stack(values: TensorLike, name: str = "parallel_stack") -> Tensor:
    """Stacks tensors of one fully known shape along a new first axis."""
    return stack(values, name=name)


def unstack(
    value: TensorLike, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """Unstacks a tensor to a list of its slices along an axis.

    Args:
      num: number of slices; required if the static shape does not give it.
    Raises: ValueError if the number of slices is unknown, or axis is outside of the shape.
    """
    if num is None:
        value = convert_to_tensor(value, name="value")
        dims = value._shape  # noqa: SLF001
        if dims is not None:
            if not -len(dims) <= axis < len(dims):
                raise ValueError(f"axis = {axis} not in [{-len(dims)}, {len(dims)})")
            num = dims[axis]
        if num is None:
            raise ValueError(f"Cannot infer num from shape {value.get_shape()}: give num")
    return list(op("Unpack", value, num=num, axis=axis, name=name))


def split(
    value: TensorLike,
    num_or_size_splits: TensorLike,
    axis: TensorLike = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Tensor]:
    """Splits a tensor along an axis into a list of tensors.

    Args:
      value: tensor to split.
      num_or_size_splits: number of equal parts, or a vector of their sizes.
      axis: axis to split.
      num: number of parts, if the sizes are a tensor of unknown length.
    Raises: ValueError if the number of parts is unknown.
    """
    sizes = num_or_size_splits
    if isinstance(sizes, int | np.integer):
        count_nodes(1)  # the number of parts
        return list(op("Split", axis, value, num_split=int(sizes), name=name))
    sizes = convert_to_tensor(sizes)
    if num is None:
        num = sizes._shape[0] if sizes._shape else None  # noqa: SLF001
        if num is None:
            raise ValueError("split: the number of parts is unknown: give num")
    return list(op("SplitV", value, sizes, axis, num_split=num, name=name))


def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Broadcasts coordinate vectors to a grid.

    Args:
      args: vectors.
      indexing: "xy" (Cartesian) or "ij" (matrix).
    Returns: list of tensors, one per vector.
    Raises: ValueError for another indexing.
    """
    indexing = kwargs.pop("indexing", "xy")
    with name_scope(kwargs.pop("name", "meshgrid")):
        if indexing not in ("xy", "ij"):
            raise ValueError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}")
        with counted_as(_meshgrid_nodes(args, indexing)):
            return _grid(args, indexing)


def _meshgrid_nodes(args: Any, indexing: str) -> int:
    lists = [not isinstance(x, Tensor) for x in args]
    turned = indexing == "xy" and len(args) > 1
    return 5 * len(args) + 4 + 4 * turned + 2 * sum(lists) + sum(lists[:1]) if lists else 1


def _grid(args: Any, indexing: str) -> list[Tensor]:
    n = len(args)
    shaped = [op("Reshape", x, [1] * i + [-1] + [1] * (n - i - 1)) for i, x in enumerate(args)]
    sizes = [op("Size", x) for x in args]
    if indexing == "xy" and n > 1:
        shaped[0] = op("Reshape", shaped[0], [1, -1] + [1] * (n - 2))
        shaped[1] = op("Reshape", shaped[1], [-1, 1] + [1] * (n - 2))
        sizes[0], sizes[1] = sizes[1], sizes[0]
    full = op("Pack", sizes) if sizes else []
    return [op("BroadcastTo", x, full) for x in shaped]

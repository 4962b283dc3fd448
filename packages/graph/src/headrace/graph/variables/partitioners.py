"""Partitioners: functions that choose the number of partitions of each axis of a variable."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.framework.tensor_shape import as_shape
from headrace.graph.typing.aliases import Collections, DTypeLike, Initializer
from headrace.graph.variables.get_variable import get_variable
from headrace.graph.variables.variable_scope import variable_scope

if TYPE_CHECKING:
    from headrace.graph.variables.variable_scope import _ReuseMode


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Callable[..., list[int]]:
    """Returns a partitioner: num_shards partitions of one axis, or fewer for a shorter axis."""

    def partitioner(shape: Any, **_: Any) -> list[int]:
        parts = [1] * len(shape)
        size = as_shape(shape).as_list()[axis]
        parts[axis] = min(num_shards, size or num_shards)
        return parts

    return partitioner


def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Callable[..., list[int]]:
    """Returns a partitioner that keeps the partitions of one axis below max_shard_bytes.

    Raises: ValueError for sizes below 1; when called, for a shape that is not fully defined.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            f"both max_shard_bytes and bytes_per_string_element must be positive, got "
            f"{max_shard_bytes} and {bytes_per_string_element}"
        )
    if max_shards is not None and max_shards < 1:
        raise ValueError(f"max_shards must be positive, got {max_shards}")

    def partitioner(shape: Any, dtype: Any, **_: Any) -> list[int]:
        shape = as_shape(shape)
        if not shape.is_fully_defined():
            raise ValueError(f"shape is not fully defined: {shape}")
        dtype = as_dtype(dtype).base_dtype
        size = dtype.size or bytes_per_string_element
        parts = [1] * shape.ndims
        rows = shape.as_list()[axis]
        per_row = size * (shape.num_elements() or 0) // max(rows or 1, 1)
        if per_row == 0:
            return parts
        rows_per_part = max(1, max_shard_bytes // per_row)
        parts[axis] = min(rows, math.ceil(rows / rows_per_part))
        if max_shards is not None:
            parts[axis] = min(max_shards, parts[axis])
        return parts

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Callable[..., list[int]]:
    """Returns a partitioner: at most max_partitions, each of at least min_slice_size bytes."""

    def partitioner(shape: Any, dtype: Any, **_: Any) -> list[int]:
        shape = as_shape(shape)
        if not shape.is_fully_defined():
            raise ValueError(f"shape is not fully defined: {shape}")
        size = as_dtype(dtype).base_dtype.size or bytes_per_string_element
        total = size * (shape.num_elements() or 0)
        count = max(1, math.ceil(total / min_slice_size))
        parts = [1] * shape.ndims
        parts[axis] = max(1, min(shape.as_list()[axis], max_partitions, count))
        return parts

    return partitioner


def create_partitioned_variables(
    shape: Any,
    slicing: Any,
    initializer: Initializer,
    dtype: DTypeLike = as_dtype("float32"),  # noqa: B008 - a constant
    trainable: bool = True,
    collections: Collections | None = None,
    name: str | None = None,
    reuse: bool | _ReuseMode | None = None,
) -> list[Any]:
    """Creates the partitions of a variable; slicing is the number of partitions of each axis.

    Raises: ValueError if slicing does not fit the shape.
    """
    if len(shape) != len(slicing):
        raise ValueError(f"The 'shape' and 'slicing' must have the same length: {shape}, {slicing}")
    if any(s < 1 for s in slicing):
        raise ValueError(f"'slicing' must be at least 1 on every axis: {slicing}")
    with variable_scope(name, "PartitionedVariable", reuse=reuse):
        result = get_variable(
            "partitions" if name is None else "",
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=trainable,
            partitioner=lambda **_: list(slicing),
            collections=collections,
        )
        return list(result)

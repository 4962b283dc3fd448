"""Means and variances along axes."""

from __future__ import annotations

import math
from typing import Any

from headrace.formats.dtypes import float16, float32
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.reduction import reduce_mean, reduce_prod, reduce_sum
from headrace.graph.typing.aliases import TensorLike


def _resolve_keepdims(keep_dims: bool | None, keepdims: bool | None) -> bool:
    if keep_dims is not None and keepdims is not None:
        raise ValueError("give keepdims or keep_dims, not both")
    return bool(keepdims if keep_dims is None else keep_dims)


def _axis_list(axes: Any) -> list[int]:
    if isinstance(axes, Tensor):
        found = constant_value(axes)
        if found is None:
            raise ValueError("axes must be known when the graph is built")
        axes = found.tolist()
    return [int(axes)] if isinstance(axes, int) else [int(a) for a in axes]


def moments(
    x: TensorLike,
    axes: TensorLike,
    shift: TensorLike | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes the mean and the (biased) variance of x along axes.

    Args:
      x: [...] float.
      axes: list of ints.
      shift: ignored, as in TensorFlow.
      keepdims: keep reduced dimensions with size 1; keep_dims: its old name.
    Returns: (mean, variance), dtype of x; float16 is summed in float32.
    Raises: ValueError for both keepdims and keep_dims.
    """
    keep = _resolve_keepdims(keep_dims, keepdims)
    with name_scope(name, "moments", [x, axes]):
        x = convert_to_tensor(x, name="x")
        half = x.dtype.base_dtype == float16
        y = op("Cast", x, DstT=float32) if half else x
        mean = reduce_mean(y, axes, keepdims=True, name="mean")
        squares = op("SquaredDifference", y, op("StopGradient", mean))
        variance = reduce_mean(squares, axes, keepdims=True, name="variance")
        if not keep:
            dims = _axis_list(axes)
            mean = op("Squeeze", mean, squeeze_dims=dims)
            variance = op("Squeeze", variance, squeeze_dims=dims)
        if half:
            return op("Cast", mean, DstT=float16), op("Cast", variance, DstT=float16)
        return mean, variance


def sufficient_statistics(
    x: TensorLike,
    axes: Any,
    shift: TensorLike | None = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Any]:
    """Computes the statistics of x - shift along axes, for normalize_moments.

    Returns: (count, sum, sum of squares, shift).
    Raises: ValueError for axes that are unknown at graph construction; as moments.
    """
    keep = _resolve_keepdims(keep_dims, keepdims)
    axes = list(dict.fromkeys(_axis_list(axes)))
    with name_scope(name, "sufficient_statistics", [x, shift]):
        x = convert_to_tensor(x, name="x")
        dtype = x.dtype.base_dtype
        dims = x.get_shape().as_list() if x.get_shape().ndims is not None else None
        if dims is not None and all(dims[a] is not None for a in axes):
            count = constant(math.prod(dims[a] for a in axes), dtype=dtype)
        else:
            sizes = op("GatherV2", op("Shape", x), axes, 0)
            count = op("Cast", reduce_prod(sizes), DstT=dtype, name="count")
        if shift is None:
            moved, squares = x, op("Square", x)
        else:
            shift = convert_to_tensor(shift, name="shift")
            moved, squares = x - shift, op("SquaredDifference", x, shift)
        total = reduce_sum(moved, axes, keepdims=keep, name="mean_ss")
        return count, total, reduce_sum(squares, axes, keepdims=keep, name="var_ss"), shift


def normalize_moments(
    counts: TensorLike,
    mean_ss: TensorLike,
    variance_ss: TensorLike,
    shift: TensorLike,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes mean and variance from the result of sufficient_statistics."""
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = op("Reciprocal", counts, name="divisor")
        if shift is None:
            moved = mean = op("Mul", mean_ss, divisor, name="mean")
        else:
            moved = op("Mul", mean_ss, divisor, name="shifted_mean")
            mean = op("AddV2", moved, shift, name="mean")
        squares = op("Mul", variance_ss, divisor)
        return mean, op("Sub", squares, op("Square", moved), name="variance")


def weighted_moments(
    x: Any,
    axes: TensorLike,
    frequency_weights: TensorLike,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes the weighted mean and variance of x along axes.

    Args:
      frequency_weights: nonnegative weights, broadcastable to x.
      the others: as in moments.
    Returns: (mean, variance).
    """
    keep = _resolve_keepdims(keep_dims, keepdims)
    with name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(frequency_weights, name="frequency_weights")
        half = x.dtype.base_dtype == float16
        if half:
            x = op("Cast", x, DstT=float32)
        if weights.dtype.base_dtype != x.dtype.base_dtype:
            weights = op("Cast", weights, DstT=x.dtype.base_dtype)
        total = reduce_sum(weights * x, axes, keepdims=True, name="weighted_input_sum")
        spread = weights + op("ZerosLike", x)
        count = reduce_sum(spread, axes, keepdims=True, name="sum_of_weights")
        divisor = op("Reciprocal", count, name="inv_weight_sum")
        mean = op("Mul", total, divisor)
        squares = weights * op("SquaredDifference", x, mean)
        distance = reduce_sum(squares, axes, keepdims=True, name="weighted_distsq")
        variance = op("Mul", distance, divisor)
        if not keep:
            dims = _axis_list(axes)
            mean = op("Squeeze", mean, squeeze_dims=dims)
            variance = op("Squeeze", variance, squeeze_dims=dims)
        if half:
            return op("Cast", mean, DstT=float16), op("Cast", variance, DstT=float16)
        return mean, variance

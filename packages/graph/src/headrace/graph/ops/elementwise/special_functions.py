"""Functions composed of several element-wise ops."""

from __future__ import annotations

import math
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.indexed_slices import IndexedSlices
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import DTypeLike, TensorLike


def scalar_mul(scalar: TensorLike, x: Any, name: str | None = None) -> Any:
    """Multiplies x, which may be IndexedSlices, by a scalar.

    Raises: ValueError if `scalar` is not a scalar.
    """
    dtype = x.dtype.base_dtype if hasattr(x, "dtype") and hasattr(x, "graph") else None
    scalar = convert_to_tensor(scalar, dtype=dtype, name="scalar")
    if scalar.get_shape().ndims not in (0, None):
        raise ValueError(f"Only scalar multiply works, got shape {scalar.get_shape()}")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(op("Mul", scalar, x.values, name=name), x.indices, x.dense_shape)
    return op("Mul", scalar, x, name=name)


def floor_div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes floor(x / y)."""
    return op("FloorDiv", x, y, name=name)


def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes 1 / x, and 0 where x is 0."""
    with name_scope(name or "reciprocal_no_nan") as scope:
        x = convert_to_tensor(x, name="x")
        return op("DivNoNan", constant(1, dtype=x.dtype.base_dtype), x, name=scope)


def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the log of the beta function over the last dimension.

    Returns: sum(lgamma(x)) - lgamma(sum(x)).
    """
    with name_scope(name or "lbeta"):
        x = convert_to_tensor(x, name="x")
        return op("Sum", op("Lgamma", x), [-1]) - op("Lgamma", op("Sum", x, [-1]))


def polyval(coeffs: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Evaluates a polynomial at x.

    Args:
      coeffs: list of coefficients, highest power first.
      x: point or points at which to evaluate it.
    Raises: ValueError if coeffs is not a list.
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type found {type(coeffs)}.")
    with name_scope(name or "polyval"):
        x = convert_to_tensor(x, name="x")
        if not coeffs:
            return op("ZerosLike", x)
        result = convert_to_tensor(coeffs[0], dtype=x.dtype.base_dtype)
        for c in coeffs[1:]:
            result = convert_to_tensor(c, dtype=x.dtype.base_dtype) + result * x
        return result


def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes log(1 / (1 + exp(-x))) without overflow."""
    with name_scope(name or "LogSigmoid") as scope:
        x = convert_to_tensor(x, name="x")
        return op("Neg", op("Softplus", -x), name=scope)


def erfcinv(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the inverse of erfc."""
    with name_scope(name or "erfcinv"):
        x = convert_to_tensor(x, name="start")
        half = constant(0.5, dtype=x.dtype.base_dtype)
        return -op("Ndtri", half * x) * constant(math.sqrt(0.5), dtype=x.dtype.base_dtype)


def cumulative_logsumexp(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes the cumulative log(sum(exp(x))) along an axis, without overflow."""
    return op("CumulativeLogsumexp", x, axis, exclusive=exclusive, reverse=reverse, name=name)


def to_complex64(x: TensorLike, name: str = "ToComplex64") -> Any:
    """Casts x to complex64."""
    return op("Cast", x, DstT=as_dtype("complex64"), name=name)


def to_complex128(x: TensorLike, name: str = "ToComplex128") -> Any:
    """Casts x to complex128."""
    return op("Cast", x, DstT=as_dtype("complex128"), name=name)


def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """Returns the bin of each value, for nbins equal bins of a range; the outer bins are open.

    Args:
      values: numeric tensor.
      value_range: [2], the range.
      nbins: number of bins.
      dtype: int32 or int64.
    """
    with name_scope(name or "histogram_fixed_width_bins"):
        values = convert_to_tensor(values, name="values")
        count_nodes(15)  # slices of the range, shapes, and the casts of bounds
        kind = values.dtype.base_dtype
        bounds = convert_to_tensor(value_range, dtype=kind, name="value_range")
        low, high = op("Unpack", bounds, num=2)
        count = op("Cast", convert_to_tensor(nbins, dtype="int32"), DstT=kind)
        share = (values - low) / (high - low)
        places = op("Floor", count * share)
        top = count - constant(1, dtype=kind)
        places = op("Minimum", op("Maximum", places, op("ZerosLike", places)), top)
        return op("Cast", places, DstT=as_dtype(dtype))

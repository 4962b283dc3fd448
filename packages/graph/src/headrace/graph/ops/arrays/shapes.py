"""Shapes as tensors, and ops that change shapes: reshape, squeeze, transpose, tile."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape, as_dims
from headrace.graph.shape_rules.algebra import broadcast
from headrace.graph.typing.aliases import DTypeLike, ShapeLike, TensorLike


def _folded_constant(x: Any, out_type: Any, name: str | None, value: Any) -> Tensor | None:
    """Creates a constant for a fully known shape, which TF 1.x folds at graph construction."""
    dims = x._shape  # noqa: SLF001
    if dims is None or None in dims:
        return None
    return constant(value(dims), dtype=as_dtype(out_type), name=name)


def shape(
    input: TensorLike,  # noqa: A002
    name: str | None = None,
    out_type: DTypeLike = "int32",
    optimize: bool = True,
) -> Tensor:
    """Returns the shape as a vector; a constant if it is fully known."""
    if isinstance(input, SparseTensor):
        return op("Cast", input.dense_shape, DstT=as_dtype(out_type), name=name)
    x = convert_to_tensor(input)
    known = _folded_constant(x, out_type, name or "Shape", list) if optimize else None
    return op("Shape", x, out_type=as_dtype(out_type), name=name) if known is None else known


def shape_n(
    input: TensorLike, out_type: DTypeLike = "int32", name: str | None = None
) -> list[Tensor]:  # noqa: A002
    """Returns the shapes of several tensors of one dtype."""
    return op("ShapeN", input, out_type=as_dtype(out_type), name=name)


def size(input: TensorLike, name: str | None = None, out_type: DTypeLike = "int32") -> Tensor:  # noqa: A002
    """Returns the number of elements."""
    if isinstance(input, SparseTensor):
        return op("Prod", op("Cast", input.dense_shape, DstT=as_dtype(out_type)), 0, name=name)
    x = convert_to_tensor(input)
    known = _folded_constant(x, out_type, name or "Size", lambda d: int(np.prod(d, dtype=np.int64)))
    return op("Size", x, out_type=as_dtype(out_type), name=name) if known is None else known


def rank(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the number of dimensions."""
    if isinstance(input, SparseTensor):
        return op("Size", input.dense_shape, name=name)
    x = convert_to_tensor(input)
    if x._shape is not None:  # noqa: SLF001
        return constant(len(x._shape), dtype="int32", name=name or "Rank")  # noqa: SLF001
    return op("Rank", x, name=name)


def broadcast_dynamic_shape(shape_x: TensorLike, shape_y: TensorLike) -> Tensor:
    """Computes the broadcast shape of two shape tensors."""
    return op("BroadcastArgs", shape_x, shape_y)


def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> Any:
    """Computes the broadcast shape of two TensorShapes.

    Raises: ValueError if they cannot be broadcast.
    """
    return TensorShape(broadcast(as_dims(shape_x), as_dims(shape_y)))


def reshape(tensor: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Reshapes a tensor; one size may be -1, which is inferred.

    Raises: ValueError if the known numbers of elements differ.
    """
    return op("Reshape", tensor, shape, name=name)


def expand_dims(
    input: TensorLike,  # noqa: A002
    axis: TensorLike | None = None,
    name: str | None = None,
    dim: TensorLike | None = None,
) -> Tensor:
    """Inserts a dimension of size 1 at axis. Raises: ValueError without axis."""
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("expand_dims: give the axis")
    return op("ExpandDims", input, axis, name=name)


def squeeze(
    input: TensorLike,  # noqa: A002
    axis: Sequence[int] | None = None,
    name: str | None = None,
    squeeze_dims: Sequence[int] | None = None,
) -> Tensor:
    """Removes dimensions of size 1: the given axes, or all."""
    axis = squeeze_dims if axis is None else axis
    axes = [] if axis is None else [axis] if np.ndim(axis) == 0 else list(axis)
    return op("Squeeze", input, squeeze_dims=axes, name=name)


def transpose(
    a: TensorLike, perm: TensorLike | None = None, name: str = "transpose", conjugate: bool = False
) -> Tensor:
    """Permutes dimensions: dimension i of the result is dimension perm[i] of a.

    Args:
      perm: [rank] ints; None reverses the dimensions.
      conjugate: also conjugate complex elements.
    """
    with name_scope(name) as scope:
        a = convert_to_tensor(a, name="a")
        kind = "ConjugateTranspose" if conjugate and a.dtype.is_complex else "Transpose"
        if perm is None:
            n = a.get_shape().ndims
            if n is None:
                rank = op("Rank", a)
                perm = op("Sub", op("Sub", rank, 1), op("Range", 0, rank, 1))
            else:
                perm = np.arange(n - 1, -1, -1, dtype=np.int32)
        return op(kind, a, perm, name=scope)


def matrix_transpose(
    a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False
) -> Tensor:
    """Transposes the last two dimensions."""
    with name_scope(name):
        a = convert_to_tensor(a, name="a")
        n = a.get_shape().ndims
        if n is not None:
            order: Any = np.array([*builtins.range(n - 2), n - 1, n - 2], np.int32)
        else:
            count = op("Rank", a)
            order = op(
                "ConcatV2", [op("Range", 0, count - 2, 1), op("Pack", [count - 1, count - 2])], 0
            )
        return transpose(a, order, conjugate=conjugate)


def broadcast_to(input: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Broadcasts input to shape."""
    return op("BroadcastTo", input, shape, name=name)


def tile(input: TensorLike, multiples: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Repeats input multiples[i] times along dimension i."""
    return op("Tile", input, multiples, name=name)

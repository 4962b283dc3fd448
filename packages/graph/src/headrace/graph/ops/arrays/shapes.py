"""Shapes as tensors, and the same elements under another shape."""

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


def _known(x: Any, out_type: Any, name: str | None, value: Any) -> Tensor | None:
    """The constant that a fully known shape makes, as TF 1.x folds it when the graph is built."""
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
    """The shape as a vector; a constant where it is fully known when the graph is built."""
    if isinstance(input, SparseTensor):
        return op("Cast", input.dense_shape, DstT=as_dtype(out_type), name=name)
    x = convert_to_tensor(input)
    known = _known(x, out_type, name or "Shape", list) if optimize else None
    return op("Shape", x, out_type=as_dtype(out_type), name=name) if known is None else known


def shape_n(
    input: TensorLike, out_type: DTypeLike = "int32", name: str | None = None
) -> list[Tensor]:  # noqa: A002
    """The shapes of several tensors of one dtype."""
    return op("ShapeN", input, out_type=as_dtype(out_type), name=name)


def size(input: TensorLike, name: str | None = None, out_type: DTypeLike = "int32") -> Tensor:  # noqa: A002
    """The number of elements."""
    if isinstance(input, SparseTensor):
        return op("Prod", op("Cast", input.dense_shape, DstT=as_dtype(out_type)), 0, name=name)
    x = convert_to_tensor(input)
    known = _known(x, out_type, name or "Size", lambda d: int(np.prod(d, dtype=np.int64)))
    return op("Size", x, out_type=as_dtype(out_type), name=name) if known is None else known


def rank(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """The number of dimensions."""
    if isinstance(input, SparseTensor):
        return op("Size", input.dense_shape, name=name)
    x = convert_to_tensor(input)
    if x._shape is not None:  # noqa: SLF001
        return constant(len(x._shape), dtype="int32", name=name or "Rank")  # noqa: SLF001
    return op("Rank", x, name=name)


def broadcast_dynamic_shape(shape_x: TensorLike, shape_y: TensorLike) -> Tensor:
    """The shape that two shapes broadcast to, as a tensor."""
    return op("BroadcastArgs", shape_x, shape_y)


def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> Any:
    """The TensorShape that two TensorShapes broadcast to; ValueError where they do not."""
    return TensorShape(broadcast(as_dims(shape_x), as_dims(shape_y)))


def reshape(tensor: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """The same elements in order under another shape; one size may be -1."""
    return op("Reshape", tensor, shape, name=name)


def expand_dims(
    input: TensorLike,  # noqa: A002
    axis: TensorLike | None = None,
    name: str | None = None,
    dim: TensorLike | None = None,
) -> Tensor:
    """A dimension of size 1 put in at axis."""
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
    """Dimensions of size 1 taken out: those named, or all."""
    axis = squeeze_dims if axis is None else axis
    axes = [] if axis is None else [axis] if np.ndim(axis) == 0 else list(axis)
    return op("Squeeze", input, squeeze_dims=axes, name=name)


def transpose(
    a: TensorLike, perm: TensorLike | None = None, name: str = "transpose", conjugate: bool = False
) -> Tensor:
    """Dimension i of the result is dimension perm[i] of a; perm None: all reversed."""
    with name_scope(name) as scope:
        a = convert_to_tensor(a, name="a")
        kind = "ConjugateTranspose" if conjugate and a.dtype.is_complex else "Transpose"
        if perm is None:
            n = a.get_shape().ndims
            if n is None:
                last = op("Sub", op("Rank", a), 1)
                perm = op("Sub", last, op("Range", 0, op("Rank", a), 1))
            else:
                perm = np.arange(n - 1, -1, -1, dtype=np.int32)
        return op(kind, a, perm, name=scope)


def matrix_transpose(
    a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False
) -> Tensor:
    """The innermost two dimensions exchanged."""
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
    """input repeated along dimensions of size 1 (and new leading ones) up to shape."""
    return op("BroadcastTo", input, shape, name=name)


def tile(input: TensorLike, multiples: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """input repeated multiples[i] times along dimension i."""
    return op("Tile", input, multiples, name=name)

"""Placeholders, and tensors passed on with a promise about them."""

from __future__ import annotations

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import as_dims
from headrace.graph.typing.aliases import DTypeLike, ShapeLike, TensorLike


def placeholder(
    dtype: DTypeLike, shape: ShapeLike | None = None, name: str | None = None
) -> Tensor:
    """A tensor whose value each run must feed.

    Args:
      dtype: of the values; shape: their shape, None or -1 for what is not fixed; None: any shape.
    """
    return op("Placeholder", dtype=as_dtype(dtype), shape=as_dims(shape), name=name)


def placeholder_with_default(
    input: TensorLike, shape: ShapeLike, name: str | None = None
) -> Tensor:  # noqa: A002
    """A tensor that a run may feed, and that is `input` where it does not."""
    return op("PlaceholderWithDefault", input, shape=as_dims(shape), name=name)


def sparse_placeholder(
    dtype: DTypeLike, shape: ShapeLike | None = None, name: str | None = None
) -> SparseTensor:
    """A SparseTensor whose value each run must feed."""
    base = name or "Placeholder"
    dims = as_dims(shape) if shape is not None else None
    rank = None if dims is None else len(dims)
    if dims is None or None in dims:
        dense = placeholder("int64", [rank], name=f"{base}/shape")
    else:
        dense = convert_to_tensor(list(dims), dtype="int64", name=f"{base}/shape")
    return SparseTensor(
        indices=placeholder("int64", [None, rank], name=f"{base}/indices"),
        values=placeholder(dtype, [None], name=f"{base}/values"),
        dense_shape=dense,
    )


def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """The same value, through which no gradient flows."""
    return op("StopGradient", input, name=name)


def guarantee_const(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """The same value, promised not to change."""
    return op("GuaranteeConst", input, name=name)


def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """x, after a check at run time that it has that shape (None: any size)."""
    return op("EnsureShape", x, shape=as_dims(shape), name=name)

"""Placeholders, stop_gradient and ensure_shape."""

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
    """Creates a tensor that each run must feed.

    Args:
      dtype: dtype of the value.
      shape: shape of the value; None or -1 as a size accepts any size, None any shape.
    """
    return op("Placeholder", dtype=as_dtype(dtype), shape=as_dims(shape), name=name)


def placeholder_with_default(
    input: TensorLike, shape: ShapeLike, name: str | None = None
) -> Tensor:  # noqa: A002
    """Creates a tensor that a run can feed; its default is `input`."""
    return op("PlaceholderWithDefault", input, shape=as_dims(shape), name=name)


def sparse_placeholder(
    dtype: DTypeLike, shape: ShapeLike | None = None, name: str | None = None
) -> SparseTensor:
    """Creates a SparseTensor that each run must feed."""
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
    """Returns the same value, as a constant for gradients."""
    return op("StopGradient", input, name=name)


def guarantee_const(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the same value, guaranteed by the caller not to change."""
    return op("GuaranteeConst", input, name=name)


def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Returns x after a run-time check of its shape (None: any size)."""
    return op("EnsureShape", x, shape=as_dims(shape), name=name)

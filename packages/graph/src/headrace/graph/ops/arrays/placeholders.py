"""Placeholders, stop_gradient and ensure_shape."""

from __future__ import annotations

from headrace.formats.dtypes import as_dtype, int64
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
    dtype: DTypeLike, shape: ShapeLike | TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """Creates a SparseTensor that each run must feed.

    Args:
      dtype: dtype of the values.
      shape: sizes of the dense form, a list or an int64 tensor; None where they are unknown.
      name: prefix of the names of its parts, which are name/shape, name/values, name/indices.
    """
    rank, dense = None, None
    if isinstance(shape, Tensor):
        rank = shape.get_shape().as_list()[0]
        dense = shape if shape.dtype.base_dtype is int64 else op("Cast", shape, DstT=int64)
    elif shape is not None:
        dims = as_dims(shape)
        rank = None if dims is None else len(dims)
        if dims is not None and None not in dims:
            dense = convert_to_tensor(list(dims), int64, name=_part(name, "shape"))
    if dense is None:
        dense = placeholder(int64, [rank], name=_part(name, "shape"))
    values = placeholder(dtype, [None], name=_part(name, "values"))
    return SparseTensor(
        indices=placeholder(int64, [None, rank], name=_part(name, "indices")),
        values=values,
        dense_shape=dense,
    )


def _part(name: str | None, part: str) -> str | None:
    return None if name is None else f"{name}/{part}"


def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the same value, as a constant for gradients."""
    return op("StopGradient", input, name=name)


def guarantee_const(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the same value, guaranteed by the caller not to change."""
    return op("GuaranteeConst", input, name=name)


def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Returns x after a run-time check of its shape (None: any size)."""
    return op("EnsureShape", x, shape=as_dims(shape), name=name)

"""Creates tensors from shapes, ranges and indices: zeros, ones, eye, range, one_hot."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import as_dims
from headrace.graph.typing.aliases import DTypeLike, ShapeLike, TensorLike


def _filled(shape: Any, dtype: Any, value: Any, name: str) -> Tensor:
    requested = as_dtype(dtype).base_dtype
    if requested.name == "string":
        value = "" if value == 0 else value
    elif requested.name == "bool":
        value = bool(value)
    with name_scope(name) as scope:
        if not isinstance(shape, Tensor):
            try:
                dims: Any = as_dims(shape)
            except TypeError:
                dims = None
            if dims is not None and None not in dims:
                count = int(np.prod(dims, dtype=np.int64))
                if count < 1000:
                    return constant(value, dtype=requested, shape=dims, name=scope)
                shape = convert_to_tensor(
                    np.array(dims, np.int32 if max(dims) < 2**31 else np.int64),
                    name="shape_as_tensor",
                )
            else:
                _count_product(shape)
                shape = convert_to_tensor(shape, dtype="int32")
        if not shape.get_shape().ndims or shape.get_shape().as_list() == []:
            count_nodes(2)  # TensorFlow 1.15 reshapes it to a vector
        return op("Fill", shape, constant(value, dtype=requested, name="Const"), name=scope)


def _count_product(shape: Any) -> None:
    """Counts the nodes by which TensorFlow 1.15 multiplies and compares sizes that are tensors."""
    tensors = [isinstance(n, Tensor) for n in shape]
    if True in tensors:
        first = tensors.index(True)
        count_nodes(2 * (first > 0) + sum(1 if t else 2 for t in tensors[first + 1 :]) + 2)


def zeros(
    shape: ShapeLike | TensorLike, dtype: DTypeLike = "float32", name: str | None = None
) -> Tensor:
    """Creates a tensor of zeros (False for bool, "" for string)."""
    return _filled(shape, dtype, 0, name or "zeros")


def ones(
    shape: ShapeLike | TensorLike, dtype: DTypeLike = "float32", name: str | None = None
) -> Tensor:
    """Creates a tensor of ones (True for bool)."""
    return _filled(shape, dtype, 1, name or "ones")


def fill(dims: TensorLike, value: TensorLike, name: str | None = None) -> Tensor:
    """Creates a tensor of shape dims filled with a scalar value."""
    return op("Fill", dims, value, name=name)


def zeros_like(
    tensor: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    optimize: bool = True,
) -> Tensor:
    """Creates zeros of the shape of a tensor, and of its dtype by default."""
    x = convert_to_tensor(tensor, name="tensor")
    requested = x.dtype.base_dtype if dtype is None else as_dtype(dtype)
    known = x.get_shape()
    if requested is not x.dtype.base_dtype and optimize and known.is_fully_defined():
        return zeros(known, requested, name=name or "zeros_like")
    if requested is x.dtype.base_dtype:
        large = optimize and known.is_fully_defined() and (known.num_elements() or 0) >= 1000
        count_nodes(2 if large and requested.name != "variant" else 0)
        return op("ZerosLike", x, name=name or "zeros_like")
    return zeros(op("Shape", x), requested, name=name or "zeros_like")


def ones_like(
    tensor: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    optimize: bool = True,
) -> Tensor:
    """Creates ones of the shape of a tensor, and of its dtype by default."""
    x = convert_to_tensor(tensor, name="tensor")
    requested = x.dtype.base_dtype if dtype is None else as_dtype(dtype)
    return ones(op("Shape", x), requested, name=name or "ones_like")


def eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    batch_shape: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Creates identity matrices. Returns: batch_shape + [num_rows, num_columns]."""
    with name_scope(name or "eye"):
        columns = num_rows if num_columns is None else num_columns
        known = batch_shape is None or isinstance(batch_shape, (list, tuple))
        if known and isinstance(num_rows, int) and isinstance(columns, int):
            rest = list(batch_shape or ())  # type: ignore[arg-type]
            diagonal = ones([*rest, min(num_rows, columns)], dtype)
            if num_rows == columns:
                return op("MatrixDiag", diagonal, name="diag")
            return op("MatrixSetDiag", zeros([*rest, num_rows, columns], dtype), diagonal)
        short = op("Minimum", num_rows, columns)
        batch = convert_to_tensor([] if batch_shape is None else batch_shape, dtype="int32")
        diagonal = ones(op("ConcatV2", [batch, op("Pack", [short])], 0), dtype)
        if num_columns is None:
            return op("MatrixDiag", diagonal)
        shape = op("ConcatV2", [batch, op("Pack", [num_rows, columns])], 0)
        return op("MatrixSetDiag", zeros(shape, dtype), diagonal)


def range(  # noqa: A001 - TF's name
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str = "range",
) -> Tensor:
    """Creates the sequence start, start + delta, ..., excluding limit; range(limit) starts at 0."""
    if limit is None:
        start, limit = 0, start
    with name_scope(name) as scope:
        values = [convert_to_tensor(v, dtype=dtype) for v in (start, limit, delta)]
        if dtype is None:
            order = ("int32", "int64", "float32", "float64")
            widest = max(
                (v.dtype.base_dtype.name for v in values),
                key=lambda n: order.index(n) if n in order else -1,
            )
            values = [
                v if v.dtype.base_dtype.name == widest else op("Cast", v, DstT=widest)
                for v in values
            ]
        return op("Range", *values, name=scope)


def linspace(
    start: TensorLike, stop: TensorLike, num: TensorLike, name: str | None = None
) -> Tensor:
    """Creates num evenly spaced values from start to stop, inclusive."""
    return op("LinSpace", start, stop, num, name=name)


lin_space = linspace


def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Creates a one-hot tensor: on_value at each index along a new axis, off_value elsewhere.

    Args:
      indices: [...] ints.
      depth: size of the new axis.
      on_value, off_value: scalars; 1 and 0 by default.
      axis: position of the new axis; -1 is last.
      dtype: dtype of the result.
    Returns: the shape of indices with an axis of size depth inserted.
    """
    requested = None if dtype is None else as_dtype(dtype)
    for value in (on_value, off_value):
        if value is not None:
            found = convert_to_tensor(value, preferred_dtype=requested).dtype.base_dtype
            requested = requested or found
    requested = requested or as_dtype("float32")
    on = convert_to_tensor(1 if on_value is None else on_value, dtype=requested, name="on_value")
    off = convert_to_tensor(
        0 if off_value is None else off_value, dtype=requested, name="off_value"
    )
    return op("OneHot", indices, depth, on, off, axis=-1 if axis is None else axis, name=name)


def sequence_mask(
    lengths: TensorLike,
    maxlen: TensorLike | None = None,
    dtype: DTypeLike = "bool",
    name: str | None = None,
) -> Tensor:
    """Creates a mask that is True for the first lengths[i] elements of row i.

    Returns: the shape of lengths + [maxlen]; maxlen is the maximum of lengths by default.
    """
    with name_scope(name or "SequenceMask"):
        lengths = convert_to_tensor(lengths)
        known = maxlen is not None
        if maxlen is None:
            axes = op("Range", 0, op("Rank", lengths), 1)
            maxlen = op(
                "Maximum", op("Max", lengths, axes), constant(0, dtype=lengths.dtype.base_dtype)
            )
        else:
            maxlen = int(maxlen) if isinstance(maxlen, float) else maxlen
            maxlen = convert_to_tensor(maxlen, dtype=lengths.dtype.base_dtype)
        row = op(
            "Range",
            constant(0, dtype=lengths.dtype.base_dtype),
            maxlen,
            constant(1, dtype=lengths.dtype.base_dtype),
        )
        count_nodes(1 if known or lengths.get_shape().ndims is None else -2)
        mask = op("Less", row, op("ExpandDims", lengths, -1))
        requested = as_dtype(dtype)
        return mask if requested.name == "bool" else op("Cast", mask, DstT=requested)

"""Tensors whose values a run brings."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.graph.conversion import constant
from headrace.graph.indexed_slices import SparseTensor
from headrace.graph.op_builder import op
from headrace.graph.operation import Tensor
from headrace.graph.tensor_shape import Dimension, as_dims


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor that every run which needs it must feed.

    Args:
      dtype: type of its elements.
      shape: shape, with None for unknown sizes; None for an unknown rank.
    """
    return op("Placeholder", dtype=as_dtype(dtype), shape=as_dims(shape), name=name)


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """A tensor that a run may feed; otherwise it has the value of input.

    Args:
      input: tensor, or what converts to one.
      shape: shape that a feed must have, and input has.
    """
    return op("PlaceholderWithDefault", input, shape=as_dims(shape), name=name)


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """A SparseTensor that every run which needs it must feed with a SparseTensorValue."""
    prefix = "" if name is None else name
    rank = None
    if shape is None:
        dense_shape = placeholder(
            as_dtype("int64"), [None], f"{prefix}/shape" if prefix else "shape"
        )
    else:
        sizes = [d.value if isinstance(d, Dimension) else d for d in shape]
        rank = len(sizes)
        known = np.array([-1 if d is None else d for d in sizes], np.int64)
        with_default = constant(known, name=f"{prefix}/shape" if prefix else "shape")
        dense_shape = op("PlaceholderWithDefault", with_default, shape=[rank])
    indices = placeholder(
        as_dtype("int64"), [None, rank], f"{prefix}/indices" if prefix else "indices"
    )
    values = placeholder(dtype, [None], f"{prefix}/values" if prefix else "values")
    return SparseTensor(indices, values, dense_shape)

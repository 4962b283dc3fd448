"""Types of arguments: what converts to a tensor, shapes, dtypes, and the callables of variables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union

import numpy as np

from headrace.formats.dtypes import DType

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from headrace.graph.builder.indexed_slices import (
        IndexedSlices,
        SparseTensor,
        SparseTensorValue,
    )
    from headrace.graph.client.session import BaseSession
    from headrace.graph.framework.operation import Operation, Tensor
    from headrace.graph.framework.tensor_shape import Dimension, TensorShape
    from headrace.graph.ops.tensor_arrays.tensor_array import TensorArray
    from headrace.graph.variables.partitioned_variable import PartitionedVariable
    from headrace.graph.variables.variable import Variable


class SupportsArray(Protocol):
    """An object that NumPy turns into an array."""

    def __array__(self, dtype: Any = ...) -> np.ndarray: ...


# What convert_to_tensor takes. Types that a program registers itself need a cast.
TensorLike: TypeAlias = Union[
    "Tensor",
    "Variable",
    "PartitionedVariable",
    "IndexedSlices",
    "TensorShape",
    "Dimension",
    np.ndarray,
    np.generic,
    SupportsArray,
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    Sequence["TensorLike"],
]
# A structure of lists, tuples and mappings of them.
TensorStructure: TypeAlias = TensorLike | Sequence[Any] | Mapping[Any, Any]
SparseLike: TypeAlias = Union["SparseTensor", "SparseTensorValue"]
# Nested lists, tuples and dicts of tensors and TensorArrays.
Structure: TypeAlias = Union[
    "Tensor", "TensorArray", Sequence["Structure"], Mapping[str, "Structure"]
]
DTypeLike: TypeAlias = DType | str | int | type | np.dtype
DTypeStructure: TypeAlias = DTypeLike | Sequence[Any] | Mapping[Any, Any]
# None is a shape of unknown rank.
ShapeLike: TypeAlias = Union[
    "TensorShape", "Message", np.ndarray, int, Sequence[Union[int, "Dimension", None]], None
]
GraphElement: TypeAlias = Union["Tensor", "Operation", "Variable", "SparseTensor", str]
FeedDict: TypeAlias = Mapping[Any, Any]
Collections: TypeAlias = Iterable[str]
Device: TypeAlias = str | Callable[["Operation"], Any] | None
Path: TypeAlias = Union[str, bytes, "os.PathLike[str]"]
Proto: TypeAlias = Union["Message"]
SessionLike: TypeAlias = Union["BaseSession"]

# Of windows: one number for all dimensions, or a number for each.
Ints: TypeAlias = int | Sequence[int]
Padding: TypeAlias = str | Sequence[Sequence[int]]

# Of variables. An initializer is called with a shape and a dtype.
VariableLike: TypeAlias = Union["Variable", "PartitionedVariable"]
Initializer: TypeAlias = Callable[..., Any] | TensorLike
Regularizer: TypeAlias = Callable[[Any], Any]
Constraint: TypeAlias = Callable[[Any], Any]
Partitioner: TypeAlias = Callable[..., Sequence[int]]

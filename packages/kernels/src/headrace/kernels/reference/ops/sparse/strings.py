"""Sparse tensors as strings: three serialised TensorProtos each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import InvalidArgumentError
from headrace.formats.proto.tensor_pb2 import TensorProto
from headrace.formats.tensor_codec import make_ndarray, make_tensor_proto
from headrace.kernels.reference.memory_needs import need_memory
from headrace.kernels.reference.ops.sparse.parts import (
    Sparse,
    check_inside,
    check_order,
    check_sizes,
    invalid,
)
from headrace.kernels.reference.precision import numpy_type
from headrace.kernels.reference.registry import Attrs, kernel


def _serialized(parts: Iterable[np.ndarray]) -> list[bytes]:
    """Numbers as bytes, however few they are: TensorFlow's form, byte for byte."""
    protos = []
    for part in parts:
        numbers = part.dtype.kind != "O"
        proto = make_tensor_proto(part[:0] if numbers else part)
        if numbers and part.size:
            proto.tensor_shape.dim[0].size = len(part)
            proto.tensor_content = np.ascontiguousarray(part).tobytes()
        protos.append(proto.SerializeToString())
    return protos


def _strings(rows: Any) -> np.ndarray:
    shape = np.shape(rows)
    result = np.empty(shape, object)
    result[...] = rows
    return result


@kernel("SerializeSparse")
def serialize_sparse(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray
) -> np.ndarray:
    return _strings(_serialized((indices, values, shape)))


@kernel("SerializeManySparse")
def serialize_many_sparse(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray
) -> np.ndarray:
    check_sizes(indices, values, shape)
    if shape.size < 2:
        raise invalid(f"Rank of input SparseTensor should be > 1, but saw rank: {shape.size}")
    check_inside(indices, shape)
    check_order(indices)
    rows = []
    need_memory(int(shape[0]), 300, "the rows")
    for row in range(int(shape[0])):
        inside = indices[:, 0] == row
        rows.append(_serialized((indices[inside][:, 1:], values[inside], shape[1:])))
    return _strings(rows) if rows else np.empty((0, 3), object)


@kernel("DeserializeSparse", "DeserializeManySparse")
def deserialize_sparse(attrs: Attrs, serialized: np.ndarray) -> Sparse:
    rows = serialized.reshape(-1, 3)
    outer = serialized.shape[:-1]
    dtype = numpy_type(attrs["dtype"])
    cells, held, inner = [], [], np.zeros(0, np.int64)
    for place, row in zip(np.ndindex(*outer), rows, strict=True):
        indices, values, shape = (make_ndarray(TensorProto.FromString(part)) for part in row)
        if values.dtype != dtype:
            raise InvalidArgumentError(
                None,
                None,
                f"Requested SparseTensor of type {as_dtype(dtype).name} but the values are of type "
                f"{as_dtype(values.dtype).name}",
            )
        front = np.tile(np.array(place, np.int64), (len(indices), 1))
        front = front.reshape(len(indices), len(place))
        cells.append(np.hstack([front, indices]))
        held.append(values)
        inner = np.maximum(inner, shape) if inner.size else shape
    shape = np.concatenate([np.array(outer, np.int64), inner])
    if not cells:
        return np.zeros((0, shape.size), np.int64), np.zeros(0, dtype), shape
    return np.concatenate(cells), np.concatenate(held), shape

"""Converts slices of partitioned tensors to and from TensorSliceProto."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.formats.errors import InvalidArgumentError
from headrace.formats.proto.tensor_pb2 import TensorSliceProto


def normal_extents(
    name: str, full: tuple[int, ...], starts: Sequence[int], lengths: Sequence[int]
) -> list[tuple[int, int]]:
    """Returns the canonical (start, length) per dimension; (0, -1) for a full dimension.

    Args:
      name: name of the tensor, for errors.
      full: shape of the tensor.
      starts: first index in each dimension.
      lengths: size in each dimension; -1 extends to the end.
    Raises: InvalidArgumentError if the slice does not fit the shape.
    """
    if len(starts) != len(full) or len(lengths) != len(full):
        raise InvalidArgumentError(
            None,
            None,
            f"slice of {name!r} has rank {len(starts)} and {len(lengths)}, the tensor {len(full)}",
        )
    extents = []
    for size, start, length in zip(full, starts, lengths, strict=True):
        length = size - start if length < 0 else length
        if start < 0 or start + length > size:
            raise InvalidArgumentError(
                None,
                None,
                f"slice {start}:{start + length} of {name!r} exceeds a dimension of {size}",
            )
        extents.append((0, -1) if (start, length) == (0, size) else (int(start), int(length)))
    return extents


def slice_proto(extents: list[tuple[int, int]]) -> TensorSliceProto:
    """Encodes the result of `normal_extents`."""
    proto = TensorSliceProto()
    for start, length in extents:
        extent = proto.extent.add()
        if length >= 0:
            extent.start = start
            extent.length = length
    return proto


def extents_of(proto: TensorSliceProto, dims: tuple[int, ...]) -> list[tuple[int, int]]:
    """Decodes a slice of a tensor of shape `dims` to (start, length) per dimension, unchecked."""
    out = []
    for i, e in enumerate(proto.extent):
        full = dims[i] if i < len(dims) else 0
        out.append((e.start, e.length if e.HasField("length") else full - e.start))
    return out

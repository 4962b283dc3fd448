"""Flattens structures with SparseTensors, IndexedSlices and TensorArrays to tensors."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.indexed_slices import (
    IndexedSlices,
    SparseTensor,
    convert_to_tensor_or_indexed_slices,
)
from headrace.graph.framework import nest
from headrace.graph.framework.operation import Tensor


def parts_of(leaf: Any) -> list[Tensor]:
    """Returns the tensors of one leaf of a structure."""
    if hasattr(leaf, "_with_flow"):  # TensorArray: its flow tensor orders its operations
        return [leaf.flow]
    leaf = leaf if isinstance(leaf, SparseTensor) else convert_to_tensor_or_indexed_slices(leaf)
    if isinstance(leaf, SparseTensor):
        return [leaf.indices, leaf.values, leaf.dense_shape]
    if isinstance(leaf, IndexedSlices):
        return [t for t in (leaf.values, leaf.indices, leaf.dense_shape) if t is not None]
    return [leaf]


def packed(structure: Any, flat: list[Tensor]) -> Any:
    """Packs tensors into a structure: the inverse of parts_of on all leaves."""
    parts = iter(flat)
    leaves: list[Any] = []
    for leaf in nest.flatten(structure):
        if hasattr(leaf, "_with_flow"):
            leaves.append(leaf._with_flow(next(parts)))
        elif isinstance(leaf, SparseTensor):
            leaves.append(SparseTensor(next(parts), next(parts), next(parts)))
        elif isinstance(leaf, IndexedSlices):
            values, indices = next(parts), next(parts)
            shape = None if leaf.dense_shape is None else next(parts)
            leaves.append(IndexedSlices(values, indices, shape))
        else:
            leaves.append(next(parts))
    return nest.pack_sequence_as(structure, leaves)

"""The tensors in a structure that goes through a branch or a loop."""

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
    """The tensors that make up a leaf of a structure."""
    if hasattr(leaf, "_with_flow"):  # TensorArray: its flow orders what is done to it
        return [leaf.flow]
    leaf = leaf if isinstance(leaf, SparseTensor) else convert_to_tensor_or_indexed_slices(leaf)
    if isinstance(leaf, SparseTensor):
        return [leaf.indices, leaf.values, leaf.dense_shape]
    if isinstance(leaf, IndexedSlices):
        return [t for t in (leaf.values, leaf.indices, leaf.dense_shape) if t is not None]
    return [leaf]


def packed(structure: Any, flat: list[Tensor]) -> Any:
    """Puts tensors into a structure: the inverse of parts_of on its leaves."""
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

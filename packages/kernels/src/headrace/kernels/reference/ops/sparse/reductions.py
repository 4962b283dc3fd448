"""Sums and maxima of sparse tensors over axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.kernels.reference.ops.reduction import reduction_axes
from headrace.kernels.reference.ops.sparse.parts import (
    Sparse,
    cells_of,
    check_sizes,
    invalid,
    sparse_tensor,
)
from headrace.kernels.reference.precision import wide
from headrace.kernels.reference.registry import Attrs, kernel


def _reduced(
    how: Callable[[np.ndarray], Any], attrs: Attrs, inputs: tuple[np.ndarray, ...]
) -> tuple[dict[tuple[int, ...], Any], list[int]]:
    """The cells that have values after the reduction, and the shape."""
    indices, values, shape, axes = inputs
    check_sizes(indices, values, shape)
    if axes.ndim > 1:
        raise invalid(
            f"Expected reduction_axes to be a scalar or a vector; got shape: {list(axes.shape)}"
        )
    rank = shape.size
    gone = reduction_axes(axes, rank)
    kept = [axis for axis in range(rank) if axis not in gone]
    groups: dict[tuple[int, ...], list[Any]] = {}
    for cell, value in zip(cells_of(indices), wide(values), strict=True):
        groups.setdefault(tuple(cell[axis] for axis in kept), []).append(value)
    dims = [int(shape[axis]) for axis in kept]
    reduced = {cell: how(np.array(group)) for cell, group in sorted(groups.items())}
    if attrs["keep_dims"]:
        reduced = {
            tuple(cell[kept.index(a)] if a in kept else 0 for a in range(rank)): value
            for cell, value in reduced.items()
        }
        dims = [int(shape[a]) if a in kept else 1 for a in range(rank)]
    return reduced, dims


def _reduce_dense(how: Any, attrs: Attrs, inputs: tuple[np.ndarray, ...]) -> np.ndarray:
    reduced, dims = _reduced(how, attrs, inputs)
    dense = np.zeros(dims, inputs[1].dtype)
    for cell, value in reduced.items():
        dense[cell] = value
    return dense


def _reduce_sparse(how: Any, attrs: Attrs, inputs: tuple[np.ndarray, ...]) -> Sparse:
    count = 1
    for size in inputs[2].ravel().tolist():
        if size < 0:
            raise invalid(f"Expected shape dimensions to be non-negative, got {size}")
        count *= size
        if count >= 2**63:
            raise invalid(f"Encountered overflow in the number of elements of {inputs[2].tolist()}")
    reduced, dims = _reduced(how, attrs, inputs)
    return sparse_tensor(reduced, list(reduced.values()), dims, inputs[1].dtype)


@kernel("SparseReduceSum")
def sparse_reduce_sum(attrs: Attrs, *inputs: np.ndarray) -> np.ndarray:
    return _reduce_dense(np.sum, attrs, inputs)


@kernel("SparseReduceMax")
def sparse_reduce_max(attrs: Attrs, *inputs: np.ndarray) -> np.ndarray:
    return _reduce_dense(np.max, attrs, inputs)


@kernel("SparseReduceSumSparse")
def sparse_reduce_sum_sparse(attrs: Attrs, *inputs: np.ndarray) -> Sparse:
    return _reduce_sparse(np.sum, attrs, inputs)


@kernel("SparseReduceMaxSparse")
def sparse_reduce_max_sparse(attrs: Attrs, *inputs: np.ndarray) -> Sparse:
    return _reduce_sparse(np.max, attrs, inputs)

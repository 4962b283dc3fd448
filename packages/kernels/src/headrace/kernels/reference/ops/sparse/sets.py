"""Sets, along the last axis of dense and sparse tensors; edit distances."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.kernels.reference.ops.arrays.arrays import zeros
from headrace.kernels.reference.ops.sparse.parts import (
    Sparse,
    cells_of,
    check_order,
    check_sizes,
    invalid,
    runs_of,
    sparse_tensor,
)
from headrace.kernels.reference.registry import Attrs, kernel

# ---- sets, along the last axis ----


def _sets_of_dense(values: np.ndarray) -> dict[tuple[int, ...], set[Any]]:
    if values.ndim < 2:
        raise invalid(f"Shape {list(values.shape)} has rank {values.ndim} < 2")
    rows = values.reshape((math.prod(values.shape[:-1]), values.shape[-1]))
    return {
        place: set(row.tolist())
        for place, row in zip(np.ndindex(*values.shape[:-1]), rows, strict=True)
    }


def _sets_of_sparse(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray
) -> dict[tuple[int, ...], set[Any]]:
    _check_shape(shape)
    check_sizes(indices, values, shape)
    if attrs["validate_indices"]:
        wrong = np.flatnonzero(((indices < 0) | (indices >= shape)).any(axis=-1))
        if wrong.size:
            raise invalid(
                f"indices[{wrong[0]}] = {indices[wrong[0]].tolist()} is out of bounds: need "
                f"0 <= index < {shape.tolist()}"
            )
        check_order(indices)
    runs = runs_of(cells_of(indices[:, :-1]))
    return {place: set(values[run].tolist()) for place, run in runs}


def _check_shape(shape: np.ndarray) -> None:
    if (shape < 0).any():
        raise invalid(
            f"Expected shape dimensions to be non-negative, got {int(shape[shape < 0][0])}"
        )
    if shape.size < 2:
        raise invalid(f"Invalid rank {shape.size}.")


def _check_groups(a: Any, b: Any) -> None:
    a, b = list(map(int, a)), list(map(int, b))
    if a != b:
        raise invalid(f"Mismatched shapes {a} vs {b}")


_OPERATIONS: dict[bytes, Callable[[set[Any], set[Any]], set[Any]]] = {
    b"a-b": lambda a, b: a - b,
    b"b-a": lambda a, b: b - a,
    b"intersection": lambda a, b: a & b,
    b"union": lambda a, b: a | b,
}


def _set_operation(attrs: Attrs, first: Any, second: Any, outer: Any, dtype: np.dtype) -> Sparse:
    name = attrs["set_operation"].lower()
    if name not in _OPERATIONS:
        raise invalid(f"Invalid set_operation {name.decode(errors='replace')}.")
    cells, values, longest = [], [], 0
    for place in sorted({*first, *second}):
        members = sorted(_OPERATIONS[name](first.get(place, set()), second.get(place, set())))
        longest = max(longest, len(members))
        cells += [(*place, i) for i in range(len(members))]
        values += members
    return sparse_tensor(cells, values, [*outer, longest], dtype)


@kernel("DenseToDenseSetOperation")
def dense_to_dense_set_operation(attrs: Attrs, a: np.ndarray, b: np.ndarray) -> Sparse:
    first, second = _sets_of_dense(a), _sets_of_dense(b)
    _check_groups(a.shape[:-1], b.shape[:-1])
    return _set_operation(attrs, first, second, a.shape[:-1], a.dtype)


@kernel("DenseToSparseSetOperation")
def dense_to_sparse_set_operation(attrs: Attrs, a: np.ndarray, *b: np.ndarray) -> Sparse:
    first, second = _sets_of_dense(a), _sets_of_sparse(attrs, *b)
    _check_groups(a.shape[:-1], b[2][:-1])
    return _set_operation(attrs, first, second, a.shape[:-1], a.dtype)


@kernel("SparseToSparseSetOperation")
def sparse_to_sparse_set_operation(attrs: Attrs, *inputs: np.ndarray) -> Sparse:
    a, b = inputs[:3], inputs[3:]
    first, second = _sets_of_sparse(attrs, *a), _sets_of_sparse(attrs, *b)
    _check_groups(a[2][:-1], b[2][:-1])
    return _set_operation(attrs, first, second, a[2][:-1].tolist(), a[1].dtype)


@kernel("SetSize")
def set_size(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray
) -> np.ndarray:
    sets = _sets_of_sparse(attrs, indices, values, shape)
    sizes = zeros(tuple(shape[:-1].tolist()), np.dtype(np.int32))
    for place, members in sets.items():
        _check_place(place, sizes)
        sizes[place] = len(members)
    return sizes


def _check_place(place: tuple[int, ...], result: np.ndarray) -> None:
    if not all(0 <= at < size for at, size in zip(place, result.shape, strict=True)):
        raise invalid(f"index {list(place)} is out of bounds of {list(result.shape)}")


# ---- distances ----


def _sequences(indices: np.ndarray, values: np.ndarray) -> list[tuple[Any, list[Any]]]:
    """Each run of one row, in order."""
    return [(cell, values[run].tolist()) for cell, run in runs_of(cells_of(indices[:, :-1]))]


def _levenshtein(a: list[Any], b: list[Any]) -> int:
    before = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y)))
        before = row
    return before[-1]


@kernel("EditDistance")
def edit_distance(
    attrs: Attrs,
    h_indices: np.ndarray,
    h_values: np.ndarray,
    h_shape: np.ndarray,
    t_indices: np.ndarray,
    t_values: np.ndarray,
    t_shape: np.ndarray,
) -> np.ndarray:
    check_sizes(h_indices, h_values, h_shape)
    check_sizes(t_indices, t_values, t_shape)
    hypotheses, truths = _sequences(h_indices, h_values), _sequences(t_indices, t_values)
    result = zeros(tuple(np.maximum(h_shape, t_shape)[:-1].tolist()), np.dtype(np.float32))
    i = j = 0
    while i < len(hypotheses) or j < len(truths):  # two sorted lists, walked together
        hypothesis: list[Any] = []
        truth: list[Any] = []
        if j == len(truths) or i < len(hypotheses) and hypotheses[i][0] <= truths[j][0]:
            place, hypothesis = hypotheses[i]
        else:
            place = truths[j][0]
        i += bool(hypothesis)
        if j < len(truths) and truths[j][0] == place:
            truth = truths[j][1]
            j += 1
        _check_place(place, result)
        distance: float = _levenshtein(hypothesis, truth)
        if attrs["normalize"]:
            distance = distance / len(truth) if truth else np.inf
        result[place] = distance
    return result

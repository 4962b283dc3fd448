"""Ragged tensors: rows of different lengths, as flat values and where each row begins and ends."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.memory_needs import need_memory
from headrace.kernels.reference.precision import numpy_type, wide
from headrace.kernels.reference.registry import Attrs, kernel


def _invalid(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


# ---- to dense tensors ----


@kernel("RaggedTensorToTensor")
def ragged_tensor_to_tensor(
    attrs: Attrs, shape: np.ndarray, values: np.ndarray, default: np.ndarray, *parts: np.ndarray
) -> np.ndarray:
    kinds = [kind.decode() for kind in attrs["row_partition_types"]]
    rows, lengths = _row_lengths(kinds, parts)
    sizes = [rows, *(max(one, default=0) for one in lengths), *values.shape[1:]]
    if shape.ndim:
        if len(shape) != len(sizes):
            raise _invalid(f"shape has rank {len(shape)}, but the ragged tensor has {len(sizes)}")
        for axis, size in enumerate(shape.tolist()):
            if size >= 0 and axis > len(lengths) and size != sizes[axis]:
                raise _invalid(
                    f"shape {shape.tolist()} does not fit values of shape {list(values.shape)}"
                )
            if size >= 0:
                sizes[axis] = size
    need_memory(math.prod(sizes), values.itemsize, "the dense tensor")
    result = np.empty(sizes, values.dtype)
    result[...] = default
    places: list[tuple[int, ...]] = [(row,) for row in range(rows)]
    for one in lengths:
        if len(one) != len(places):
            raise _invalid(f"a partition has {len(one)} rows instead of {len(places)}")
        pairs = zip(places, one, strict=True)
        places = [(*place, column) for place, length in pairs for column in range(length)]
    if len(places) != len(values):
        raise _invalid(f"there are {len(values)} values, but the partitions have {len(places)}")
    for place, value in zip(places, values, strict=True):
        if all(index < size for index, size in zip(place, sizes, strict=False)):
            result[place] = value
    return result


def _row_lengths(kinds: list[str], parts: tuple[np.ndarray, ...]) -> tuple[int, list[list[int]]]:
    """The number of rows, and the lengths of the rows of each ragged dimension."""
    if len(kinds) != len(parts) or not kinds:
        raise _invalid(f"there are {len(parts)} partitions, but {len(kinds)} types of them")
    if kinds[0] == "FIRST_DIM_SIZE":
        if parts[0].ndim:
            raise _invalid("the size of the first dimension must be a scalar")
        rows = int(parts[0])
        kinds, parts = kinds[1:], parts[1:]
    elif kinds[0] == "ROW_SPLITS":
        rows = max(0, len(parts[0]) - 1)
    else:
        raise _invalid(f"Cannot handle {kinds[0]} in first dimension")
    if rows < 0:
        raise _invalid(f"the size of the first dimension is negative: {rows}")
    found: list[list[int]] = []
    count = rows
    for kind, part in zip(kinds, parts, strict=True):
        if kind == "ROW_SPLITS":
            _check_splits(part)
            lengths = np.diff(part).tolist()
        elif kind == "VALUE_ROWIDS":
            if part.size and (part.min() < 0 or part.max() >= count or (np.diff(part) < 0).any()):
                raise _invalid(f"row ids must ascend from 0 to {count - 1}")
            lengths = np.bincount(part, minlength=count).tolist()
        else:
            raise _invalid(f"Cannot handle {kind}")
        found.append(lengths)
        count = sum(lengths)
    return rows, found


def _check_splits(splits: np.ndarray, size: int | None = None) -> None:
    if not splits.size:
        raise _invalid("Ragged splits may not be empty.")
    if splits[0] != 0:
        raise _invalid("First value of ragged splits must be 0.")
    if (np.diff(splits) < 0).any():
        raise _invalid("Ragged splits must not descend.")
    if size is not None and splits[-1] != size:
        raise _invalid("Last value of ragged splits must be the number of values.")


@kernel("RaggedTensorToSparse")
def ragged_tensor_to_sparse(attrs: Attrs, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    *nested, values = inputs
    if not values.ndim:
        raise _invalid("rt_dense_values must have at least one dimension")
    for splits, inner in zip(nested, [*nested[1:], None], strict=True):
        _check_splits(splits, len(values) if inner is None else len(inner) - 1)
    rows = np.arange(len(nested[0]) - 1, dtype=np.int64).reshape(-1, 1)
    sizes = [len(rows)]
    for splits in nested:
        lengths = np.diff(splits)
        columns = [column for length in lengths.tolist() for column in range(length)]
        numbers = np.array(columns, np.int64).reshape(-1, 1)
        rows = np.concatenate([np.repeat(rows, lengths, axis=0), numbers], axis=1)
        sizes.append(int(lengths.max(initial=0)))
    sizes += values.shape[1:]
    if values.ndim > 1:
        count = math.prod(values.shape[1:])
        within = np.stack(np.unravel_index(np.arange(count), values.shape[1:]), 1)
        repeated = np.tile(within, (len(rows), 1))
        rows = np.concatenate([np.repeat(rows, count, axis=0), repeated], axis=1)
    return rows.astype(np.int64), values.reshape(-1), np.array(sizes, np.int64)


# ---- parts and numbers ----


@kernel("RaggedGather")
def ragged_gather(attrs: Attrs, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    *nested, values, indices = inputs
    if not values.ndim:
        raise _invalid("params.rank must be nonzero")
    for splits, inner in zip(nested, [*nested[1:], None], strict=True):
        _check_splits(splits, len(values) if inner is None else len(inner) - 1)
    n_rows = len(nested[0]) - 1
    rows = indices.ravel().tolist()
    for place, row in enumerate(rows):
        if not 0 <= row < n_rows:
            at = list(map(int, np.unravel_index(place, indices.shape))) if indices.ndim else []
            raise _invalid(f"indices{at} = {row} is not in [0, {n_rows})")
    found = []
    for axis in range(1, indices.ndim):
        count = math.prod(indices.shape[:axis])
        found.append(np.arange(count + 1) * indices.shape[axis])
    spans = [(row, row + 1) for row in rows]
    for splits in nested:
        ends = [0]
        for begin, end in spans:
            ends += [ends[-1] - int(splits[begin]) + int(s) for s in splits[begin + 1 : end + 1]]
        found.append(np.array(ends))
        spans = [(int(splits[begin]), int(splits[end])) for begin, end in spans]
    if not indices.ndim:  # the row itself, without the dimension of rows
        found = found[1:]
    places = [place for begin, end in spans for place in range(begin, end)]
    splits_type = numpy_type(attrs["Tsplits"])
    return (*(one.astype(splits_type) for one in found), values[places])


@kernel("RaggedRange")
def ragged_range(
    attrs: Attrs, starts: np.ndarray, limits: np.ndarray, deltas: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    sizes = {x.size for x in (starts, limits, deltas) if x.ndim}
    if any(x.ndim > 1 for x in (starts, limits, deltas)):
        raise _invalid("starts, limits and deltas must be scalars or vectors")
    if len(sizes) > 1:
        raise _invalid("starts, limits, and deltas must have the same shape")
    rows = np.broadcast_arrays(*[wide(x).ravel() for x in (starts, limits, deltas)])
    pieces: list[Any] = []
    ends = [0]
    for start, limit, delta in zip(*(row.tolist() for row in rows), strict=True):
        if delta == 0:
            raise _invalid("Requires delta != 0")
        if starts.dtype.kind == "i":
            numbers = np.array(range(start, limit, delta), np.int64)
        else:
            count = max(0, math.ceil((limit - start) / delta))
            need_memory(count, 8, "the range")
            # As in TensorFlow, each number is the one before plus the step, rounded.
            numbers = np.full(count, delta, starts.dtype)
            numbers[:1] = start
            for place in range(1, count):
                numbers[place] = numbers[place - 1] + numbers[place]
        pieces.append(numbers)
        ends.append(ends[-1] + len(numbers))
    values = np.concatenate(pieces) if pieces else np.zeros(0)
    return np.array(ends, numpy_type(attrs["Tsplits"])), values.astype(starts.dtype)

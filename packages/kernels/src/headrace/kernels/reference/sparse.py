"""Sparse tensors: indices [n, rank] in order, values [n], a shape [rank]; sets; edit distance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import InvalidArgumentError
from headrace.formats.proto.tensor_pb2 import TensorProto
from headrace.formats.tensor_codec import make_ndarray, make_tensor_proto
from headrace.kernels.reference.arrays import zeros
from headrace.kernels.reference.memory_needs import need_memory
from headrace.kernels.reference.precision import numpy_type, wide
from headrace.kernels.reference.reduction import reduction_axes
from headrace.kernels.reference.registry import Attrs, kernel
from headrace.kernels.reference.string_hashes import fingerprint64, fingerprint_cat64

Sparse = tuple[np.ndarray, np.ndarray, np.ndarray]


def _cells(indices: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(row) for row in indices.tolist()]


def _sparse(cells: Iterable[tuple[int, ...]], values: list[Any], shape: Any, dtype: Any) -> Sparse:
    dims = np.asarray(shape, np.int64)
    held = np.empty(len(values), dtype)
    held[:] = values
    return np.array(list(cells), np.int64).reshape(len(values), dims.size), held, dims


def _check_inside(indices: np.ndarray, shape: np.ndarray) -> None:
    wrong = np.flatnonzero(((indices < 0) | (indices >= shape)).any(axis=-1))
    if wrong.size:
        raise InvalidArgumentError(
            None,
            None,
            f"indices[{wrong[0]}] = {indices[wrong[0]].tolist()} is out of bounds: need 0 <= index "
            f"< {shape.tolist()}",
        )


@kernel("SparseToDense")
def sparse_to_dense(
    attrs: Attrs,
    indices: np.ndarray,
    shape: np.ndarray,
    values: np.ndarray,
    default: np.ndarray,
) -> np.ndarray:
    rank = shape.size
    cells = indices.reshape(-1, rank) if indices.ndim else indices.reshape(1, 1)
    _check_inside(cells, shape)
    if attrs["validate_indices"] and len(cells) > 1:
        flat = np.ravel_multi_index(tuple(cells.T), tuple(shape.tolist()))
        wrong = np.flatnonzero(np.diff(flat) <= 0)
        if wrong.size:
            what = "repeated" if flat[wrong[0]] == flat[wrong[0] + 1] else "out of order"
            raise InvalidArgumentError(
                None, None, f"indices[{wrong[0] + 1}] = {cells[wrong[0] + 1].tolist()} is {what}"
            )
    dense = np.full(tuple(shape.tolist()), default, values.dtype)
    dense[tuple(cells.T)] = values
    return dense


@kernel("SparseReorder")
def sparse_reorder(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    order = np.lexsort(indices.T[::-1]) if indices.size else np.arange(len(indices))
    return indices[order], values[order]


@kernel("SparseReshape")
def sparse_reshape(
    attrs: Attrs, indices: np.ndarray, shape: np.ndarray, new_shape: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    total, target = int(np.prod(shape)), new_shape.copy()
    if np.any(target == -1):
        rest = int(np.prod(target[target != -1]))
        target[target == -1] = total // rest if rest else 0
    if int(np.prod(target)) != total:
        raise InvalidArgumentError(
            None,
            None,
            f"a tensor of {total} dense values cannot be reshaped to {new_shape.tolist()}",
        )
    flat = np.ravel_multi_index(tuple(indices.T), tuple(shape.tolist()))
    moved = np.stack(np.unravel_index(flat, tuple(target.tolist())), axis=-1)
    return moved.reshape(-1, target.size).astype(np.int64), target


@kernel("SparseConcat")
def sparse_concat(attrs: Attrs, *inputs: np.ndarray) -> Sparse:
    n = attrs["N"]
    indices, values, shapes = inputs[:n], inputs[n : 2 * n], inputs[2 * n :]
    axis = attrs["concat_dim"] % shapes[0].size
    moved, start = [], 0
    for cells, shape in zip(indices, shapes, strict=True):
        shifted = cells.copy()
        shifted[:, axis] += start
        moved.append(shifted)
        start += int(shape[axis])
    shape = shapes[0].copy()
    shape[axis] = start
    return (*sparse_reorder(attrs, np.concatenate(moved), np.concatenate(values), shape), shape)


@kernel("SparseSplit")
def sparse_split(
    attrs: Attrs, axis: np.ndarray, indices: np.ndarray, values: np.ndarray, shape: np.ndarray
) -> list[np.ndarray]:
    count, along = attrs["num_split"], int(axis.item()) % shape.size
    size, more = divmod(int(shape[along]), count)
    parts, start = [], 0
    for number in range(count):
        length = size + (number < more)
        inside = (indices[:, along] >= start) & (indices[:, along] < start + length)
        cells, dims = indices[inside].copy(), shape.copy()
        cells[:, along] -= start
        dims[along] = length
        parts.append((cells, values[inside], dims))
        start += length
    return [part[which] for which in range(3) for part in parts]


@kernel("SparseSlice")
def sparse_slice(
    attrs: Attrs,
    indices: np.ndarray,
    values: np.ndarray,
    shape: np.ndarray,
    start: np.ndarray,
    size: np.ndarray,
) -> Sparse:
    end = np.minimum(start + size, shape)
    inside = ((indices >= start) & (indices < end)).all(axis=1)
    return indices[inside] - start, values[inside], np.maximum(end - start, 0)


@kernel("SparseSliceGrad")
def sparse_slice_grad(
    attrs: Attrs,
    grad: np.ndarray,
    indices: np.ndarray,
    start: np.ndarray,
    kept: np.ndarray,
) -> np.ndarray:
    by_cell = dict(zip(_cells(kept + start), grad, strict=True))
    return np.array([by_cell.get(cell, 0) for cell in _cells(indices)], grad.dtype)


@kernel("SparseFillEmptyRows")
def sparse_fill_empty_rows(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, default: np.ndarray
) -> tuple[np.ndarray, ...]:
    rows = int(shape[0])
    empty = np.ones(rows, bool)
    empty[indices[:, 0]] = False
    extra = np.zeros((int(empty.sum()), shape.size), np.int64)
    extra[:, 0] = np.flatnonzero(empty)
    cells = np.concatenate([indices, extra])
    held = np.concatenate([values, np.full(len(extra), default, values.dtype)])
    order = np.argsort(cells[:, 0], kind="stable")
    places = np.empty(len(cells), np.int64)
    places[order] = np.arange(len(cells))
    return cells[order], held[order], empty, places[: len(indices)]


@kernel("SparseFillEmptyRowsGrad")
def sparse_fill_empty_rows_grad(
    attrs: Attrs, places: np.ndarray, grad: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    filled = np.ones(len(grad), bool)
    filled[places] = False
    return grad[places], np.asarray(wide(grad)[filled].sum()).astype(grad.dtype)


# ---- sums ----


def _united(a: np.ndarray, b: np.ndarray) -> list[tuple[int, ...]]:
    return sorted({*_cells(a), *_cells(b)})


@kernel("SparseAdd")
def sparse_add(
    attrs: Attrs,
    a_indices: np.ndarray,
    a_values: np.ndarray,
    a_shape: np.ndarray,
    b_indices: np.ndarray,
    b_values: np.ndarray,
    b_shape: np.ndarray,
    threshold: np.ndarray,
) -> Sparse:
    if a_shape.tolist() != b_shape.tolist():
        raise ValueError(f"shapes differ: a is {a_shape.tolist()}, b is {b_shape.tolist()}")
    a = dict(zip(_cells(a_indices), a_values, strict=True))
    b = dict(zip(_cells(b_indices), b_values, strict=True))
    zero = a_values.dtype.type(0)
    kept = {}
    for cell in _united(a_indices, b_indices):
        total = a.get(cell, zero) + b.get(cell, zero)
        if np.abs(total) >= threshold or cell not in a or cell not in b:
            kept[cell] = total
    return _sparse(kept, list(kept.values()), a_shape, a_values.dtype)


@kernel("SparseAddGrad")
def sparse_add_grad(
    attrs: Attrs, grad: np.ndarray, a: np.ndarray, b: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    by_cell = dict(zip(_cells(total), grad, strict=True))
    a_grad, b_grad = (
        np.array([by_cell.get(cell, 0) for cell in _cells(cells)], grad.dtype) for cells in (a, b)
    )
    return a_grad, b_grad


@kernel("SparseTensorDenseAdd")
def sparse_tensor_dense_add(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, b: np.ndarray
) -> np.ndarray:
    _check_inside(indices, shape)
    total = wide(b).copy()
    np.add.at(total, tuple(indices.T), wide(values))
    return total.astype(b.dtype)


def _dense_at(indices: np.ndarray, shape: np.ndarray, dense: np.ndarray) -> np.ndarray:
    whole = np.broadcast_to(dense, tuple(shape.tolist()))
    return wide(whole[tuple(indices.T)])


@kernel("SparseDenseCwiseAdd")
def sparse_dense_add(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, dense: np.ndarray
) -> np.ndarray:
    return (wide(values) + _dense_at(indices, shape, dense)).astype(values.dtype)


@kernel("SparseDenseCwiseMul")
def sparse_dense_mul(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, dense: np.ndarray
) -> np.ndarray:
    return (wide(values) * _dense_at(indices, shape, dense)).astype(values.dtype)


@kernel("SparseDenseCwiseDiv")
def sparse_dense_div(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, dense: np.ndarray
) -> np.ndarray:
    divisor = _dense_at(indices, shape, dense)
    if values.dtype.kind in "iu":
        quotient = np.trunc(values / divisor.astype(np.float64))
        return quotient.astype(values.dtype)
    return (wide(values) / divisor).astype(values.dtype)


@kernel("SparseSoftmax")
def sparse_softmax(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray
) -> np.ndarray:
    """Along the last axis, over the values that are there."""
    result = np.empty(len(values))
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, cell in enumerate(_cells(indices)):
        groups.setdefault(cell[:-1], []).append(place)
    for places in groups.values():
        scores = np.exp(wide(values)[places] - wide(values)[places].max())
        result[places] = scores / scores.sum()
    return result.astype(values.dtype)


def _sparse_sparse(choose: Callable[..., Any], inputs: tuple[np.ndarray, ...]) -> Any:
    a_indices, a_values, _, b_indices, b_values, _ = inputs
    a = dict(zip(_cells(a_indices), a_values, strict=True))
    b = dict(zip(_cells(b_indices), b_values, strict=True))
    zero = a_values.dtype.type(0)
    cells = _united(a_indices, b_indices)
    values = [choose(a.get(cell, zero), b.get(cell, zero)) for cell in cells]
    return (
        np.array(cells, np.int64).reshape(-1, a_indices.shape[1]),
        np.array(values, a_values.dtype),
    )


@kernel("SparseSparseMaximum")
def sparse_sparse_maximum(attrs: Attrs, *inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return _sparse_sparse(np.maximum, inputs)


@kernel("SparseSparseMinimum")
def sparse_sparse_minimum(attrs: Attrs, *inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return _sparse_sparse(np.minimum, inputs)


@kernel("SparseTensorDenseMatMul")
def sparse_tensor_dense_matmul(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, b: np.ndarray
) -> np.ndarray:
    _check_inside(indices, shape)
    rows, columns = indices.T
    outer = int(shape[0])
    held, dense = wide(values), wide(b)
    if attrs["adjoint_a"]:
        rows, columns, outer, held = columns, rows, int(shape[1]), np.conj(held)
    if attrs["adjoint_b"]:
        dense = np.conj(dense.T)
    product = np.zeros((outer, dense.shape[1]), np.result_type(held, dense))
    np.add.at(product, rows, held[:, np.newaxis] * dense[columns])
    return product.astype(b.dtype)


# ---- reductions ----


def _reduced(
    how: Callable[[np.ndarray], Any], attrs: Attrs, inputs: tuple[np.ndarray, ...]
) -> tuple[dict[tuple[int, ...], Any], list[int]]:
    """The cells that have values after the reduction, and the shape."""
    indices, values, shape, axes = inputs
    rank = shape.size
    gone = reduction_axes(axes, rank)
    kept = [axis for axis in range(rank) if axis not in gone]
    groups: dict[tuple[int, ...], list[Any]] = {}
    for cell, value in zip(_cells(indices), wide(values), strict=True):
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
    reduced, dims = _reduced(how, attrs, inputs)
    return _sparse(reduced, list(reduced.values()), dims, inputs[1].dtype)


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


# ---- crosses of features ----


@kernel("SparseCross")
def sparse_cross(attrs: Attrs, *inputs: np.ndarray) -> Sparse:
    n = attrs["N"]
    indices, values, shapes = inputs[:n], inputs[n : 2 * n], inputs[2 * n : 3 * n]
    dense = inputs[3 * n :]
    sizes = [int(shape[0]) for shape in shapes] + [len(column) for column in dense]
    if not sizes:
        raise InvalidArgumentError(None, None, "there must be at least one feature column")
    batch = sizes[0]
    if any(size != batch for size in sizes):
        raise InvalidArgumentError(None, None, f"Expected batch size {batch}, got {sizes}")
    columns: list[dict[int, list[Any]]] = []
    for cells, held in zip(indices, values, strict=True):
        rows: dict[int, list[Any]] = {}
        for cell, value in zip(cells.tolist(), held.tolist(), strict=True):
            if not 0 <= cell[0] < batch:
                raise InvalidArgumentError(
                    None, None, f"index {cell} is outside of a batch of {batch} rows"
                )
            rows.setdefault(cell[0], []).append(value)
        columns.append(rows)
    columns += [dict(enumerate(column.tolist())) for column in dense]
    # A row in which a column has no feature has no crosses.
    crossing = sorted(set.intersection(*(set(column) for column in columns)))
    count = sum(math.prod(len(column[row]) for column in columns) for row in crossing)
    need_memory(count, 200, "the crosses")
    found: dict[tuple[int, ...], Any] = {}
    longest = 0
    for row in crossing:
        crossed = [_cross(attrs, one) for one in itertools.product(*[c[row] for c in columns])]
        longest = max(longest, len(crossed))
        found.update(((row, place), value) for place, value in enumerate(crossed))
    dtype = numpy_type(attrs["out_type"])
    return _sparse(found, list(found.values()), [batch, longest], dtype)


def _cross(attrs: Attrs, features: tuple[Any, ...]) -> Any:
    if not attrs["hashed_output"]:
        texts = [f if isinstance(f, bytes) else str(f).encode() for f in features]
        return b"_X_".join(texts)
    total = attrs["hash_key"]
    for feature in features:
        number = fingerprint64(feature) if isinstance(feature, bytes) else feature % 2**64
        total = fingerprint_cat64(total, number)
    return total % (attrs["num_buckets"] or 2**63 - 1)


# ---- as strings ----


def _serialized(parts: Iterable[np.ndarray]) -> list[bytes]:
    return [make_tensor_proto(part).SerializeToString() for part in parts]


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


# ---- sets, along the last axis ----


def _sets_of_dense(values: np.ndarray) -> dict[tuple[int, ...], set[Any]]:
    rows = values.reshape((-1, values.shape[-1]))
    return {
        place: set(row.tolist())
        for place, row in zip(np.ndindex(*values.shape[:-1]), rows, strict=True)
    }


def _sets_of_sparse(
    indices: np.ndarray, values: np.ndarray, shape: np.ndarray
) -> dict[tuple[int, ...], set[Any]]:
    sets: dict[tuple[int, ...], set[Any]] = {}
    for cell, value in zip(_cells(indices), values.tolist(), strict=True):
        sets.setdefault(cell[:-1], set()).add(value)
    return sets


_OPERATIONS: dict[bytes, Callable[[set[Any], set[Any]], set[Any]]] = {
    b"a-b": lambda a, b: a - b,
    b"b-a": lambda a, b: b - a,
    b"intersection": lambda a, b: a & b,
    b"union": lambda a, b: a | b,
}


def _set_operation(attrs: Attrs, first: Any, second: Any, outer: Any, dtype: np.dtype) -> Sparse:
    name = attrs["set_operation"].lower()
    if name not in _OPERATIONS:
        raise InvalidArgumentError(None, None, f"Invalid set_operation {name.decode()}.")
    cells, values, longest = [], [], 0
    for place in sorted({*first, *second}):
        members = sorted(_OPERATIONS[name](first.get(place, set()), second.get(place, set())))
        longest = max(longest, len(members))
        cells += [(*place, i) for i in range(len(members))]
        values += members
    return _sparse(cells, values, [*outer, longest], dtype)


@kernel("DenseToDenseSetOperation")
def dense_to_dense_set_operation(attrs: Attrs, a: np.ndarray, b: np.ndarray) -> Sparse:
    return _set_operation(attrs, _sets_of_dense(a), _sets_of_dense(b), a.shape[:-1], a.dtype)


@kernel("DenseToSparseSetOperation")
def dense_to_sparse_set_operation(attrs: Attrs, a: np.ndarray, *b: np.ndarray) -> Sparse:
    return _set_operation(attrs, _sets_of_dense(a), _sets_of_sparse(*b), a.shape[:-1], a.dtype)


@kernel("SparseToSparseSetOperation")
def sparse_to_sparse_set_operation(attrs: Attrs, *inputs: np.ndarray) -> Sparse:
    a, b = inputs[:3], inputs[3:]
    outer = np.maximum(a[2][:-1], b[2][:-1]).tolist()
    return _set_operation(attrs, _sets_of_sparse(*a), _sets_of_sparse(*b), outer, a[1].dtype)


@kernel("SetSize")
def set_size(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray
) -> np.ndarray:
    sizes = np.zeros(tuple(shape[:-1].tolist()), np.int32)
    for place, members in _sets_of_sparse(indices, values, shape).items():
        sizes[place] = len(members)
    return sizes


# ---- distances ----


def _sequences(indices: np.ndarray, values: np.ndarray) -> dict[tuple[int, ...], list[Any]]:
    rows: dict[tuple[int, ...], list[Any]] = {}
    for cell, value in zip(_cells(indices), values.tolist(), strict=True):
        rows.setdefault(cell[:-1], []).append(value)
    return rows


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
    hypotheses, truths = _sequences(h_indices, h_values), _sequences(t_indices, t_values)
    result = zeros(tuple(np.maximum(h_shape, t_shape)[:-1].tolist()), np.dtype(np.float32))
    for place in {*hypotheses, *truths}:
        truth = truths.get(place, [])
        distance: float = _levenshtein(hypotheses.get(place, []), truth)
        if attrs["normalize"]:
            distance = distance / len(truth) if truth else np.inf
        result[place] = distance
    return result

"""Sparse tensors: indices [n, rank] in order, values [n], a shape [rank]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.ops.sparse.parts import (
    Sparse,
    cells_of,
    check_inside,
    check_sizes,
    invalid,
    runs_of,
    sparse_tensor,
)
from headrace.kernels.reference.precision import wide
from headrace.kernels.reference.registry import Attrs, kernel


@kernel("SparseToDense")
def sparse_to_dense(
    attrs: Attrs,
    indices: np.ndarray,
    shape: np.ndarray,
    values: np.ndarray,
    default: np.ndarray,
) -> np.ndarray:
    rank = shape.size
    if default.ndim:
        raise invalid("default_value should be a scalar.")
    if shape.ndim != 1:
        raise invalid(f"output_shape should be a vector, got shape {list(shape.shape)}")
    count = len(indices) if indices.ndim else 1
    if values.ndim and values.shape != (count,):
        raise invalid(
            f"sparse_values has incorrect shape {list(values.shape)}, should be [] or [{count}]"
        )
    cells = indices.reshape(-1, rank) if indices.ndim else indices.reshape(1, 1)
    check_inside(cells, shape)
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
    check_sizes(indices, values, shape)
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
    count, rank = attrs["num_split"], shape.size
    check_sizes(indices, values, shape)
    if axis.ndim:
        raise invalid(f"Input axis should be a scalar but received shape {list(axis.shape)}")
    if not -rank <= int(axis) < rank:
        raise invalid(f"Input axis should be in range [{-rank}, {rank}), got {int(axis)}")
    along = int(axis) % rank
    if not 1 <= count <= shape[along]:
        raise invalid(
            "Input num_split should be between 1 and the splitting dimension size "
            f"({int(shape[along])}), got {count}"
        )
    check_inside(indices, shape)
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
    check_sizes(indices, values, shape)
    for name, argument in (("start", start), ("size", size)):
        if argument.ndim != 1:
            raise invalid(
                f"Input {name} should be a vector but received shape {list(argument.shape)}"
            )
        if argument.size != shape.size:
            raise invalid(
                f"Expected {name} to be a vector of length {shape.size} "
                f"but got length {argument.size}"
            )
    if (size < 0).any():
        raise invalid(f"Expected a non-negative size, got {size.tolist()}")
    end = np.minimum(np.where(start > shape - size, shape, start + size), shape)
    # As in TensorFlow, of start and size alone: a cell beside the shape may be in the slice.
    inside = ((indices >= start) & (indices - start < size)).all(axis=1)
    return indices[inside] - start, values[inside], np.maximum(end - start, 0)


@kernel("SparseSliceGrad")
def sparse_slice_grad(
    attrs: Attrs,
    grad: np.ndarray,
    indices: np.ndarray,
    start: np.ndarray,
    kept: np.ndarray,
) -> np.ndarray:
    rank = indices.shape[1]
    if grad.ndim != 1 or start.ndim != 1:
        raise invalid(
            "backprop_val_grad and input_start must be vectors, their shapes are "
            f"{list(grad.shape)} and {list(start.shape)}"
        )
    if kept.shape[1] != rank:
        raise invalid(
            f"The input and output should have the same ndims: got: {rank} and {kept.shape[1]}"
        )
    if start.size != rank:
        raise invalid(
            f"Expected input_start to be a vector of length {rank} but got length {start.size}"
        )
    if len(kept) != len(grad):
        raise invalid(f"{len(grad)} elements of backprop_val_grad, but {len(kept)} output_indices")
    result, used = np.zeros(len(indices), grad.dtype), 0
    requested = cells_of(kept + start)
    for place, cell in enumerate(cells_of(indices)):  # both in the order of the slice
        if used < len(requested) and cell == requested[used]:
            result[place] = grad[used]
            used += 1
    if used != len(grad):
        raise invalid(
            "Elements of backprop_val_grad aren't all propagated. "
            f"Num elements:{len(grad)}, used: {used}"
        )
    return result


@kernel("SparseFillEmptyRows")
def sparse_fill_empty_rows(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, default: np.ndarray
) -> tuple[np.ndarray, ...]:
    check_sizes(indices, values, shape)
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


def _check_operands(inputs: tuple[np.ndarray, ...]) -> None:
    """Rejects a and b that are not sparse tensors of one shape."""
    check_sizes(*inputs[:3])
    check_sizes(*inputs[3:6])
    a, b = inputs[2].tolist(), inputs[5].tolist()
    if len(a) != len(b):
        raise invalid(f"Ranks of input tensors must match, but saw ranks: {len(a)} and {len(b)}")
    for axis, (one, other) in enumerate(zip(a, b, strict=True)):
        if one != other:
            raise invalid(
                f"Operands' shapes do not match: got {one} and {other} for dimension {axis}"
            )


def _merged(a: np.ndarray, b: np.ndarray) -> list[tuple[tuple[int, ...], int | None, int | None]]:
    """Each cell of both with its places in a and b, in one walk over two sorted lists."""
    ours, theirs = cells_of(a), cells_of(b)
    found: list[tuple[tuple[int, ...], int | None, int | None]] = []
    i = j = 0
    while i < len(ours) or j < len(theirs):
        if j == len(theirs) or i < len(ours) and ours[i] < theirs[j]:
            found.append((ours[i], i, None))
            i += 1
        elif i == len(ours) or theirs[j] < ours[i]:
            found.append((theirs[j], None, j))
            j += 1
        else:
            found.append((ours[i], i, j))
            i, j = i + 1, j + 1
    return found


@kernel("SparseAdd")
def sparse_add(attrs: Attrs, *inputs: np.ndarray) -> Sparse:
    a_indices, a, shape, b_indices, b, _, threshold = inputs
    if threshold.ndim:
        raise invalid(
            f"The magnitude threshold must be a scalar: got shape {list(threshold.shape)}"
        )
    _check_operands(inputs)
    cells, values = [], []
    for cell, i, j in _merged(a_indices, b_indices):
        if i is not None and j is not None:
            total = a[i] + b[j]
            if np.abs(total) < threshold:
                continue
        else:
            total = a[i] if i is not None else b[j]
        cells.append(cell)
        values.append(total)
    return sparse_tensor(cells, values, shape, a.dtype)


@kernel("SparseAddGrad")
def sparse_add_grad(
    attrs: Attrs, grad: np.ndarray, a: np.ndarray, b: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    ranks = [x.shape[1] for x in (a, b, total)]
    if len({*ranks}) > 1:
        raise invalid(
            "The densified operands should have the same ndims; for A, B, sum got: "
            + ", ".join(map(str, ranks))
        )
    return _taken(cells_of(a), cells_of(total), grad), _taken(cells_of(b), cells_of(total), grad)


def _taken(
    cells: list[tuple[int, ...]], total: list[tuple[int, ...]], grad: np.ndarray
) -> np.ndarray:
    """The gradient of each cell, in one walk along both lists: what is out of order has none."""
    taken = np.zeros(len(cells), grad.dtype)
    at = 0
    for cell, value in zip(total, grad, strict=True):
        while at < len(cells) and cells[at] <= cell:
            if cells[at] == cell:
                taken[at] = value
            at += 1
    return taken


@kernel("SparseTensorDenseAdd")
def sparse_tensor_dense_add(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, b: np.ndarray
) -> np.ndarray:
    check_sizes(indices, values, shape)
    if shape.size != b.ndim:
        raise invalid(
            f"Two operands have different ranks: sparse side {shape.size} vs dense side {b.ndim}"
        )
    for axis, (one, other) in enumerate(zip(shape.tolist(), b.shape, strict=True)):
        if one != other:
            raise invalid(
                f"Dimension {axis} does not equal (no broadcasting is supported): sparse side "
                f"{one} vs dense side {other}"
            )
    check_inside(indices, shape)
    total = wide(b).copy()
    np.add.at(total, tuple(indices.T), wide(values))
    return total.astype(b.dtype)


def _dense_at(
    indices: np.ndarray, values: np.ndarray, shape: np.ndarray, dense: np.ndarray
) -> np.ndarray:
    """The elements of the dense side, broadcast, that meet the values of the sparse side."""
    check_sizes(indices, values, shape)
    if ((indices < 0) | (indices >= shape)).any():
        raise invalid("Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape")
    whole = np.broadcast_to(dense, tuple(shape.tolist()))
    return wide(whole[tuple(indices.T)])


@kernel("SparseDenseCwiseAdd")
def sparse_dense_add(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, dense: np.ndarray
) -> np.ndarray:
    return (wide(values) + _dense_at(indices, values, shape, dense)).astype(values.dtype)


@kernel("SparseDenseCwiseMul")
def sparse_dense_mul(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, dense: np.ndarray
) -> np.ndarray:
    return (wide(values) * _dense_at(indices, values, shape, dense)).astype(values.dtype)


@kernel("SparseDenseCwiseDiv")
def sparse_dense_div(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, dense: np.ndarray
) -> np.ndarray:
    divisor = _dense_at(indices, values, shape, dense)
    if values.dtype.kind in "iu":
        quotient = np.trunc(values / divisor.astype(np.float64))
        return quotient.astype(values.dtype)
    return (wide(values) / divisor).astype(values.dtype)


@kernel("SparseSoftmax")
def sparse_softmax(
    attrs: Attrs, indices: np.ndarray, values: np.ndarray, shape: np.ndarray
) -> np.ndarray:
    """Along the last axis, over the values that are there; in the order of sorted indices."""
    if shape.size < 2:
        raise invalid(f"Input should have rank >= 2, but received shape: {shape.tolist()}")
    check_sizes(indices, values, shape)
    order = np.lexsort(indices.T[::-1])
    result, held = np.empty(len(values)), wide(values)[order]
    for _, places in runs_of(cells_of(indices[order, :-1])):
        scores = np.exp(held[places] - held[places].max())
        result[places] = scores / scores.sum()
    return result.astype(values.dtype)


def _sparse_sparse(choose: Callable[..., Any], inputs: tuple[np.ndarray, ...]) -> Any:
    a_indices, a, shape, b_indices, b, _ = inputs
    _check_operands(inputs)
    check_inside(a_indices, shape)
    check_inside(b_indices, shape)
    zero = a.dtype.type(0)
    merged = _merged(a_indices, b_indices)
    values = [
        choose(zero if i is None else a[i], zero if j is None else b[j]) for _, i, j in merged
    ]
    cells = [cell for cell, _, _ in merged]
    return (
        np.array(cells, np.int64).reshape(-1, a_indices.shape[1]),
        np.array(values, a.dtype),
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
    check_sizes(indices, values, shape)
    check_inside(indices, shape)
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

"""Rows that belong together, by segment id, into one row each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.memory_needs import need_memory
from headrace.kernels.reference.ops.gather import check_indices
from headrace.kernels.reference.precision import wide
from headrace.kernels.reference.registry import Attrs, kernel

# ---- ids in order ----


@kernel("SegmentSum", "SegmentSumV2")
def segment_sum(attrs: Attrs, data: np.ndarray, ids: np.ndarray, *count: np.ndarray) -> np.ndarray:
    return _ordered(np.add, 0, data, ids, *count)


@kernel("SegmentProd", "SegmentProdV2")
def segment_prod(attrs: Attrs, data: np.ndarray, ids: np.ndarray, *count: np.ndarray) -> np.ndarray:
    return _ordered(np.multiply, 1, data, ids, *count)


@kernel("SegmentMax", "SegmentMaxV2")
def segment_max(attrs: Attrs, data: np.ndarray, ids: np.ndarray, *count: np.ndarray) -> np.ndarray:
    # Without a count, an id without rows gives 0; with one, the least value.
    empty = _least(data) if count else 0
    return _ordered(np.maximum, empty, data, ids, *count)


@kernel("SegmentMin", "SegmentMinV2")
def segment_min(attrs: Attrs, data: np.ndarray, ids: np.ndarray, *count: np.ndarray) -> np.ndarray:
    empty = _greatest(data) if count else 0
    return _ordered(np.minimum, empty, data, ids, *count)


@kernel("SegmentMean")
def segment_mean(attrs: Attrs, data: np.ndarray, ids: np.ndarray) -> np.ndarray:
    totals = _ordered(np.add, 0, wide(data), ids)
    counts = np.maximum(np.bincount(ids.ravel(), minlength=len(totals)), 1)
    counts = counts.reshape((-1,) + (1,) * (totals.ndim - 1))
    if data.dtype.kind in "iu":
        quotient = np.sign(totals) * (np.abs(totals) // counts.astype(totals.dtype))
        return quotient.astype(data.dtype)
    return (totals / counts).astype(data.dtype)


def _ordered(
    how: np.ufunc, empty: Any, data: np.ndarray, ids: np.ndarray, *count: np.ndarray
) -> np.ndarray:
    if ids.shape != data.shape[:1]:
        raise InvalidArgumentError(
            None, None, "segment_ids should be the same size as dimension 0 of input."
        )
    if np.any(np.diff(ids) < 0):
        raise InvalidArgumentError(None, None, "segment ids are not increasing")
    if ids.size and ids[0] < 0:
        raise InvalidArgumentError(None, None, "segment ids must be >= 0")
    rows = int(count[0]) if count else (int(ids[-1]) + 1 if ids.size else 0)
    check_indices(ids, rows, "segment_ids")
    return _grouped(how, empty, data, ids, rows)


def _grouped(how: np.ufunc, empty: Any, data: np.ndarray, ids: np.ndarray, rows: int) -> np.ndarray:
    """[rows, ...] of `how` over the data of each id; `empty` where an id has none."""
    identity: Any
    if how is np.add:
        identity = 0
    elif how is np.multiply:
        identity = 1
    else:
        identity = _least(data) if how is np.maximum else _greatest(data)
    values = wide(data)
    result = np.full((rows,) + data.shape[ids.ndim :], identity, values.dtype)
    how.at(result, ids, values)
    missing = np.ones(rows, bool)
    missing[ids.ravel()] = False
    result[missing] = empty
    return result.astype(data.dtype)


def _least(data: np.ndarray) -> Any:
    return as_dtype(data.dtype).min


def _greatest(data: np.ndarray) -> Any:
    return as_dtype(data.dtype).max


# ---- ids in any order; negative ones are dropped ----


@kernel("UnsortedSegmentSum")
def unsorted_segment_sum(
    attrs: Attrs, data: np.ndarray, ids: np.ndarray, count: np.ndarray
) -> np.ndarray:
    return _unordered(np.add, 0, data, ids, count)


@kernel("UnsortedSegmentProd")
def unsorted_segment_prod(
    attrs: Attrs, data: np.ndarray, ids: np.ndarray, count: np.ndarray
) -> np.ndarray:
    return _unordered(np.multiply, 1, data, ids, count)


@kernel("UnsortedSegmentMax")
def unsorted_segment_max(
    attrs: Attrs, data: np.ndarray, ids: np.ndarray, count: np.ndarray
) -> np.ndarray:
    return _unordered(np.maximum, _least(data), data, ids, count)


@kernel("UnsortedSegmentMin")
def unsorted_segment_min(
    attrs: Attrs, data: np.ndarray, ids: np.ndarray, count: np.ndarray
) -> np.ndarray:
    return _unordered(np.minimum, _greatest(data), data, ids, count)


def _unordered(
    how: np.ufunc, empty: Any, data: np.ndarray, ids: np.ndarray, count: np.ndarray
) -> np.ndarray:
    if data.shape[: ids.ndim] != ids.shape:
        raise InvalidArgumentError(
            None,
            None,
            f"data.shape = {list(data.shape)} does not start with segment_ids.shape = "
            f"{list(ids.shape)}",
        )
    rows = int(count)
    kept = ids >= 0
    check_indices(ids[kept], rows, "segment_ids")
    # as one flat axis of ids, since `kept` may have left a ragged shape
    values = data.reshape((ids.size,) + data.shape[ids.ndim :])[kept.ravel()]
    return _grouped(how, empty, values, ids[kept], rows)


@kernel("UnsortedSegmentJoin")
def unsorted_segment_join(
    attrs: Attrs, inputs: np.ndarray, ids: np.ndarray, count: np.ndarray
) -> np.ndarray:
    if inputs.shape[: ids.ndim] != ids.shape:
        raise ValueError(f"inputs {list(inputs.shape)} must start with ids {list(ids.shape)}")
    rows, inner = int(count), inputs.shape[ids.ndim :]
    if rows < 0:
        raise InvalidArgumentError(None, None, f"num_segments must not be negative: {rows}")
    width = math.prod(inner)
    need_memory(rows * width, 8, "the joined strings")
    pieces: dict[int, list[list[bytes]]] = {}
    flat = inputs.reshape((ids.size, width))
    wrong = ids[(ids < 0) | (ids >= rows)]
    if wrong.size:
        raise InvalidArgumentError(
            None,
            None,
            "segment_ids are not allowed to exceed num_segments or to have negative values: "
            f"{int(wrong.flat[0])} is not in [0, {rows})",
        )
    for row, segment in zip(flat, ids.ravel().tolist(), strict=True):
        for texts, text in zip(
            pieces.setdefault(segment, [[] for _ in range(width)]), row, strict=True
        ):
            texts.append(text)
    joined = np.full((rows, width), b"", object)
    for segment, columns in pieces.items():
        # A separator stands behind what is there already: not behind empty strings in front.
        joined[segment] = [
            attrs["separator"].join(
                texts[next((i for i, t in enumerate(texts) if t), len(texts)) :]
            )
            for texts in columns
        ]
    return joined.reshape((rows, *inner))


# ---- rows picked by indices, then by ids in order ----


def _scale_of(attrs_op: str, counts: np.ndarray) -> np.ndarray:
    """What the sum of a segment of `counts` rows is divided by."""
    counts = np.maximum(counts, 1)
    return {"Sum": np.ones_like(counts), "Mean": counts, "SqrtN": np.sqrt(counts)}[attrs_op]


def _sparse(
    kind: str, data: np.ndarray, indices: np.ndarray, ids: np.ndarray, *count: np.ndarray
) -> np.ndarray:
    check_indices(indices, data.shape[0])
    totals = _ordered(np.add, 0, wide(data)[indices], ids, *count)
    scale = _scale_of(kind, np.bincount(ids, minlength=len(totals)))
    if data.dtype.kind not in "iu":
        totals = totals / scale.reshape((-1,) + (1,) * (totals.ndim - 1))
    return totals.astype(data.dtype)


@kernel("SparseSegmentSum", "SparseSegmentSumWithNumSegments")
def sparse_segment_sum(attrs: Attrs, *inputs: np.ndarray) -> np.ndarray:
    return _sparse("Sum", *inputs)


@kernel("SparseSegmentMean", "SparseSegmentMeanWithNumSegments")
def sparse_segment_mean(attrs: Attrs, *inputs: np.ndarray) -> np.ndarray:
    return _sparse("Mean", *inputs)


@kernel("SparseSegmentSqrtN", "SparseSegmentSqrtNWithNumSegments")
def sparse_segment_sqrt_n(attrs: Attrs, *inputs: np.ndarray) -> np.ndarray:
    return _sparse("SqrtN", *inputs)


def _sparse_grad(
    kind: str, grad: np.ndarray, indices: np.ndarray, ids: np.ndarray, rows: int
) -> np.ndarray:
    check_indices(ids, grad.shape[0], "segment_ids")
    check_indices(indices, rows)
    scale = _scale_of(kind, np.bincount(ids, minlength=len(grad)))
    share = wide(grad) / scale.reshape((-1,) + (1,) * (grad.ndim - 1))
    result = np.zeros((rows,) + grad.shape[1:])
    np.add.at(result, indices, share[ids])
    return result.astype(grad.dtype)


@kernel("SparseSegmentSumGrad")
def sparse_segment_sum_grad(
    attrs: Attrs, grad: np.ndarray, indices: np.ndarray, ids: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    return _sparse_grad("Sum", grad, indices, ids, int(rows))


@kernel("SparseSegmentMeanGrad")
def sparse_segment_mean_grad(
    attrs: Attrs, grad: np.ndarray, indices: np.ndarray, ids: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    return _sparse_grad("Mean", grad, indices, ids, int(rows))


@kernel("SparseSegmentSqrtNGrad")
def sparse_segment_sqrt_n_grad(
    attrs: Attrs, grad: np.ndarray, indices: np.ndarray, ids: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    return _sparse_grad("SqrtN", grad, indices, ids, int(rows))


def _sparse_grad_v2(
    kind: str, grad: np.ndarray, indices: np.ndarray, ids: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Only the rows that some index names, and their sorted numbers."""
    if not rows:  # TensorFlow looks at no index then
        return np.zeros((0, *grad.shape[1:]), grad.dtype), np.zeros(0, indices.dtype)
    check_indices(indices, int(rows))
    unique, places = np.unique(indices, return_inverse=True)
    return _sparse_grad(kind, grad, places.ravel(), ids, len(unique)), unique


@kernel("SparseSegmentSumGradV2")
def sparse_segment_sum_grad_v2(attrs: Attrs, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    return _sparse_grad_v2("Sum", *inputs)


@kernel("SparseSegmentMeanGradV2")
def sparse_segment_mean_grad_v2(attrs: Attrs, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    return _sparse_grad_v2("Mean", *inputs)


@kernel("SparseSegmentSqrtNGradV2")
def sparse_segment_sqrt_n_grad_v2(attrs: Attrs, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    return _sparse_grad_v2("SqrtN", *inputs)

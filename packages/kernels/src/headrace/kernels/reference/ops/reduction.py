"""Many elements into few: sums, extremes, running sums, counts, the largest k."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.precision import numpy_type, wide
from headrace.kernels.reference.registry import Attrs, kernel

Axes = tuple[int, ...]


def reduction_axes(axes: np.ndarray, rank: int) -> Axes:
    """The axes to reduce over, none negative, none twice."""
    flat = np.asarray(axes).ravel().tolist()
    for axis in flat:
        if not -rank <= axis < rank:
            raise InvalidArgumentError(
                None,
                None,
                f"reduction axis {axis} is not within the {rank} dimensions of the input",
            )
    return tuple(sorted({axis % rank for axis in flat}))


@kernel("Sum")
def reduce_sum(attrs: Attrs, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    axis = reduction_axes(axes, x.ndim)
    wider = wide(x)
    total = np.sum(wider, axis=axis, dtype=wider.dtype, keepdims=attrs["keep_dims"])
    return np.asarray(total).astype(x.dtype)


@kernel("Prod")
def reduce_prod(attrs: Attrs, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    axis = reduction_axes(axes, x.ndim)
    wider = wide(x)
    product = np.prod(wider, axis=axis, dtype=wider.dtype, keepdims=attrs["keep_dims"])
    return np.asarray(product).astype(x.dtype)


@kernel("Mean")
def reduce_mean(attrs: Attrs, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    axis = reduction_axes(axes, x.ndim)
    total = np.asarray(reduce_sum(attrs, wide(x), axes))
    count = int(np.prod([x.shape[a] for a in axis], dtype=np.int64))
    if x.dtype.kind in "iu":
        count = max(count, 1)
        return (np.sign(total) * (np.abs(total) // total.dtype.type(count))).astype(x.dtype)
    return (total / np.float64(count)).astype(x.dtype)


@kernel("Max")
def reduce_max(attrs: Attrs, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    return _extreme(np.maximum, as_dtype(x.dtype).min, -np.inf, attrs, x, axes)


@kernel("Min")
def reduce_min(attrs: Attrs, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    return _extreme(np.minimum, as_dtype(x.dtype).max, np.inf, attrs, x, axes)


def _extreme(
    of: np.ufunc, of_integers: int, of_floats: float, attrs: Attrs, x: np.ndarray, axes: np.ndarray
) -> np.ndarray:
    axis = reduction_axes(axes, x.ndim)
    wider = wide(x)
    initial = of_integers if x.dtype.kind in "iu" else of_floats  # of an empty set
    found = of.reduce(wider, axis=axis, keepdims=attrs["keep_dims"], initial=initial)
    return np.asarray(found).astype(x.dtype)


@kernel("All")
def reduce_all(attrs: Attrs, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    return np.all(x, axis=reduction_axes(axes, x.ndim), keepdims=attrs["keep_dims"])


@kernel("Any")
def reduce_any(attrs: Attrs, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    return np.any(x, axis=reduction_axes(axes, x.ndim), keepdims=attrs["keep_dims"])


@kernel("EuclideanNorm")
def euclidean_norm(attrs: Attrs, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    wider = wide(x)
    total = reduce_sum(attrs, (wider * np.conj(wider)).astype(wider.dtype), axes)
    return np.sqrt(total).astype(x.dtype)


@kernel("ArgMax")
def arg_max(attrs: Attrs, x: np.ndarray, axis: np.ndarray) -> np.ndarray:
    return _arg_extreme(np.argmax, -np.inf, attrs, x, axis)


@kernel("ArgMin")
def arg_min(attrs: Attrs, x: np.ndarray, axis: np.ndarray) -> np.ndarray:
    return _arg_extreme(np.argmin, np.inf, attrs, x, axis)


def _arg_extreme(
    find: Callable[..., np.ndarray], worst: float, attrs: Attrs, x: np.ndarray, axis: np.ndarray
) -> np.ndarray:
    (along,) = reduction_axes(axis, x.ndim)
    if x.shape[along] == 0:
        raise InvalidArgumentError(
            None, None, f"reduction axis {along} is empty in shape {list(x.shape)}"
        )
    x = wide(x)
    if x.dtype.kind == "f":  # no comparison with NaN holds, so that none is ever chosen
        x = np.where(np.isnan(x), worst, x)
    return find(x, axis=along).astype(numpy_type(attrs["output_type"]))


# ---- running sums ----


@kernel("Cumsum")
def cumsum(attrs: Attrs, x: np.ndarray, axis: np.ndarray) -> np.ndarray:
    return _scan(lambda v: np.cumsum(v, axis=0, dtype=v.dtype), 0, attrs, x, axis)


@kernel("Cumprod")
def cumprod(attrs: Attrs, x: np.ndarray, axis: np.ndarray) -> np.ndarray:
    return _scan(lambda v: np.cumprod(v, axis=0, dtype=v.dtype), 1, attrs, x, axis)


@kernel("CumulativeLogsumexp")
def cumulative_logsumexp(attrs: Attrs, x: np.ndarray, axis: np.ndarray) -> np.ndarray:
    return _scan(lambda v: np.logaddexp.accumulate(v, axis=0), -np.inf, attrs, x, axis)


def _scan(
    run: Callable[[np.ndarray], np.ndarray],
    empty: float,
    attrs: Attrs,
    x: np.ndarray,
    axis: np.ndarray,
) -> np.ndarray:
    (along,) = reduction_axes(axis, x.ndim)
    moved = np.moveaxis(wide(x), along, 0)
    if attrs["reverse"]:
        moved = moved[::-1]
    if moved.shape[0]:
        result = run(moved)
        if attrs["exclusive"]:
            result = np.concatenate([np.full_like(result[:1], empty), result[:-1]])
    else:
        result = moved
    if attrs["reverse"]:
        result = result[::-1]
    return np.moveaxis(result, 0, along).astype(x.dtype)


# ---- counts ----


@kernel("Bincount")
def bincount(attrs: Attrs, arr: np.ndarray, size: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return _count_row(arr.ravel(), int(size), weights.ravel(), numpy_type(attrs["T"]), False)


@kernel("DenseBincount")
def dense_bincount(
    attrs: Attrs, values: np.ndarray, size: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    dtype, binary = numpy_type(attrs["T"]), attrs["binary_output"]
    if values.ndim < 2:
        return _count_row(values.ravel(), int(size), weights.ravel(), dtype, binary)
    by_row = weights if weights.size else [weights] * len(values)
    rows = [
        _count_row(row, int(size), np.asarray(w), dtype, binary)
        for row, w in zip(values, by_row, strict=True)
    ]
    return np.stack(rows) if rows else np.zeros((0, int(size)), dtype)


def _count_row(
    values: np.ndarray, size: int, weights: np.ndarray, dtype: np.dtype, binary: bool
) -> np.ndarray:
    if size < 0:
        raise InvalidArgumentError(None, None, f"size must not be negative, it is {size}")
    if np.any(values < 0):
        raise InvalidArgumentError(None, None, "Input arr must be non-negative!")
    inside = values < size
    bins = np.zeros(size, dtype)
    if binary:
        bins[values[inside]] = 1
    else:
        np.add.at(bins, values[inside], weights[inside] if weights.size else dtype.type(1))
    return bins


@kernel("HistogramFixedWidth")
def histogram_fixed_width(
    attrs: Attrs, values: np.ndarray, value_range: np.ndarray, nbins: np.ndarray
) -> np.ndarray:
    low, high = value_range.astype(np.float64)
    count = int(nbins)
    if count <= 0:
        raise InvalidArgumentError(
            None, None, f"nbins should be a positive number, but got '{count}'"
        )
    if low >= high:
        raise InvalidArgumentError(
            None,
            None,
            f"value_range should satisfy value_range[0] < value_range[1], but got "
            f"'[{value_range[0]}, {value_range[1]}]'",
        )
    step = (high - low) / count
    bins = np.clip((values.astype(np.float64) - low) / step, 0, count - 1).astype(np.int64)
    return np.bincount(bins.ravel(), minlength=count).astype(numpy_type(attrs["dtype"]))


# ---- the largest k ----


@kernel("TopK")
def top_k(attrs: Attrs, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, indices = _top_k(x, attrs["k"])
    return values, indices.astype(np.int32)


@kernel("TopKV2")
def top_k_v2(attrs: Attrs, x: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, indices = _top_k(x, int(k))
    return values, indices.astype(numpy_type(attrs["index_type"]))


def _top_k(x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Sorted whatever the attribute says; of equals the lower index first."""
    if x.ndim < 1 or x.shape[-1] < k:
        raise InvalidArgumentError(
            None,
            None,
            f"input must have at least k({k}) columns. Had {x.shape[-1] if x.ndim else 0}",
        )
    order = np.argsort(wide(x)[..., ::-1], axis=-1, kind="stable")[..., ::-1][..., :k]
    indices = x.shape[-1] - 1 - order
    return np.take_along_axis(x, indices, axis=-1), indices


@kernel("NthElement")
def nth_element(attrs: Attrs, x: np.ndarray, n: np.ndarray) -> np.ndarray:
    place = int(n)
    if not 0 <= place < x.shape[-1]:
        raise InvalidArgumentError(
            None, None, f"Input must have at least n+1 columns, it has {x.shape[-1]}, n is {place}"
        )
    return np.sort(x, axis=-1)[..., -1 - place if attrs["reverse"] else place]

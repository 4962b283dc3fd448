"""The largest, or the mean, of each window."""

from __future__ import annotations

import itertools

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.ops.arrays.blocks import (
    channels_first,
    from_channels_last,
    to_channels_last,
)
from headrace.kernels.reference.ops.convolution import Window, window
from headrace.kernels.reference.precision import numpy_type, wide
from headrace.kernels.reference.registry import Attrs, kernel, stateful_kernel


def _walk(attrs: Attrs, x: np.ndarray) -> Window:
    """The window of a pooling node over x, whose channels are last."""
    size = attrs["ksize"]
    inner = size[2:] if channels_first(attrs) else size[1:-1]
    depth = size[1] if channels_first(attrs) else size[-1]
    if size[0] != 1 or depth != 1:
        raise InvalidArgumentError(
            None, None, f"Pooling is not yet supported on the batch or depth dimension: {size}"
        )
    return window(attrs, x.shape[1:-1], tuple(inner), dilations="none")


def _with_sizes(attrs: Attrs, ksize: np.ndarray, strides: np.ndarray) -> dict[str, object]:
    return {**attrs, "ksize": ksize.tolist(), "strides": strides.tolist()}


# ---- maxima ----


def _lowest(x: np.ndarray) -> float:
    """Below every value of x; of integers the least there is."""
    return as_dtype(x.dtype).min if x.dtype.kind in "iu" else -np.inf


def _max_of(walk: Window, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest value of each window, and the number of the tap that has it first."""
    padded = walk.pad(wide(x), _lowest(x))
    shape = (len(x), *walk.output, x.shape[-1])
    best, winner = np.full(shape, _lowest(x), padded.dtype), np.full(shape, -1)
    for number, (_, part) in enumerate(walk.taps()):
        value = padded[(slice(None),) + part]
        inside = _inside(walk, x.shape, part)
        better = ((value > best) | (winner < 0) | np.isnan(value)) & inside & ~np.isnan(best)
        best, winner = np.where(better, value, best), np.where(better, number, winner)
    return best, winner


def _inside(walk: Window, shape: tuple[int, ...], part: tuple[slice, ...]) -> np.ndarray:
    """Whether a tap meets the input and not its padding, [spatial..., 1]."""
    return walk.pad(np.ones((1, *shape[1:-1], 1), bool), False)[(0,) + part]


@kernel("MaxPool", "MaxPool3D")
def max_pool(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    last = to_channels_last(attrs, x)
    return from_channels_last(attrs, _max_of(_walk(attrs, last), last)[0].astype(x.dtype))


@kernel("MaxPoolV2")
def max_pool_v2(attrs: Attrs, x: np.ndarray, ksize: np.ndarray, strides: np.ndarray) -> np.ndarray:
    return max_pool(_with_sizes(attrs, ksize, strides), x)


@kernel("MaxPoolWithArgmax")
def max_pool_with_argmax(attrs: Attrs, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    walk = _walk(attrs, x)
    best, winner = _max_of(walk, x)
    places = _flat_places(walk, x.shape)
    index = np.zeros(best.shape, np.int64)
    for number, (_, part) in enumerate(walk.taps()):
        index = np.where(winner == number, places[(slice(None),) + part], index)
    if not attrs["include_batch_in_index"]:
        index = index % max(int(np.prod(x.shape[1:])), 1)
    return best.astype(x.dtype), index.astype(numpy_type(attrs["Targmax"]))


def _flat_places(walk: Window, shape: tuple[int, ...]) -> np.ndarray:
    return walk.pad(np.arange(int(np.prod(shape))).reshape(shape))


@kernel("MaxPoolGrad", "MaxPool3DGrad")
def max_pool_grad(attrs: Attrs, x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> np.ndarray:
    last, grad = to_channels_last(attrs, x), to_channels_last(attrs, wide(dy))
    walk = _walk(attrs, last)
    if dy.shape != y.shape:
        raise InvalidArgumentError(
            None, None, f"grad is {list(dy.shape)}, orig_output is {list(y.shape)}"
        )
    winner = _max_of(walk, last)[1]
    dx = walk.pad(np.zeros(last.shape, grad.dtype))
    if x.ndim == 5:  # to every element that equals orig_output
        pooled, padded = to_channels_last(attrs, wide(y)), walk.pad(wide(last), np.nan)
        for _, part in walk.taps():
            part = (slice(None), *part)
            dx[part] += np.where(padded[part] == pooled, grad, 0)
        return from_channels_last(attrs, walk.unpad(dx).astype(dy.dtype))
    for number, (_, part) in enumerate(walk.taps()):
        dx[(slice(None),) + part] += np.where(winner == number, grad, 0)
    return from_channels_last(attrs, walk.unpad(dx).astype(dy.dtype))


@kernel("MaxPoolGradV2")
def max_pool_grad_v2(
    attrs: Attrs,
    x: np.ndarray,
    y: np.ndarray,
    dy: np.ndarray,
    ksize: np.ndarray,
    strides: np.ndarray,
) -> np.ndarray:
    return max_pool_grad(_with_sizes(attrs, ksize, strides), x, y, dy)


@kernel("MaxPoolGradWithArgmax")
def max_pool_grad_with_argmax(
    attrs: Attrs, x: np.ndarray, dy: np.ndarray, argmax: np.ndarray
) -> np.ndarray:
    dx = np.zeros(x.size, wide(dy).dtype)
    np.add.at(dx, _whole_index(attrs, x, argmax).ravel(), wide(dy).ravel())
    return dx.reshape(x.shape).astype(dy.dtype)


def _whole_index(attrs: Attrs, x: np.ndarray, argmax: np.ndarray) -> np.ndarray:
    """Indices into all of x, the batch counted in."""
    if attrs["include_batch_in_index"]:
        return argmax
    starts = np.arange(len(x)) * int(np.prod(x.shape[1:]))
    return argmax + starts.reshape((-1,) + (1,) * (argmax.ndim - 1))


@kernel("MaxPoolGradGrad", "MaxPool3DGradGrad")
def max_pool_grad_grad(attrs: Attrs, x: np.ndarray, y: np.ndarray, dd: np.ndarray) -> np.ndarray:
    last, grad = to_channels_last(attrs, x), to_channels_last(attrs, dd)
    walk = _walk(attrs, last)
    winner = _max_of(walk, last)[1]
    padded = walk.pad(grad)
    result = np.zeros(winner.shape, dd.dtype)
    for number, (_, part) in enumerate(walk.taps()):
        result = np.where(winner == number, padded[(slice(None),) + part], result)
    return from_channels_last(attrs, result)


@kernel("MaxPoolGradGradV2")
def max_pool_grad_grad_v2(
    attrs: Attrs,
    x: np.ndarray,
    y: np.ndarray,
    dd: np.ndarray,
    ksize: np.ndarray,
    strides: np.ndarray,
) -> np.ndarray:
    return max_pool_grad_grad(_with_sizes(attrs, ksize, strides), x, y, dd)


@kernel("MaxPoolGradGradWithArgmax")
def max_pool_grad_grad_with_argmax(
    attrs: Attrs, x: np.ndarray, dd: np.ndarray, argmax: np.ndarray
) -> np.ndarray:
    return dd.ravel()[_whole_index(attrs, x, argmax)]


# ---- means; padding does not count ----


def _counts(walk: Window, shape: tuple[int, ...]) -> np.ndarray:
    """How many elements of the input each window meets."""
    return np.sum([_inside(walk, shape, part) for _, part in walk.taps()], axis=0)


@kernel("AvgPool", "AvgPool3D")
def avg_pool(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    last = to_channels_last(attrs, wide(x))
    walk = _walk(attrs, last)
    padded = walk.pad(last)
    total = sum(padded[(slice(None),) + part] for _, part in walk.taps())
    return from_channels_last(attrs, (total / _counts(walk, last.shape)).astype(x.dtype))


@kernel("AvgPoolGrad", "AvgPool3DGrad")
def avg_pool_grad(attrs: Attrs, shape: np.ndarray, dy: np.ndarray) -> np.ndarray:
    grad = to_channels_last(attrs, wide(dy))
    dx = to_channels_last(attrs, np.zeros(tuple(shape.tolist())))
    walk = _walk(attrs, dx)
    share = grad / _counts(walk, dx.shape)
    padded = walk.pad(dx)
    for _, part in walk.taps():
        padded[(slice(None),) + part] += share
    return from_channels_last(attrs, walk.unpad(padded).astype(dy.dtype))


# ---- windows of uneven sizes ----


def _sequence(
    generator: np.random.Generator, size: int, count: int, pseudo_random: bool
) -> np.ndarray:
    """Where each of `count` regions of an axis of `size` begins, and the end.

    Source: Graham, Fractional Max-Pooling, 2015: steps of one or two in random order, or
    ceil(alpha (i + u)).
    """
    low, rest = divmod(size, count)
    if pseudo_random:
        alpha = size / count
        u = generator.uniform(0, min(1.0, 1 / alpha if alpha else 1.0))
        edges = np.floor(alpha * (np.arange(count + 1) + u)).astype(np.int64)
        edges = np.clip(edges - edges[0], 0, size)
    else:
        steps = np.full(count, low)
        steps[:rest] += 1
        edges = np.concatenate([[0], np.cumsum(generator.permutation(steps))])
    edges[-1] = size
    return edges.astype(np.int64)


def _fractional(attrs: Attrs, reduce: str) -> object:
    seeds = [attrs["seed"], attrs["seed2"]]
    generator = np.random.default_rng([s % 2**64 for s in seeds] if any(seeds) else None)

    def compute(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        edges = [
            _sequence(generator, x.shape[a], int(x.shape[a] / ratio), attrs["pseudo_random"])
            for a, ratio in ((1, attrs["pooling_ratio"][1]), (2, attrs["pooling_ratio"][2]))
        ]
        shape = (len(x), len(edges[0]) - 1, len(edges[1]) - 1, x.shape[-1])
        y = np.empty(shape, x.dtype)
        for i, j, block in _cells(edges[0], edges[1], x, attrs["overlapping"]):
            y[:, i, j] = getattr(wide(block), reduce)(axis=(1, 2)).astype(x.dtype)
        return y, edges[0], edges[1]

    return compute


def _cells(rows: np.ndarray, columns: np.ndarray, x: np.ndarray, overlapping: bool):  # type: ignore
    """Each cell's place and the part of x under it (a view)."""
    more = int(overlapping)
    for i, j in itertools.product(range(len(rows) - 1), range(len(columns) - 1)):
        yield i, j, x[:, rows[i] : rows[i + 1] + more, columns[j] : columns[j + 1] + more]


@stateful_kernel("FractionalMaxPool")
def fractional_max_pool(attrs: Attrs) -> object:
    return _fractional(attrs, "max")


@stateful_kernel("FractionalAvgPool")
def fractional_avg_pool(attrs: Attrs) -> object:
    return _fractional(attrs, "mean")


@kernel("FractionalMaxPoolGrad")
def fractional_max_pool_grad(
    attrs: Attrs,
    x: np.ndarray,
    y: np.ndarray,
    dy: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
) -> np.ndarray:
    dx = np.zeros(x.shape)
    pairs = zip(
        _cells(rows, columns, x, attrs["overlapping"]),
        _cells(rows, columns, dx, attrs["overlapping"]),
        strict=True,
    )
    for (i, j, block), (_, _, out) in pairs:
        flat = block.reshape(len(x), -1, x.shape[-1])
        first = flat.argmax(axis=1)
        hit = np.zeros(flat.shape)
        np.put_along_axis(hit, first[:, np.newaxis], wide(dy)[:, i, j][:, np.newaxis], axis=1)
        out += hit.reshape(block.shape)
    return dx.astype(dy.dtype)


@kernel("FractionalAvgPoolGrad")
def fractional_avg_pool_grad(
    attrs: Attrs, shape: np.ndarray, dy: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    dx = np.zeros(tuple(shape.tolist()))
    for i, j, block in _cells(rows, columns, dx, attrs["overlapping"]):
        share = wide(dy)[:, i, j] / (block.shape[1] * block.shape[2])
        block += share[:, np.newaxis, np.newaxis]
    return dx.astype(dy.dtype)

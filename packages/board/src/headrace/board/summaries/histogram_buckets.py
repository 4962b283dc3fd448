"""Buckets of histograms as they were logged, rebinned to shared edges; percentiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.formats.errors import OpError
from headrace.formats.tensor_codec import make_ndarray

# In percent: half standard deviations of a normal distribution.
PERCENTILES = (0.0, 6.68, 15.87, 30.85, 50.0, 69.15, 84.13, 93.32, 100.0)
_MOST_COUNT = 1e290  # of a bucket, so that the sum of all is finite
_MAX_BUCKETS = 1 << 16
_BLOCK_ELEMENTS = 1 << 20


@dataclass(frozen=True)
class Buckets:
    """Counts of values, evenly spread between left and right; at one value if both are equal.

    All are [k] float64 and finite, sorted by left, with counts above 0.
    """

    left: np.ndarray
    right: np.ndarray
    count: np.ndarray


EMPTY = Buckets(np.empty(0), np.empty(0), np.empty(0))


def buckets_of(value: Any) -> Buckets | None:
    """Returns the buckets of a Summary.Value, legacy or tensor; None if it is not a histogram."""
    what = value.WhichOneof("value")
    if what == "histo":
        return legacy_buckets(value.histo)
    return tensor_buckets(value.tensor) if what == "tensor" else None


def legacy_buckets(histogram: Any) -> Buckets | None:
    """Returns the buckets of a HistogramProto, cut to its smallest and largest value."""
    count = np.array(histogram.bucket, np.float64)
    right = np.array(histogram.bucket_limit, np.float64)
    if len(count) != len(right) or len(count) > _MAX_BUCKETS:
        return None
    left = np.concatenate([[-np.inf], right[:-1]]) if len(right) else right
    if histogram.min <= histogram.max:  # False for NaN
        left = np.clip(left, histogram.min, histogram.max)
        right = np.clip(right, histogram.min, histogram.max)
    return _cleaned(left, right, count)


def tensor_buckets(tensor: Any) -> Buckets | None:
    """Returns the buckets of a [k, 3] tensor: left, right, count."""
    try:
        table = make_ndarray(tensor, max_expanded_bytes=_MAX_BUCKETS * 24)
    except OpError:
        return None
    if table.ndim != 2 or table.shape[1] != 3 or table.dtype.kind not in "fiu":
        return None
    if len(table) > _MAX_BUCKETS:
        return None
    left, right, count = table.astype(np.float64).T
    return _cleaned(left, right, count)


def _cleaned(left: np.ndarray, right: np.ndarray, count: np.ndarray) -> Buckets:
    there = np.isfinite(left) & np.isfinite(right) & np.isfinite(count) & (count > 0)
    there &= left <= right
    left, right = left[there], right[there]
    count = np.minimum(count[there], _MOST_COUNT)
    if (left[1:] < left[:-1]).any():
        order = np.argsort(left, kind="stable")
        left, right, count = left[order], right[order], count[order]
    return Buckets(left, right, count)


def shared_edges(
    histograms: list[Buckets], bins: int, least: float | None = None, most: float | None = None
) -> np.ndarray:
    """Returns bins + 1 even edges from the smallest to the largest value of all histograms.

    Args:
      least, most: replace the smallest and the largest value.
    """
    if least is None:
        least = min((float(h.left[0]) for h in histograms if len(h.left)), default=0.0)
    if most is None:
        most = max((float(h.right.max()) for h in histograms if len(h.left)), default=least)
    most = max(least, most)
    if least == most:
        half = max(0.5, abs(least) * 1e-3)
        least, most = least - half, most + half
    share = np.linspace(0.0, 1.0, bins + 1)
    return least * (1 - share) + most * share


def rebinned(histogram: Buckets, edges: np.ndarray) -> np.ndarray:
    """Returns counts between the edges, [bins] float64; values outside the edges are left out.

    A value on an edge belongs to the bin on its right, on the last edge to the last bin.

    Args:
      edges: [bins + 1] float64, ascending.
    """
    left, right, count = histogram.left, histogram.right, histogram.count
    bins = len(edges) - 1
    points = left == right
    counts = np.zeros(bins)
    if points.any():
        at = np.searchsorted(edges, left[points], "right") - 1
        at[left[points] == edges[-1]] = bins - 1
        inside = (at >= 0) & (at < bins)
        counts += np.bincount(at[inside], count[points][inside], bins)
        left, right, count = left[~points], right[~points], count[~points]
    if not len(left):
        return counts
    if (left[1:] >= right[:-1]).all():
        below = np.concatenate([[0.0], np.cumsum(count)])
        xs = np.stack([left, right], axis=1).reshape(-1)
        ys = np.stack([below[:-1], below[1:]], axis=1).reshape(-1)
        return counts + np.diff(_interpolated(edges, xs, ys))
    rows = max(1, _BLOCK_ELEMENTS // len(edges))
    for begin in range(0, len(left), rows):
        part = slice(begin, begin + rows)
        l, r, c = left[part, None], right[part, None], count[part, None]  # noqa: E741
        with np.errstate(over="ignore"):  # shares that overflow are clipped
            scale = np.where(np.isfinite(r - l), 1.0, 0.5)
            share = (edges * scale - l * scale) / (r * scale - l * scale)
        share = np.clip(share, 0.0, 1.0)
        counts += np.diff(share * c, axis=1).sum(axis=0)
    return counts


def _interpolated(at: np.ndarray, xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
    """np.interp, without overflow where the distance of neighbours exceeds a double."""
    scale = max(1.0, float(np.abs(xs[[0, -1]]).max()), float(np.abs(at[[0, -1]]).max()))
    return np.interp(at / scale, xs / scale, ys) if scale > 1e300 else np.interp(at, xs, ys)


def percentiles(histogram: Buckets, percents: tuple[float, ...] = PERCENTILES) -> np.ndarray:
    """Returns the values at the given percentiles; NaN for an empty histogram."""
    left, right, count = histogram.left, histogram.right, histogram.count
    if not len(left):
        return np.full(len(percents), np.nan)
    total = np.cumsum(count)
    requested = np.array(percents) / 100 * total[-1]
    at = np.minimum(np.searchsorted(total, requested, "left"), len(left) - 1)
    share = np.clip((requested - (total[at] - count[at])) / count[at], 0.0, 1.0)
    values = np.clip(left[at] * (1 - share) + right[at] * share, left[at], right[at])
    # If buckets overlap, the largest end may belong to another bucket.
    values[np.array(percents) == 100.0] = right.max()
    return np.maximum.accumulate(values)

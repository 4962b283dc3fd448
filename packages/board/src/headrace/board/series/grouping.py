"""Several runs as one curve: mean or median with a band, at every x of any run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CENTERS = ("mean", "median")
BANDS = ("std", "se", "minmax", "iqr")
_BLOCK_ELEMENTS = 1 << 21


@dataclass(frozen=True)
class GroupCurve:
    """x: the union of the runs' x; y, lo, hi: center and band, NaN where no run is finite."""

    x: np.ndarray
    y: np.ndarray
    lo: np.ndarray
    hi: np.ndarray


def grouped(curves: list[tuple[np.ndarray, np.ndarray]], center: str, band: str) -> GroupCurve:
    """Returns statistics over runs at every x of any run.

    A run contributes from its first x to its last, interpolated linearly between its points; of
    several points at one x the last one counts. Values that are not finite, and the lines to them,
    do not contribute. std and se are of the sample (n - 1), 0 for a single run; iqr is from the
    25th to the 75th percentile; se is std / sqrt(n).

    Args:
      curves: (x [n] ascending, y [n]) of each run.
      center: "mean" or "median".
      band: "std", "se", "minmax" or "iqr".
    """
    runs = [_last_of_each_x(x, np.asarray(y, np.float64)) for x, y in curves if len(x)]
    if not runs:
        empty = np.empty(0)
        return GroupCurve(empty, empty, empty, empty)
    union = runs[0][0]
    if any(not np.array_equal(x, union) for x, _ in runs[1:]):
        union = np.unique(np.concatenate([x for x, _ in runs]))
    parts = []
    block = max(1, _BLOCK_ELEMENTS // len(runs))
    for begin in range(0, len(union), block):
        at = union[begin : begin + block]
        parts.append(_statistics(np.stack([at_points(x, y, at) for x, y in runs]), center, band))
    y, lo, hi = (np.concatenate(part) for part in zip(*parts))
    return GroupCurve(union, y, lo, hi)


def _last_of_each_x(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    last = np.append(x[1:] != x[:-1], True)
    return (x, y) if last.all() else (x[last], y[last])


def at_points(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Returns y at other points by linear interpolation; NaN beyond its ends.

    Args:
      x: [n], strictly ascending.
      y: [n] float64.
      at: [m] ascending.
    """
    if len(x) == len(at) and np.array_equal(x, at):
        return np.where(np.isfinite(y), y, np.nan)
    right = np.searchsorted(x, at, "left").clip(0, len(x) - 1)
    left = (right - 1).clip(0)
    with np.errstate(all="ignore"):
        share = (at - x[left]) / (x[right] - x[left])
        between = y[left] * (1 - share) + y[right] * share
    value = np.where(x[right] == at, y[right], between)
    value[(at < x[0]) | (at > x[-1]) | ~np.isfinite(value)] = np.nan
    return value


def _statistics(values: np.ndarray, center: str, band: str) -> tuple[np.ndarray, ...]:
    """Returns center, lower and upper band over the first axis, ignoring NaN."""
    there = ~np.isnan(values)
    n = there.sum(axis=0)
    with np.errstate(all="ignore"):
        ranked = np.sort(values, axis=0) if center == "median" or band == "iqr" else values
        mean = np.where(there, values, 0).sum(axis=0) / n
        y = mean if center == "mean" else _quantile(ranked, n, 0.5)
        if band == "minmax":
            lo = np.where(there, values, np.inf).min(axis=0)
            hi = np.where(there, values, -np.inf).max(axis=0)
        elif band == "iqr":
            lo, hi = _quantile(ranked, n, 0.25), _quantile(ranked, n, 0.75)
        else:
            squares = np.where(there, (values - mean) ** 2, 0).sum(axis=0)
            spread = np.sqrt(squares / np.maximum(n - 1, 1))
            if band == "se":
                spread = spread / np.sqrt(n)
            lo, hi = y - spread, y + spread
    no_run = n == 0
    return tuple(np.where(no_run, np.nan, column) for column in (y, lo, hi))


def _quantile(ranked: np.ndarray, n: np.ndarray, q: float) -> np.ndarray:
    """Returns the q quantile of the first n values of each sorted column, linear between ranks."""
    place = np.maximum(n - 1, 0) * q
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, np.maximum(n - 1, 0))
    low = np.take_along_axis(ranked, below[None], 0)[0]
    high = np.take_along_axis(ranked, above[None], 0)[0]
    return low + (high - low) * (place - below)

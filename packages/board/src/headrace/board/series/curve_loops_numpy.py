"""Loops over a series in NumPy: the replacement of curve_loops.pyx, and the reference for it."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

_BLOCK = 256
_WINDOW_ELEMENTS = 1 << 22


def m4(y: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Returns the points that each bin must show: see `reduced` in reduction.py.

    Args:
      y: [n] float.
      starts: [bins + 1] int64, ascending; bin k has the points from starts[k] up to starts[k + 1].
    Returns: indices of y, int64, ascending.
    """
    if len(starts) > 1 and (starts[0] < 0 or starts[-1] > len(y)):
        raise ValueError("m4: the bins reach beyond the series")
    sizes = np.diff(starts)
    begins, sizes = starts[:-1][sizes > 0], sizes[sizes > 0]
    if not len(begins):
        return np.empty(0, np.int64)
    base = begins[0]
    y = y[base : begins[-1] + sizes[-1]]
    begins = begins - base
    finite = np.isfinite(y)
    chosen = [begins, begins + sizes - 1]
    lowest = np.minimum.reduceat(np.where(finite, y, np.inf), begins)
    highest = np.maximum.reduceat(np.where(finite, y, -np.inf), begins)
    for extreme in (lowest, highest):
        chosen.append(_first_of_bin(finite & (y == np.repeat(extreme, sizes)), begins))
    if not finite.all():
        for odd in (np.isnan(y), y == np.inf, y == -np.inf):
            chosen.append(_first_of_bin(odd, begins))
            chosen.append(_last_of_bin(odd, begins))
    return np.unique(np.concatenate(chosen)) + base


def _first_of_bin(hit: np.ndarray, begins: np.ndarray) -> np.ndarray:
    where = np.flatnonzero(hit)
    bins = np.searchsorted(begins, where, "right")
    return where[np.diff(bins, prepend=-1) > 0]


def _last_of_bin(hit: np.ndarray, begins: np.ndarray) -> np.ndarray:
    where = np.flatnonzero(hit)
    bins = np.searchsorted(begins, where, "right")
    return where[np.diff(bins, append=len(begins) + 1) > 0]


def ema(y: np.ndarray, weight: float) -> np.ndarray:
    """Returns the debiased exponential moving average of finite values.

    All blocks advance by one element at a time; then the result of each is carried into the next.

    Args:
      y: [n] float64, finite.
      weight: of the past, from 0 to below 1.
    """
    n = len(y)
    blocks = np.zeros((-(-n // _BLOCK), _BLOCK))
    blocks.reshape(-1)[:n] = y
    along = np.ascontiguousarray(blocks.T) * (1 - weight)
    for i in range(1, _BLOCK):
        along[i] += weight * along[i - 1]
    powers = weight ** np.arange(1, _BLOCK + 1)
    before = np.empty(len(blocks))
    carried = 0.0
    for k, last in enumerate(along[-1].tolist()):
        before[k] = carried
        carried = last + carried * float(powers[-1])
    along += powers[:, None] * before
    bias = 1 - weight ** np.arange(1.0, n + 1)
    return along.T.reshape(-1)[:n] / bias


def median(y: np.ndarray, width: int) -> np.ndarray:
    """Returns the median of the window around each of the finite values; it is cut at the ends.

    Args:
      y: [n] float64, finite.
      width: points in the window; of an even one the longer half is to the right.
    """
    n = len(y)
    left, right = (width - 1) // 2, width // 2
    smooth = np.empty(n)
    inner = range(left, max(left, n - right))
    for i in (*range(min(left, n)), *range(max(left, n - right), n)):
        smooth[i] = _middle(y[None, max(0, i - left) : i + right + 1])[0]
    rows = max(1, _WINDOW_ELEMENTS // width)
    for begin in range(inner.start, inner.stop, rows):
        end = min(begin + rows, inner.stop)
        windows = sliding_window_view(y[begin - left : end + right], width)
        smooth[begin:end] = _middle(windows)
    return smooth


def _middle(windows: np.ndarray) -> np.ndarray:
    half = windows.shape[1] // 2
    if windows.shape[1] % 2:
        return np.partition(windows, half, axis=1)[:, half]
    parted = np.partition(windows, (half - 1, half), axis=1)
    low, high = parted[:, half - 1], parted[:, half]
    with np.errstate(over="ignore"):
        middle = (low + high) / 2
    # A half of a denormal loses its last bit, a sum of large numbers overflows.
    return np.where(np.isfinite(middle), middle, low / 2 + high / 2)

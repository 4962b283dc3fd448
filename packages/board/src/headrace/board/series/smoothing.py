"""Smooths series; always all points, not only those that are drawn.

Points that are not finite stay as they are, and the others are smoothed as if they did not exist,
as in TensorBoard.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

try:
    from headrace.board.series.curve_loops import ema, median
except ImportError:  # not built: the NumPy version is ten times slower
    from headrace.board.series.curve_loops_numpy import ema, median

KINDS = ("ema", "mean", "median")
MAX_WIDTH = 10001


@dataclass(frozen=True)
class Smoothing:
    """How to smooth.

    Args:
      kind: "ema" (debiased exponential moving average), or "mean" or "median" of a window that is
        centred at each point and cut at the ends.
      weight: for ema, the weight of the past, 0 to below 1; otherwise the width in points.
    """

    kind: str
    weight: float


def smoothed(y: np.ndarray, how: Smoothing) -> np.ndarray:
    """Returns the smoothed values, [n] float64.

    Args:
      y: [n] float, in order of x.
    """
    y = np.asarray(y, np.float64)
    finite = np.isfinite(y)
    if finite.all():
        return _finite_smoothed(np.ascontiguousarray(y), how)
    out = y.copy()
    out[finite] = _finite_smoothed(y[finite], how)
    return out


def _finite_smoothed(y: np.ndarray, how: Smoothing) -> np.ndarray:
    with np.errstate(all="ignore"):
        if how.kind == "ema":
            return ema(y, how.weight)
        width = int(how.weight)
        return window_mean(y, width) if how.kind == "mean" else median(y, width)


def window_mean(y: np.ndarray, width: int) -> np.ndarray:
    """Returns the mean of the window around each value.

    Running sums restart at every block of `width` points. A window covers the tail of one block and
    the head of the next, so a huge value causes no rounding errors outside its windows.

    Args:
      y: [n] float64, finite.
      width: points in the window; of an even one the longer half is to the right.
    """
    n = len(y)
    left = (width - 1) // 2
    blocks = -(-(n + width) // width) + 1
    padded = np.zeros(blocks * width)
    padded[left : left + n] = y
    table = padded.reshape(blocks, width)
    heads = np.cumsum(table, axis=1).reshape(-1)
    tails = np.cumsum(table[:, ::-1], axis=1)[:, ::-1].reshape(-1)
    first = np.arange(n)  # index in padded at which the window of each point starts
    sums = np.where(first % width == 0, 0.0, tails[:n]) + heads[width - 1 : width - 1 + n]
    counts = np.minimum(first + width // 2, n - 1) - np.maximum(first - left, 0) + 1
    return sums / counts

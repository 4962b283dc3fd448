"""Reduces a curve to the points that a chart of a given width must draw.

Source: algorithm M4, Jugel et al. 2014.
"""

from __future__ import annotations

import numpy as np

try:
    from headrace.board.series.curve_loops import m4
except ImportError:  # not built: the NumPy version is ten times slower
    from headrace.board.series.curve_loops_numpy import m4

# Up to this number of points per pixel, all points are drawn.
ALL_UP_TO = 4


def reduced(
    x: np.ndarray,
    ys: list[np.ndarray],
    lo: float,
    hi: float,
    px: int,
    logarithmic: bool = False,
    always: np.ndarray | None = None,
) -> tuple[np.ndarray, int]:
    """Returns ascending indices of the points to draw, and the number of points in the range.

    The result has, for each pixel column, the first and last point, the smallest and largest finite
    value of each y, and the first and last NaN, +Inf and -Inf; in addition the nearest point beyond
    each end of the range, so that lines reach the border.

    Args:
      x: [n] float64, ascending and finite.
      ys: arrays [n] of float, drawn over x.
      lo, hi: the range, both ends included.
      px: number of pixel columns between lo and hi.
      logarithmic: whether the columns are evenly spaced in log x; lo must be above 0.
      always: indices that must be drawn, such as the first points of segments.
    """
    begin, end = range_of(x, lo, hi)
    n = end - begin
    outer_begin, outer_end = max(0, begin - 1), min(len(x), end + 1)
    if n <= ALL_UP_TO * px:
        return np.arange(outer_begin, outer_end), n
    starts = begin + np.searchsorted(x[begin:end], _edges(lo, hi, px, logarithmic))
    starts[0], starts[-1] = begin, end
    chosen = [m4(y, starts) for y in ys]
    if always is not None and len(always):
        inside = always[np.searchsorted(always, begin) : np.searchsorted(always, end)]
        chosen.append(_ends_by_bin(inside, starts))
    chosen.append(np.array([outer_begin, outer_end - 1]))
    if len(chosen) == 2 and outer_begin == begin and outer_end == end:
        return chosen[0], n
    return np.unique(np.concatenate(chosen)), n


def range_of(x: np.ndarray, lo: float, hi: float) -> tuple[int, int]:
    """Returns the first and the end index of lo <= x <= hi."""
    begin = int(np.searchsorted(x, lo, "left"))
    return begin, max(begin, int(np.searchsorted(x, hi, "right")))


def _edges(lo: float, hi: float, px: int, logarithmic: bool) -> np.ndarray:
    share = np.linspace(0, 1, px + 1)
    with np.errstate(all="ignore"):
        if logarithmic:
            return np.exp(np.log(lo) * (1 - share) + np.log(hi) * share)
        return lo * (1 - share) + hi * share  # hi - lo could overflow


def _ends_by_bin(where: np.ndarray, starts: np.ndarray) -> np.ndarray:
    bins = np.searchsorted(starts, where, "right")
    step = np.diff(bins) > 0
    return where[np.append(True, step) | np.append(step, True)] if len(where) else where

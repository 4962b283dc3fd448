"""The points of a curve that a chart of so many pixels has to draw (M4, Jugel et al. 2014)."""

from __future__ import annotations

import numpy as np

try:
    from headrace.board.series.curve_loops import m4
except ImportError:  # not built: the same in NumPy, at a tenth of the speed
    from headrace.board.series.curve_loops_numpy import m4

# With no more points than this a pixel, all are drawn.
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
    """Returns indices of the points to draw, ascending, and how many points are in the range.

    Of each pixel column they are the first and last point, the least and greatest finite one of
    each y, the first and last NaN, +Inf and -Inf; of the whole also the nearest point outside on
    either side, so that a line runs on to the border.

    Args:
      x: [n] float64, ascending and finite.
      ys: each [n] float; what is drawn over x.
      lo, hi: the range; both ends are in it.
      px: columns of pixels between lo and hi.
      logarithmic: whether the columns are even in log x; lo is above 0 then.
      always: indices to draw whatever their values: where segments begin.
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
    """Returns the indices between which lo <= x <= hi."""
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

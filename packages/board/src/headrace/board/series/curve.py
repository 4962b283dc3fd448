"""Curves ready to draw: sorted by x, smoothed, without superseded points; and their cache."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

from headrace.board.series.smoothing import Smoothing, smoothed

CACHE_BYTES = 64 << 20


@dataclass(frozen=True)
class Curve:
    """Points in order of x.

    Args:
      x: [n] float64, ascending and finite.
      y: [n] float; smoothed if the query has smoothing.
      raw: [n] float, the data before smoothing; None without smoothing.
      restarts: indices of the first points of all segments but the first.
      without_x: number of points left out because their x is not finite.
      as_given: whether all points are here, in the order of step.
    """

    x: np.ndarray
    y: np.ndarray
    raw: np.ndarray | None
    restarts: np.ndarray
    without_x: int
    as_given: bool = True

    @property
    def nbytes(self) -> int:
        raw = 0 if self.raw is None else self.raw.nbytes
        return self.x.nbytes + self.y.nbytes + raw + self.restarts.nbytes


def make_curve(
    x: np.ndarray, y: np.ndarray, segment: np.ndarray, smoothing: Smoothing | None
) -> Curve:
    """Returns a curve of points that are sorted by step; they are smoothed in this order.

    Args:
      x: [n] float64.
      y: [n] float.
      segment: [n] int; changes where the run was restarted.
      smoothing: None to draw the data as it is.
    """
    raw = None
    if smoothing is not None:
        raw, y = y, smoothed(y, smoothing)
    restarts = np.flatnonzero(segment[1:] != segment[:-1]) + 1
    there = np.isfinite(x)
    without_x = 0
    if not there.all():
        without_x = int(len(x) - np.count_nonzero(there))
        began = np.zeros(len(x), bool)
        began[restarts] = True
        x, y, began = x[there], y[there], began[there]
        raw = None if raw is None else raw[there]
        restarts = np.flatnonzero(began)
    ascending = len(x) < 2 or bool((x[1:] >= x[:-1]).all())
    if not ascending:
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
        raw = None if raw is None else raw[order]
        place = np.empty(len(order), np.intp)
        place[order] = np.arange(len(order))
        restarts = np.sort(place[restarts])
    return Curve(x, y, raw, restarts, without_x, ascending and not without_x)


class CurveCache:
    """Caches the curves used last: panning and zooming request the same ones repeatedly."""

    def __init__(self, most_bytes: int = CACHE_BYTES) -> None:
        self._most = most_bytes
        self._held = 0
        self._curves: OrderedDict[Hashable, Curve] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Curve]) -> Curve:
        """Returns the curve of a key, computed if it is not cached.

        Args:
          key: identifies the points, including the versions of their series.
          make: computes the curve; may run twice at once for one key, which is harmless.
        """
        with self._lock:
            curve = self._curves.get(key)
            if curve is not None:
                self._curves.move_to_end(key)
                return curve
        curve = make()
        with self._lock:
            if key not in self._curves and curve.nbytes <= self._most:
                self._curves[key] = curve
                self._held += curve.nbytes
                while self._held > self._most:
                    _, oldest = self._curves.popitem(last=False)
                    self._held -= oldest.nbytes
        return curve

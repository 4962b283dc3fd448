from __future__ import annotations

import numpy as np

from headrace.board.series.curve import Curve, CurveCache, make_curve
from headrace.board.series.smoothing import Smoothing

ONE_SEGMENT = np.zeros(4, np.int32)


def test_points_without_an_x_are_counted_and_left_out_but_are_smoothed_over() -> None:
    x = np.array([0.0, np.nan, 2.0, np.inf])
    y = np.array([3.0, 6.0, 9.0, 1.0])
    curve = make_curve(x, y, ONE_SEGMENT, Smoothing("mean", 3))
    assert curve.x.tolist() == [0, 2] and curve.without_x == 2 and not curve.as_given
    assert curve.y.tolist() == [4.5, 16 / 3]
    assert curve.raw is not None and curve.raw.tolist() == [3, 9]


def test_points_are_smoothed_in_order_of_step_and_drawn_in_order_of_x() -> None:
    x = np.array([30.0, 10.0, 20.0, 10.0])
    segment = np.array([0, 0, 1, 1], np.int32)
    curve = make_curve(x, np.array([1.0, 2.0, 3.0, 4.0]), segment, Smoothing("mean", 2))
    assert curve.x.tolist() == [10, 10, 20, 30]
    assert curve.y.tolist() == [2.5, 4, 3.5, 1.5]
    assert curve.restarts.tolist() == [2], "the third point written is the third in x"
    assert not curve.as_given


def test_what_comes_in_order_is_not_copied() -> None:
    x, y = np.arange(4.0), np.ones(4, np.float32)
    curve = make_curve(x, y, ONE_SEGMENT, None)
    assert curve.x is x and curve.y is y and curve.as_given and curve.raw is None


def test_the_cache_keeps_the_latest_within_its_bytes() -> None:
    result = []

    def curve_of(key: int) -> Curve:
        result.append(key)
        return make_curve(np.arange(100.0), np.zeros(100), np.zeros(100, np.int32), None)

    cache = CurveCache(most_bytes=3 * 1700)
    for key in (1, 2, 3, 1, 4, 1, 2):
        cache.get(key, lambda: curve_of(key))  # noqa: B023
    assert result == [1, 2, 3, 4, 2]
    tiny = CurveCache(most_bytes=10)
    tiny.get(1, lambda: curve_of(1))
    tiny.get(1, lambda: curve_of(1))
    assert result[5:] == [1, 1]

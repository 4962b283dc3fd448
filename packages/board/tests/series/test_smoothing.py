from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from headrace.board.series.smoothing import Smoothing, smoothed, window_mean

KINDS = [Smoothing("ema", 0.6), Smoothing("mean", 5), Smoothing("median", 5)]


@given(arrays(np.float64, st.integers(0, 300), elements=st.floats(-1e3, 1e3)), st.integers(1, 400))
def test_the_mean_is_of_the_window_around_each_point(y: np.ndarray, width: int) -> None:
    left, right = (width - 1) // 2, width // 2
    expected = [y[max(0, i - left) : i + right + 1].mean() for i in range(len(y))]
    np.testing.assert_allclose(window_mean(y, width), expected, rtol=1e-9, atol=1e-9)


def test_a_spike_leaves_no_rounding_behind_its_window() -> None:
    y = np.full(10_000, 0.1)
    y[5000] = 1e30
    mean = window_mean(y, 101)
    np.testing.assert_allclose(mean[5100:], 0.1, rtol=1e-12)
    np.testing.assert_allclose(mean[:4900], 0.1, rtol=1e-12)


@pytest.mark.parametrize("how", KINDS, ids=lambda how: how.kind)
def test_what_is_not_finite_stays_and_takes_no_part(how: Smoothing) -> None:
    y = np.random.default_rng(0).normal(size=500)
    odd = y.copy()
    odd[[3, 100, 101]] = np.nan, np.inf, -np.inf
    got = smoothed(odd, how)
    assert np.isnan(got[3]) and got[100] == np.inf and got[101] == -np.inf
    rest = np.isfinite(odd)
    np.testing.assert_array_equal(got[rest], smoothed(y[rest], how))


@pytest.mark.parametrize("how", KINDS, ids=lambda how: how.kind)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_short_series_are_smoothed_too(how: Smoothing, n: int) -> None:
    np.testing.assert_allclose(smoothed(np.full(n, 7.0, np.float32), how), np.full(n, 7.0))


def test_the_average_is_weighted_by_age() -> None:
    y = np.array([1.0, 2, 3, 4, 5])
    got = smoothed(y, Smoothing("ema", 0.6))
    expected = [np.average(y[: n + 1], weights=0.6 ** np.arange(n, -1.0, -1)) for n in range(5)]
    np.testing.assert_allclose(got, expected, rtol=1e-14)

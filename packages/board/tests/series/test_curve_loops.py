"""The compiled loops and their NumPy versions agree with each other and with definitions."""

from __future__ import annotations

import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from headrace.board.series import curve_loops, curve_loops_numpy

BOTH = pytest.mark.parametrize("passes", [curve_loops, curve_loops_numpy], ids=["native", "numpy"])
SOME = st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 3.5, 1e300])
SOME32 = SOME.filter(lambda v: v != 1e300)


def values(most: int = 200) -> st.SearchStrategy[np.ndarray]:
    """Float64 and float32 series, rich in equal and odd values."""
    wide = arrays(np.float64, st.integers(0, most), elements=SOME | st.floats())
    narrow = arrays(np.float32, st.integers(0, most), elements=SOME32 | st.floats(width=32))
    return wide | narrow


def plain_m4(y: np.ndarray, starts: np.ndarray) -> list[int]:
    kept: set[int] = set()
    for begin, end in zip(starts[:-1], starts[1:]):
        rows = list(range(begin, end))
        finite = [i for i in rows if np.isfinite(y[i])]
        kinds = [
            [i for i in rows if np.isnan(y[i])],
            [i for i in rows if y[i] == np.inf],
            [i for i in rows if y[i] == -np.inf],
            rows,
        ]
        for kind in kinds:
            kept.update(kind[:1] + kind[-1:])
        if finite:
            kept.add(min(finite, key=lambda i: y[i]))
            kept.add(max(finite, key=lambda i: y[i]))
    return sorted(kept)


@BOTH
@given(data=st.data())
def test_a_bin_keeps_its_ends_its_extremes_and_all_that_is_not_finite(passes, data) -> None:
    y = data.draw(values())
    cuts = data.draw(st.lists(st.integers(0, len(y)), min_size=2, max_size=12).map(sorted))
    starts = np.array(cuts, np.int64)
    assert passes.m4(y, starts).tolist() == plain_m4(y, starts)


@BOTH
def test_bins_beyond_the_series_are_rejected(passes) -> None:
    for starts in ([0, 4], [-1, 2]):
        with pytest.raises(ValueError, match="beyond"):
            passes.m4(np.zeros(3), np.array(starts, np.int64))
    assert passes.m4(np.zeros(0), np.array([0], np.int64)).tolist() == []


@BOTH
@given(
    y=arrays(np.float64, st.integers(0, 900), elements=st.floats(-1e6, 1e6)),
    weight=st.floats(0, 0.9999),
)
def test_the_average_is_the_recurrence_without_its_bias_to_zero(passes, y, weight) -> None:
    last, expected = 0.0, []
    for i, value in enumerate(y.tolist()):
        last = last * weight + (1 - weight) * value
        expected.append(last / (1 - weight ** (i + 1)))
    np.testing.assert_allclose(passes.ema(y, weight), expected, rtol=1e-9, atol=1e-6)


@BOTH
@given(
    y=arrays(
        np.float64, st.integers(0, 60), elements=st.floats(allow_nan=False, allow_infinity=False)
    ),
    width=st.integers(1, 80),
)
@example(y=np.array([5e-324, 5e-324, 1.7e308, 1.7e308]), width=2)
def test_the_median_is_of_the_window_around_each_point(passes, y, width) -> None:
    left, right = (width - 1) // 2, width // 2
    exact = [Fraction(value) for value in y.tolist()]  # neither overflows nor loses a denormal
    windows = [exact[max(0, i - left) : i + right + 1] for i in range(len(y))]
    expected = [float(statistics.median(window)) for window in windows]
    np.testing.assert_allclose(passes.median(y, width), expected, rtol=1e-12)


@given(values(3000), st.integers(1, 40))
def test_native_and_numpy_agree_on_long_series(y: np.ndarray, bins: int) -> None:
    starts = np.linspace(0, len(y), bins + 1).astype(np.int64)
    assert curve_loops.m4(y, starts).tolist() == curve_loops_numpy.m4(y, starts).tolist()

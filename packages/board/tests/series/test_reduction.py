from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.board.series.reduction import reduced

N = 1_000_000


def test_every_planted_spike_and_gap_is_visible_at_every_zoom() -> None:
    """Whatever the zoom, the pixel of a planted value is drawn as far as the value reaches."""
    rng = np.random.default_rng(1)
    x = np.arange(N, dtype=np.float64)
    y = rng.normal(size=N).astype(np.float32)
    where = rng.choice(N, 100, replace=False)
    planted = [1e6, -1e6, np.nan, np.inf, -np.inf]
    for i, at in enumerate(where):
        y[at] = planted[i % 5]
    px = 2000
    for span in (N, N // 3, N // 10, 50_000, 9000, 300):
        for at in where[: 100 if span > 50_000 else 20]:
            lo = float(max(0, at - span * rng.random()))
            hi = lo + span
            kept, n = reduced(x, [y], lo, hi, px)
            assert n == np.count_nonzero((x >= lo) & (x <= hi))
            assert len(kept) <= 10 * px + 2
            pixel = np.floor((x[kept] - lo) / (hi - lo) * px)
            mine = np.floor((at - lo) / (hi - lo) * px)
            near = y[kept[np.abs(pixel - mine) <= 1]]
            value = y[at]
            if np.isnan(value):
                assert np.isnan(near).any()
            elif np.isinf(value):
                assert (near == value).any()
            else:
                finite = near[np.isfinite(near)]
                assert finite.min() <= value <= finite.max()


@given(
    steps=st.lists(st.floats(0, 100), max_size=300),
    lo=st.floats(-10, 110),
    span=st.floats(0, 120),
    px=st.integers(1, 40),
    logarithmic=st.booleans(),
)
def test_kept_points_are_in_range_but_for_one_neighbour_on_each_side(
    steps: list[float], lo: float, span: float, px: int, logarithmic: bool
) -> None:
    x = np.sort(np.array(steps))
    lo = max(lo, 1e-3) if logarithmic else lo
    hi = lo + span
    kept, n = reduced(x, [np.sin(x)], lo, hi, px, logarithmic)
    inside = np.flatnonzero((x >= lo) & (x <= hi))
    assert n == len(inside)
    assert (np.diff(kept) > 0).all()
    assert np.count_nonzero(x[kept] < lo) <= 1 and np.count_nonzero(x[kept] > hi) <= 1
    if n:
        assert {inside[0], inside[-1]} <= set(kept.tolist())
        best = np.sin(x[inside])
        drawn = np.sin(x[kept])
        assert best.min() in drawn and best.max() in drawn
    if n <= 4 * px:
        assert set(inside.tolist()) <= set(kept.tolist())


def test_columns_of_a_logarithmic_axis_are_even_in_the_logarithm() -> None:
    x = np.arange(1, 100_001, dtype=np.float64)
    kept, _ = reduced(x, [np.zeros(len(x))], 1, 1e5, 100, logarithmic=True)
    by_decade = np.histogram(np.log10(x[kept]), bins=[2, 3, 4, 5])[0]
    assert by_decade.min() > 0.8 * by_decade.max()


def test_the_first_point_of_a_segment_is_always_there() -> None:
    x = np.arange(N, dtype=np.float64)
    kept, _ = reduced(x, [x], 0, N - 1, 10, always=np.array([123_457, 700_001]))
    assert {123_457, 700_001} <= set(kept.tolist())


@pytest.mark.parametrize("lo, hi", [(5.0, 5.0), (-1e308, 1e308), (1e300, 1.1e300)])
def test_ranges_of_any_size_are_cut_into_columns(lo: float, hi: float) -> None:
    x = np.sort(np.concatenate([np.full(500, 5.0), np.linspace(-1, 9, 500)]))
    kept, n = reduced(x, [x], lo, hi, 3)
    assert n == np.count_nonzero((x >= lo) & (x <= hi))
    assert len(kept) <= 32

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from headrace.board.series.grouping import BANDS, CENTERS, grouped

X = np.arange(50.0)


def reference(values: np.ndarray, center: str, band: str) -> tuple[np.ndarray, ...]:
    """Over runs that have the same steps and only finite values."""
    y = values.mean(0) if center == "mean" else np.median(values, 0)
    if band == "minmax":
        return y, values.min(0), values.max(0)
    if band == "iqr":
        return y, np.percentile(values, 25, axis=0), np.percentile(values, 75, axis=0)
    ddof = 1 if len(values) > 1 else 0
    spread = values.std(0, ddof=ddof) / (np.sqrt(len(values)) if band == "se" else 1)
    return y, y - spread, y + spread


@pytest.mark.parametrize("center", CENTERS)
@pytest.mark.parametrize("band", BANDS)
@given(
    values=st.integers(1, 8).flatmap(
        lambda runs: arrays(np.float64, (runs, 50), elements=st.floats(-1e6, 1e6))
    )
)
def test_groups_agree_with_numpy(center: str, band: str, values: np.ndarray) -> None:
    got = grouped([(X, run) for run in values], center, band)
    assert got.x.tolist() == X.tolist()
    for mine, theirs in zip((got.y, got.lo, got.hi), reference(values, center, band)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6)


def test_a_run_counts_only_between_its_ends_and_on_the_lines_between_its_points() -> None:
    got = grouped(
        [(np.array([0.0, 10.0]), np.array([0.0, 10.0])), (np.array([5.0, 20.0]), np.ones(2))],
        "mean",
        "minmax",
    )
    assert got.x.tolist() == [0, 5, 10, 20]
    assert got.y.tolist() == [0, 3, 5.5, 1]
    assert got.lo.tolist() == [0, 1, 1, 1] and got.hi.tolist() == [0, 5, 10, 1]


def test_of_a_step_written_twice_the_last_counts() -> None:
    got = grouped([(np.array([1.0, 1.0, 2.0]), np.array([5.0, 7.0, 9.0]))], "mean", "std")
    assert (got.x.tolist(), got.y.tolist()) == ([1, 2], [7, 9])


def test_what_is_not_finite_is_left_out() -> None:
    odd = np.array([1.0, np.nan, np.inf, 4.0])
    got = grouped([(X[:4], odd), (X[:4], np.full(4, 2.0))], "mean", "std")
    assert got.y.tolist() == [1.5, 2, 2, 3]
    alone = grouped([(X[:4], odd)], "median", "iqr")
    assert np.isnan(alone.y).tolist() == [False, True, True, False]


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    runs = [(np.sort(rng.random(80)), rng.normal(size=80)) for _ in range(5)]
    whole = grouped(runs, "median", "iqr")
    monkeypatch.setattr("headrace.board.series.grouping._BLOCK_ELEMENTS", 35)
    parts = grouped(runs, "median", "iqr")
    for name in ("x", "y", "lo", "hi"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


def test_no_run_is_an_empty_group() -> None:
    assert len(grouped([], "mean", "std").x) == 0
    assert len(grouped([(np.empty(0), np.empty(0))], "mean", "std").y) == 0

"""Histograms compared with a plain re-binning and with their original values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.board.summaries.histogram_buckets import (
    EMPTY,
    PERCENTILES,
    Buckets,
    buckets_of,
    legacy_buckets,
    percentiles,
    rebinned,
    shared_edges,
    tensor_buckets,
)
from headrace.formats.proto.summary_pb2 import HistogramProto, Summary
from headrace.formats.tensor_codec import make_tensor_proto

WIDTHS = st.sampled_from([0.0, 1e-3, 0.5, 1.0, 7.0])


@st.composite
def histograms(draw: st.DrawFn, disjoint: bool = False) -> Buckets:
    """Buckets with gaps between them, some of them points; they may overlap."""
    rows = draw(
        st.lists(st.tuples(st.floats(-5, 5), WIDTHS, st.integers(1, 1000)), min_size=0, max_size=12)
    )
    left, right, at = [], [], -10.0
    for gap, width, _ in rows:
        at = at + abs(gap) if disjoint else gap
        left.append(at)
        at += width
        right.append(at)
    order = np.argsort(left, kind="stable")
    table = [np.array(column, float)[order] for column in (left, right, [r[2] for r in rows])]
    return Buckets(*table)


def plain_rebin(histogram: Buckets, edges: np.ndarray) -> np.ndarray:
    """Bin by bin and bucket by bucket."""
    counts = np.zeros(len(edges) - 1)
    for left, right, count in zip(histogram.left, histogram.right, histogram.count):
        for k, (low, high) in enumerate(zip(edges[:-1], edges[1:])):
            if left == right:
                last = k == len(counts) - 1
                counts[k] += count if low <= left < high or (last and left == high) else 0
            else:
                counts[k] += count * max(0.0, min(high, right) - max(low, left)) / (right - left)
    return counts


@given(histograms(), st.integers(1, 9), st.sampled_from([None, -3.0]), st.sampled_from([None, 4.0]))
def test_a_rebin_is_the_plain_one(histogram: Buckets, bins: int, least, most) -> None:
    edges = shared_edges([histogram], bins, least, most)
    np.testing.assert_allclose(
        rebinned(histogram, edges), plain_rebin(histogram, edges), rtol=1e-6, atol=1e-6
    )


@given(histograms(disjoint=True), st.integers(1, 9))
def test_nothing_is_lost_between_shared_edges(histogram: Buckets, bins: int) -> None:
    other = Buckets(np.array([-20.0]), np.array([90.0]), np.array([3.0]))
    edges = shared_edges([histogram, other, EMPTY], bins)
    assert edges[0] <= -20 and edges[-1] >= 90 and (np.diff(edges) > 0).all()
    counts = rebinned(histogram, edges)
    np.testing.assert_allclose(counts, plain_rebin(histogram, edges), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(counts.sum(), histogram.count.sum(), rtol=1e-9)


@given(histograms(disjoint=True))
def test_percentiles_halve_what_they_should(histogram: Buckets) -> None:
    values = percentiles(histogram)
    if not len(histogram.left):
        assert np.isnan(values).all()
        return
    assert (np.diff(values) >= 0).all()
    assert values[0] == histogram.left[0] and values[-1] == histogram.right[-1]
    total = histogram.count.sum()
    for percent, value in zip(PERCENTILES, values):
        spread = histogram.right > histogram.left
        width = np.where(spread, histogram.right - histogram.left, 1)
        share = np.clip((value - histogram.left) / width, 0, 1)
        part = np.where(spread, share, histogram.left <= value)
        strictly = np.where(spread, part, histogram.left < value)
        below, up_to = (strictly * histogram.count).sum(), (part * histogram.count).sum()
        assert below - 1e-6 * total <= percent / 100 * total <= up_to + 1e-6 * total


def test_a_legacy_histogram_ends_at_its_least_and_greatest() -> None:
    proto = HistogramProto(min=-1.0, max=3.5, num=6, bucket_limit=[-2, 0, 1, 2, 1.8e308])
    proto.bucket.extend([0, 1, 2, 0, 3])
    got = legacy_buckets(proto)
    assert got is not None
    assert got.left.tolist() == [-1, 0, 2] and got.right.tolist() == [0, 1, 3.5]
    assert got.count.tolist() == [1, 2, 3]


def test_a_tensor_histogram_is_three_columns() -> None:
    table = np.array([[0.0, 1, 5], [1, 2, 0], [2, 2, 4]])
    value = Summary.Value(tensor=make_tensor_proto(table))
    got = buckets_of(value)
    assert got is not None
    assert (got.left.tolist(), got.right.tolist(), got.count.tolist()) == ([0, 2], [1, 2], [5, 4])
    empty = tensor_buckets(make_tensor_proto(np.zeros((0, 3))))
    assert empty is not None and len(empty.count) == 0


@pytest.mark.parametrize(
    "table",
    [np.zeros(3), np.zeros((2, 4)), np.zeros((1, 2, 3)), np.array([[b"a", b"b", b"c"]], object)],
    ids=["rank 1", "four columns", "rank 3", "strings"],
)
def test_a_value_that_is_not_a_histogram_is_none(table: np.ndarray) -> None:
    assert tensor_buckets(make_tensor_proto(table)) is None
    assert buckets_of(Summary.Value(simple_value=1.0)) is None
    assert legacy_buckets(HistogramProto(bucket=[1.0])) is None


NUMBERS = st.floats() | st.sampled_from([1.8e308 - 2e292, -1.7e308, 0.0, 1.0])


# Buckets that overlap: a narrow one far from the edges, and two of no width that halves.
@example([(-9e307, 0.0, 1.0), (-0.5, 0.0, 1.0)], 1)
@example([(0.0, 5e-324, 1.0), (0.0, 5e-324, 2.0)], 2)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=8), st.integers(1, 5))
def test_any_numbers_give_finite_counts_without_a_warning(rows: list, bins: int) -> None:
    got = tensor_buckets(make_tensor_proto(np.array(rows, float).reshape(-1, 3)))
    assert got is not None
    edges = shared_edges([got], bins)
    assert len(edges) == bins + 1
    counts = rebinned(got, edges)
    assert counts.shape == (bins,) and np.isfinite(counts).all()
    assert percentiles(got).shape == (len(PERCENTILES),)


def test_counts_whose_sum_exceeds_a_double_stay_finite() -> None:
    rows = [[0.0, 1.0, 9e307]] * 3 + [[0.5, 2.0, 1.7e308]]
    got = tensor_buckets(make_tensor_proto(np.array(rows)))
    assert got is not None
    assert np.isfinite(rebinned(got, shared_edges([got], 3))).all()


def test_a_histogram_of_values_is_close_to_the_values() -> None:
    values = np.random.default_rng(0).normal(size=100_000)
    counts, limits = np.histogram(values, 500)
    fine = Buckets(limits[:-1], limits[1:], counts.astype(float))
    edges = shared_edges([fine], 30)
    np.testing.assert_allclose(rebinned(fine, edges), np.histogram(values, edges)[0], atol=300)
    np.testing.assert_allclose(
        percentiles(fine)[1:-1], np.percentile(values, PERCENTILES[1:-1]), atol=0.02
    )

"""Values that only a kernel reads are read when it runs: a new index needs no new plan.

Modules: passes/constant_inputs, passes/segment_keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError

VALUE = np.arange(6 * 5 * 4, dtype=np.float32).reshape(6, 5, 4)


def _plans(session: hr.Session, fetch: Any, feeds: list[hr.Tensor]) -> int:
    return session.explain(fetch, feeds).count("specialisation for")


def test_a_fed_index_needs_no_new_plan() -> None:
    x, i = hr.constant(VALUE), hr.placeholder(hr.int32, [])
    row = x[i] * 2.0
    with hr.Session() as session:
        for k in range(-6, 6):
            np.testing.assert_array_equal(session.run(row, {i: k}), VALUE[k] * 2)
        assert _plans(session, row, [i]) == 1


def test_a_window_that_is_fed_is_one_plan_for_each_length() -> None:
    x, i, n = hr.constant(VALUE), hr.placeholder(hr.int32, []), hr.placeholder(hr.int32, [])
    window = hr.reduce_sum(x[i : i + n] * 2.0, 0)
    with hr.Session() as session:
        for k in range(4):
            for length in (1, 2):
                got = session.run(window, {i: k, n: length})
                np.testing.assert_array_equal(got, VALUE[k : k + length].sum(0) * 2)
        assert _plans(session, window, [i, n]) <= 4


@pytest.mark.host_execution("asserts that explain() names a kernel schedule of the host")
def test_a_window_whose_length_follows_from_a_shape_is_planned() -> None:
    x, like = hr.constant(VALUE), hr.placeholder(hr.float32, [None])
    window = x[: hr.shape(like)[0]] + 1.0
    with hr.Session() as session:
        for n in (1, 3, 1):
            got = session.run(window, {like: np.zeros(n, np.float32)})
            np.testing.assert_array_equal(got, VALUE[:n] + 1)
        assert "in one segment" in session.explain(window, [like])


def test_an_index_out_of_range_fails_the_run_and_the_next_one_runs() -> None:
    i = hr.placeholder(hr.int32, [])
    row = hr.constant(VALUE)[i]
    with hr.Session() as session:
        with pytest.raises(InvalidArgumentError, match="index 6 of dimension 0 out of bounds"):
            session.run(row, {i: 6})
        np.testing.assert_array_equal(session.run(row, {i: 5}), VALUE[5])


def test_a_loop_over_rows_is_native() -> None:
    x = hr.constant(VALUE)
    _, total = hr.while_loop(
        lambda i, _: i < 6, lambda i, t: (i + 1, t + x[i] * x[5 - i, :, :]), [0, hr.zeros([5, 4])]
    )
    with hr.Session() as session:
        got = session.run(total)
    np.testing.assert_array_equal(got, (VALUE * VALUE[::-1]).sum(0))


def test_gradients_of_a_fed_index() -> None:
    x, i = hr.placeholder(hr.float32, [6, 5, 4]), hr.placeholder(hr.int32, [])
    gradient = hr.gradients(hr.reduce_sum(hr.square(x[i])), x)[0]
    with hr.Session() as session:
        for k in (0, 3, -1):
            expected = np.zeros_like(VALUE)
            expected[k] = 2 * VALUE[k]
            np.testing.assert_array_equal(session.run(gradient, {x: VALUE, i: k}), expected)


def test_roll_and_slice_read_at_run() -> None:
    shift, begin = hr.placeholder(hr.int32, [2]), hr.placeholder(hr.int32, [3])
    x = hr.constant(VALUE)
    rolled = hr.roll(x, shift, [0, 1])
    piece = hr.slice(x, begin, [2, -1, 1])
    with hr.Session() as session:
        for k in range(-7, 7):
            got = session.run(rolled, {shift: [k, 2 * k]})
            np.testing.assert_array_equal(got, np.roll(VALUE, (k, 2 * k), (0, 1)))
        for b in range(4):
            got = session.run(piece, {begin: [b, b, b]})
            np.testing.assert_array_equal(got, VALUE[b : b + 2, b:, b : b + 1])
        with pytest.raises(InvalidArgumentError, match=r"Expected size\[0\] in \[0, 1\]"):
            session.run(piece, {begin: [5, 0, 0]})


ENTRY = st.tuples(
    st.integers(-8, 8), st.integers(-8, 8), st.sampled_from([-2, -1, 1, 2]), st.integers(0, 4)
)


@settings(max_examples=150, deadline=None)
@given(st.lists(ENTRY, min_size=1, max_size=3))
def test_slices_of_fed_values_are_numpys(entries: list[tuple[int, int, int, int]]) -> None:
    """Entry kinds: 0 both bounds, 1 no begin, 2 no end, 3 an index, 4 a new axis."""
    begin, end, strides = ([e[k] for e in entries] for k in range(3))
    kinds = [e[3] for e in entries]
    index: list[Any] = []
    axis = 0
    for k, (b, e, s, kind) in enumerate(entries):
        if kind == 3:
            begin[k] = b % VALUE.shape[axis]
            strides[k] = 1
        index.append([slice(b, e, s), slice(None, e, s), slice(b, None, s), begin[k], None][kind])
        axis += kind != 4

    def mask(of: int) -> int:
        return sum(1 << k for k, kind in enumerate(kinds) if kind == of)

    feeds = [hr.placeholder(hr.int32, [len(entries)]) for _ in range(2)]
    sliced = hr.strided_slice(
        hr.constant(VALUE),
        feeds[0],
        feeds[1],
        strides,
        begin_mask=mask(1),
        end_mask=mask(2),
        shrink_axis_mask=mask(3),
        new_axis_mask=mask(4),
    )
    with hr.Session() as session:
        got = session.run(hr.identity(sliced) + 0.0, {feeds[0]: begin, feeds[1]: end})
    np.testing.assert_array_equal(got, VALUE[tuple(index)])

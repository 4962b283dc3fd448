"""Reductions and scans against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from kernel_harness import run_kernel
from kernel_harness.samples import (
    COMPLEXES,
    FLOATS,
    INTEGERS,
    NUMBERS,
    REALS,
    assert_near,
    is_float,
    sample,
)

from headrace.formats.errors import InvalidArgumentError

SHAPES = [(), (65,), (3, 130), (2, 3, 65), (2, 3, 4, 5), (0, 3), (3, 0), (1, 7, 1), (2, 1, 3)]


def wide(x):
    """half and bfloat16 are folded as float."""
    return x.astype(np.float32) if is_float(x.dtype) and x.dtype.itemsize == 2 else x


def mean(x, **kw):
    if x.dtype.kind in "iu":
        n = max(1, x.size // max(1, np.sum(x, **kw).size))
        return np.trunc(np.sum(x, dtype=np.int64, **kw) / n)
    return np.mean(x, **kw)


def norm(x, **kw):
    return np.sqrt(np.sum((x * np.conj(x)).real, **kw))


OPS = {
    "Sum": (np.sum, NUMBERS),
    "Prod": (np.prod, NUMBERS),
    "Mean": (mean, FLOATS + COMPLEXES + ["int32", "int64"]),
    "Max": (np.max, REALS),
    "Min": (np.min, REALS),
    "EuclideanNorm": (norm, FLOATS + COMPLEXES),
}
CASES = [(op, dtype) for op, (_, types) in OPS.items() for dtype in types]


def axes_of(shape):
    rank = len(shape)
    return [a for n in range(rank + 1) for a in itertools.combinations(range(rank), n)]


@pytest.mark.parametrize(("op", "dtype"), CASES)
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.filterwarnings("ignore:overflow", "ignore:divide by zero")
def test_reduction_equals_numpy_over_every_set_of_axes(op, dtype):
    f, _ = OPS[op]
    for shape in SHAPES:
        x = sample(shape, dtype, low=-2, high=2)
        for axes in axes_of(shape):
            if x.size == 0 and op in ("Max", "Min"):
                continue
            for keep in (False, True):
                got = run_kernel(op, x, np.array(axes, "int32"), keep_dims=keep)
                expected = f(wide(x), axis=axes, keepdims=keep)
                assert_near(got, np.asarray(expected).astype(x.dtype), scale=16)


def test_extremes_of_nothing_are_the_other_end():
    x = np.zeros((0, 2), "float32")
    np.testing.assert_array_equal(run_kernel("Max", x, np.int32([0])), [-np.inf] * 2)
    np.testing.assert_array_equal(run_kernel("Min", x, np.int32([0])), [np.inf] * 2)
    assert run_kernel("Max", np.zeros(0, "int32"), np.int32([0])) == np.iinfo(np.int32).min


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(3, 20_001), (400, 3000), (2, 5, 1100)])
def test_wide_columns_are_added_up_whatever_the_number_of_threads(shape, threads):
    x = np.random.default_rng(3).integers(-9, 9, shape).astype(np.float32)
    axis = np.array([len(shape) - 2], np.int32)
    got = run_kernel("Sum", x, axis, threads=threads)
    np.testing.assert_array_equal(got, x.sum(-2))


@pytest.mark.parametrize("shape", [(7,), (5, 65), (65, 5), (3, 65, 4)])
def test_all_and_any(shape):
    for seed in range(4):
        x = sample(shape, bool, seed) | (seed == 1)
        for axes in axes_of(shape):
            axis = np.array(axes, "int64")
            np.testing.assert_array_equal(run_kernel("All", x, axis), np.all(x, axis=axes))
            np.testing.assert_array_equal(run_kernel("Any", x, axis), np.any(x, axis=axes))


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_and_infinity_pass(dtype):
    for n in (3, 65, 130):
        x = np.zeros((n, n), dtype)
        x[1, 2], x[0, 1] = np.nan, np.inf
        for op in ("Sum", "Max", "Min", "Mean"):
            for axis in ([0], [1], [0, 1]):
                got = run_kernel(op, x, np.int32(axis)).astype(float)
                expected = OPS[op][0](wide(x), axis=tuple(axis)).astype(float)
                np.testing.assert_array_equal(got, expected)


def test_long_sums_of_floats_lose_little():
    rng = np.random.default_rng(0)
    x = rng.random((1000, 1003), np.float32)
    exact = x.astype(np.float64)
    for axis in ([0], [1], [0, 1]):
        got = run_kernel("Sum", x, np.int32(axis))
        np.testing.assert_allclose(got, exact.sum(tuple(axis)), rtol=3e-6)


@pytest.mark.parametrize("axis", [[0], [1], [2], [0, 1], [1, 2], [0, 2], [0, 1, 2]])
def test_two_threads_give_the_bits_of_one(axis):
    x = sample((40, 130, 65), "float32")
    for op in ("Sum", "Max"):
        one = run_kernel(op, x, np.int32(axis))
        np.testing.assert_array_equal(one, run_kernel(op, x, np.int32(axis), threads=2))


def test_negative_axes_count_from_the_end_and_bad_ones_are_rejected():
    x = sample((2, 3), "float32")
    assert_near(run_kernel("Sum", x, np.int32([-1])), x.sum(-1))
    assert_near(run_kernel("Sum", x, np.int32(1)), x.sum(1))
    for axes in ([2], [-3], [0, 0], [1, -1]):
        with pytest.raises(InvalidArgumentError):
            run_kernel("Sum", x, np.int32(axes))


@pytest.mark.parametrize("dtype", [*REALS, "bool"])
@pytest.mark.parametrize("shape", [(7,), (5, 65), (3, 65, 4)])
def test_arg_max_and_arg_min_take_the_first_of_equals(dtype, shape):
    x = sample(shape, dtype)
    for axis in range(-1, len(shape)):
        for op, f in [("ArgMax", np.argmax), ("ArgMin", np.argmin)]:
            got = run_kernel(op, x, np.int32(axis), output_type="int32")
            np.testing.assert_array_equal(got, f(wide(x), axis))
            assert got.dtype == np.int32


def test_arg_max_passes_over_nan_and_rejects_an_empty_axis():
    x = np.array([np.nan, 1, np.nan, 3, 2], "f")
    assert run_kernel("ArgMax", x, np.int32(0)) == 3
    assert run_kernel("ArgMin", x, np.int32(0)) == 1
    assert run_kernel("ArgMax", np.full(3, np.nan, "f"), np.int32(0)) == 0
    with pytest.raises(InvalidArgumentError, match="empty"):
        run_kernel("ArgMax", np.zeros((2, 0), "f"), np.int32(1))


def cumulative(f, x, axis, exclusive, reverse):
    x = np.flip(x, axis) if reverse else x
    y = f.accumulate(x, axis, dtype=x.dtype)
    if exclusive:
        y = np.roll(y, 1, axis)
        first = [slice(None)] * x.ndim
        first[axis] = slice(0, 1)
        y[tuple(first)] = {np.add: 0, np.multiply: 1}.get(f, -np.inf)
    return np.flip(y, axis) if reverse else y


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS + COMPLEXES)
def test_cumulative_sums_and_products(dtype, exclusive, reverse):
    x = sample((3, 9, 4), dtype, low=-2, high=2)
    for op, f in [("Cumsum", np.add), ("Cumprod", np.multiply)]:
        for axis in range(3):
            expected = cumulative(f, wide(x), axis, exclusive, reverse).astype(x.dtype)
            got = run_kernel(op, x, np.int32(axis), exclusive=exclusive, reverse=reverse)
            assert_near(got, expected, scale=8)


@pytest.mark.parametrize("dtype", FLOATS)
def test_cumulative_logsumexp(dtype):
    x = sample((3, 9), dtype)
    expected = cumulative(np.logaddexp, wide(x), 1, False, True).astype(x.dtype)
    assert_near(run_kernel("CumulativeLogsumexp", x, np.int32(1), reverse=True), expected, scale=8)

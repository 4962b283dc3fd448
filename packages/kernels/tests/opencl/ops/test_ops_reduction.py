"""Reductions on OpenCL devices, against those of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import assert_as_cpu
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_harness import Device, PreparedKernel, run_kernel
from kernel_harness.samples import sample
from ml_dtypes import bfloat16

from headrace.formats.errors import InvalidArgumentError

FOLDS = ["Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"]
SCALE = 10  # sums are folded in another order: 1e-4

# Every form: rows, columns, runs between kept ones, and each cut into segments.
CASES = [
    ((7,), [0]),
    ((100_000,), [0]),
    ((300_007,), [0]),
    ((5, 40), [1]),
    ((5, 40), [0]),
    ((3, 100_000), [1]),
    ((100_000, 3), [1]),
    ((100_000, 3), [0]),
    ((4096, 70), [0]),
    ((70, 4096), [0]),
    ((2, 5, 700), [0, 2]),
    ((3, 100, 33), [1]),
    ((2, 3, 4, 5, 6), [0, 2, 4]),
    ((2, 3, 4, 5, 6), [1, 3]),
    ((2, 3000, 4, 5), [1, 3]),
    ((1, 1), [0, 1]),
    ((4, 1, 5), [1]),
    ((0, 5), [0]),
    ((5, 0), [0]),
]


@pytest.mark.parametrize("shape, axes", CASES)
@pytest.mark.parametrize("op", ["Sum", "Max"])
def test_reductions_of_any_form_equal_the_cpus(
    device: Device, op: str, shape: tuple, axes: list
) -> None:
    x = sample(shape, "float32", seed=1, low=-1, high=3)
    for keep in (False, True):
        assert_as_cpu(device, op, x, np.array(axes, np.int32), keep_dims=keep, scale=SCALE)


# Many short columns, columns too few for an item each, and rows of several runs cut within a run.
@pytest.mark.parametrize(
    "shape, axes",
    [((5000, 16, 4), [1]), ((3, 7, 900), [1]), ((4, 17, 9), [1]), ((2, 3, 200_003), [0, 2])],
)
@pytest.mark.parametrize("op", ["Sum", "Max"])
def test_reductions_are_cut_to_fill_the_device(
    device: Device, op: str, shape: tuple, axes: list
) -> None:
    x = sample(shape, "float32", seed=1, low=-1, high=3)
    first = assert_as_cpu(device, op, x, np.int32(axes), scale=SCALE)
    np.testing.assert_array_equal(first, run_kernel(op, x, np.int32(axes), device=device))


@pytest.mark.parametrize(
    "op, dtype",
    [
        *((op, "float32") for op in FOLDS),
        *((op, dtype) for op in ("Sum", "Max") for dtype in ("float64", "float16", bfloat16)),
        *((op, "int64") for op in ("Sum", "Prod", "Min")),
        ("Mean", "float16"),
        ("Mean", bfloat16),
        ("EuclideanNorm", "float64"),
    ],
)
def test_folds_of_any_dtype_equal_the_cpus(device: Device, op: str, dtype: str) -> None:
    high = 1.1 if op == "Prod" else 4
    for shape, axes in (((6, 90), [1]), ((90, 6), [0]), ((6, 9), [0, 1])):
        x = sample(shape, dtype, seed=2, low=0.8, high=high)
        assert_as_cpu(device, op, x, np.array(axes, np.int32), scale=SCALE)


@pytest.mark.parametrize("op", ["All", "Any"])
@pytest.mark.parametrize("axes", [[0], [1], [0, 1]])
def test_reductions_of_bool(device: Device, op: str, axes: list) -> None:
    x = np.random.default_rng(0).uniform(size=(50, 3)) < (0.98 if op == "All" else 0.02)
    assert_as_cpu(device, op, x, np.array(axes, np.int32))


@pytest.mark.parametrize("op", ["Max", "Min", "Sum"])
def test_what_is_not_a_number_is_never_lost(device: Device, op: str) -> None:
    for n in (1, 5, 40, 200):
        for at in (0, n // 2, n - 1):
            x = np.arange(n, dtype=np.float32)
            x[at] = np.nan
            assert np.isnan(run_kernel(op, x, np.int32([0]), device=device))
            assert np.isnan(
                run_kernel(op, x[:, None] + np.zeros(3, "f4"), np.int32([0]), device=device)
            ).all()


@settings(max_examples=40, deadline=None)
@given(data=st.data(), shape=st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_any_axes_of_any_shape_are_reduced(
    device: Device, data: st.DataObject, shape: list
) -> None:
    axes = [d for d in range(len(shape)) if data.draw(st.booleans())]
    x = sample(shape, "float32", seed=len(axes))
    assert_as_cpu(device, "Sum", x, np.array(axes, np.int32), scale=SCALE)


def test_the_same_input_gives_the_same_bits(device: Device) -> None:
    x = sample((1000, 1000), "float32", seed=3)
    for axes in ([0], [1], [0, 1]):
        kernel = PreparedKernel("Sum", x, np.array(axes, np.int32), device=device)
        first = kernel.compute()
        for _ in range(5):
            np.testing.assert_array_equal(kernel.compute(), first)


# Each combination compiles a program of its own, which takes longer than all that it computes.
@pytest.mark.parametrize(
    "op, dtype, output_type",
    [
        ("ArgMax", "float32", "int64"),
        ("ArgMin", "float32", "int32"),
        ("ArgMin", "float16", "int64"),
        ("ArgMax", "int64", "int32"),
    ],
)
def test_arg_reductions(device: Device, op: str, dtype: str, output_type: str) -> None:
    for shape in ((200,), (30, 50), (4, 70, 5)):
        x = sample(shape, dtype, seed=4, low=-9, high=9)
        for axis in range(len(shape)):
            assert_as_cpu(device, op, x, np.int32(axis), output_type=output_type)
            with_equals = np.round(x)
            assert_as_cpu(device, op, with_equals, np.int32(axis), output_type=output_type)


def test_the_first_of_equal_extremes_counts(device: Device) -> None:
    for n in (3, 100, 5000, 100_000):
        x = np.zeros(n, np.float32)
        assert run_kernel("ArgMax", x, np.int32(0), device=device) == 0
        x[[n // 2, n - 1]] = 1
        assert run_kernel("ArgMax", x, np.int32(0), device=device) == n // 2


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("axis", [0, 1])
def test_what_is_not_a_number_is_no_extreme(device: Device, op: str, axis: int) -> None:
    specials = np.float32([np.nan, np.inf, -np.inf, -0.0, 0.0, 1, np.nan])
    for shape in ((7, 5), (40, 300), (300, 40), (2, 3000), (3000, 2)):
        x = specials[np.random.default_rng(0).integers(0, 7, shape)]
        x[0] = np.nan
        assert_as_cpu(device, op, x, np.int32(axis))
        assert_as_cpu(device, op, x.astype(np.float16), np.int32(axis))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", bfloat16, "int64"])
@pytest.mark.parametrize(
    "rows, n, k",
    [(1, 1, 1), (5, 10, 3), (2, 1000, 5), (3, 40, 40), (1, 700, 33), (2, 64, 64), (4, 9, 0),
     (0, 9, 2)],
)  # fmt: skip
def test_the_largest_of_rows(device: Device, rows: int, n: int, k: int, dtype: str) -> None:
    x = sample((rows, n), dtype)  # with ties
    values, indices = assert_as_cpu(device, "TopKV2", x, np.int32(k))
    assert_as_cpu(device, "TopK", x.reshape(1, rows, n), k=k)
    for index_type in ("int16", "int64"):
        _, other = run_kernel("TopKV2", x, np.int64(k), index_type=index_type, device=device)
        np.testing.assert_array_equal(other, indices.astype(index_type))
    np.testing.assert_array_equal(values, np.take_along_axis(x, indices.astype(int), 1))


# Rows that are cut into pieces, or sorted in several blocks, with ties and what is not a number.
@pytest.mark.parametrize("rows, n, k", [(1, 30_011, 7), (2, 20_000, 32), (3, 5000, 40)])
def test_the_largest_of_long_rows_that_are_cut(device: Device, rows: int, n: int, k: int) -> None:
    x = np.random.default_rng(0).integers(0, 900, (rows, n)).astype(np.float32)
    x[0, ::3] = np.nan
    for value in (x, np.nan_to_num(x, nan=-1).astype(np.int64)):
        assert_as_cpu(device, "TopKV2", value, np.int32(k))


@pytest.mark.parametrize("k", [4, 50])
def test_what_is_not_a_number_is_never_among_the_largest(device: Device, k: int) -> None:
    specials = np.float32([np.nan, np.inf, -np.inf, -0.0, 0.0, 1, -1])
    x = specials[np.random.default_rng(0).integers(0, 7, (6, 50))]
    x[0] = np.nan
    x[1] = -np.inf
    for value in (x, x.astype(np.float16), x.astype(np.float64)):
        assert_as_cpu(device, "TopKV2", value, np.int32(k))


@pytest.mark.parametrize("n", [1, 1000, 200_000])
def test_l2_loss(device: Device, n: int) -> None:
    assert_as_cpu(device, "L2Loss", sample((n,), "float32", seed=5), scale=SCALE)


def test_bad_axes_are_named(device: Device) -> None:
    with pytest.raises(Exception, match="axis 2 is outside of"):
        run_kernel("Sum", np.zeros((2, 2), np.float32), np.int32([2]), device=device)


# ---- running sums and products ------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", bfloat16, "int64"])
@pytest.mark.parametrize("op", ["Cumsum", "Cumprod"])
def test_running_folds_equal_the_cpus(device: Device, op: str, dtype: Any) -> None:
    low, high = (-1, 1) if op == "Cumsum" else (0.8, 1.25)
    for shape, axis in (((7,), 0), ((3, 50, 70), 1), ((3, 50, 70), -1), ((200, 3), 0),
                        ((5, 1, 4), 1), ((0, 3), 0), ((3, 0), 0), ((1000, 9), 1)):  # fmt: skip
        x = sample(shape, dtype, seed=1, low=low, high=high)
        for exclusive in (False, True):
            for reverse in (False, True):
                assert_as_cpu(device, op, x, np.int32(axis), exclusive=exclusive, reverse=reverse,
                              scale=20)  # fmt: skip


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_few_long_lines_are_cut(device: Device, exclusive: bool, reverse: bool) -> None:
    attrs = {"exclusive": exclusive, "reverse": reverse}
    integers = np.random.default_rng(0).integers(-9, 9, 300_001)
    assert_as_cpu(device, "Cumsum", integers, np.int32(0), **attrs)
    assert_as_cpu(device, "Cumsum", integers[:300_000].reshape(2, 50_000, 3), np.int32(1), **attrs)
    floats = sample((300_001,), "float64", seed=1, low=-1, high=1)
    first = assert_as_cpu(device, "Cumsum", floats, np.int32(0), scale=1000, **attrs)
    again = run_kernel("Cumsum", floats, np.int32(0), device=device, **attrs)
    np.testing.assert_array_equal(first, again)


# Lines of less than a tile, of several, and cut into segments of two.
@pytest.mark.parametrize("shape", [(3, 300), (600, 5000), (40, 60_000)])
def test_lines_are_cut_into_tiles(device: Device, shape: tuple) -> None:
    integers = np.random.default_rng(0).integers(-9, 9, shape)
    for exclusive, reverse in ((False, False), (True, True)):
        assert_as_cpu(device, "Cumsum", integers, np.int32(1), exclusive=exclusive, reverse=reverse)


def test_a_dimension_that_is_not_there_is_an_error(device: Device) -> None:
    with pytest.raises(InvalidArgumentError, match="out of range"):
        run_kernel("Cumsum", np.ones((2, 3), np.float32), np.int32(2), device=device)

"""Choices, sums of many tensors, casts and buckets against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import run_kernel
from kernel_harness.samples import (
    COMPLEXES,
    FLOATS,
    NUMBERS,
    REALS,
    assert_near,
    is_float,
    sample,
)

from headrace.formats.errors import InvalidArgumentError

KINDS = ["bool", "float16", "float32", "float64", "complex128", object]


def wide(x):
    return x.astype(np.float32) if is_float(x.dtype) and x.dtype.itemsize == 2 else x


@pytest.mark.parametrize("dtype", KINDS)
def test_select_v2_broadcasts_all_three(dtype):
    shapes = [
        ((), (), ()),
        ((65,), (65,), (65,)),
        ((3, 65), (65,), ()),
        ((3, 1), (65,), (1,)),
        ((), (3, 65), (65,)),
        ((2, 1, 3), (4, 1), (3,)),
        ((0, 1), (5,), ()),
    ]
    for c, t, e in shapes:
        condition, a, b = sample(c, bool), sample(t, dtype, 1), sample(e, dtype, 2)
        expected = np.where(condition, a, b).astype(a.dtype)
        got = run_kernel("SelectV2", condition, a, b)
        assert got.shape == expected.shape
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", KINDS)
def test_select_takes_a_scalar_a_vector_or_a_whole_condition(dtype):
    a, b = sample((5, 65), dtype, 1), sample((5, 65), dtype, 2)
    for shape in [(), (5,), (5, 65)]:
        c = sample(shape, bool)
        spread = c[:, None] if shape == (5,) else c
        got = run_kernel("Select", c, a, b, threads=2)
        np.testing.assert_array_equal(got, np.where(spread, a, b))
    with pytest.raises(InvalidArgumentError):
        run_kernel("Select", sample((4,), bool), a, b)


@pytest.mark.parametrize("dtype", REALS)
def test_clip_by_value(dtype):
    x = sample((3, 65), dtype)
    low, high = sample((3, 65), dtype, 1, high=0), sample((3, 65), dtype, 2, low=0)
    for lo in (low, low[0, 0]):
        for hi in (high, high[0, 0]):
            expected = np.minimum(np.maximum(x, lo), hi)
            assert_near(run_kernel("ClipByValue", x, lo, hi), expected)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_add_n(dtype, n):
    for shape in [(), (65,), (9, 130)]:
        inputs = [sample(shape, dtype, i) for i in range(n)]
        expected = sum(wide(x) for x in inputs).astype(inputs[0].dtype)
        assert_near(run_kernel("AddN", inputs), expected, scale=4)
        assert_near(run_kernel("AddN", inputs, in_place=0, threads=2), expected, scale=4)


ALL = [*NUMBERS, "bool"]


@pytest.mark.parametrize("source", ALL)
@pytest.mark.parametrize("target", ALL)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_cast_between_all_types(source, target):
    x = sample((3, 65), source, low=0, high=100)
    if np.dtype(target).name == "bool":
        x[0, :9] = 0
    if source in COMPLEXES and target not in COMPLEXES and target != "bool":
        expected = x.real.astype(target)
    else:
        expected = x.astype(target)
    assert_near(run_kernel("Cast", x, DstT=target), expected)


def test_cast_of_halves_rounds_to_even_and_keeps_specials():
    rng = np.random.default_rng(0)
    x = np.concatenate([
        np.array([0, -0.0, np.inf, -np.inf, np.nan, 65504, 65519, 65520, 6e-8, 2.98e-8, 1e-9], "f"),
        np.ldexp(rng.uniform(-2, 2, 20000), rng.integers(-30, 20, 20000)).astype("f"),
    ])  # fmt: skip
    for target in ("float16", FLOATS[3]):
        with np.errstate(over="ignore"):
            expected = x.astype(target)
        got = run_kernel("Cast", x, DstT=target)
        np.testing.assert_array_equal(got.astype("f"), expected.astype("f"))
        np.testing.assert_array_equal(run_kernel("Cast", got, DstT="float32"), got.astype("f"))


def test_every_half_becomes_the_float_that_it_is():
    bits = np.arange(65536, dtype=np.uint16)
    for dtype in ("float16", FLOATS[3]):
        x = bits.view(dtype)
        np.testing.assert_array_equal(run_kernel("Cast", x, DstT="float32"), x.astype("f"))


def test_cast_of_negative_floats_to_narrow_integers_truncates():
    x = np.array([-1.9, -1.0, 2.9], "f")
    np.testing.assert_array_equal(run_kernel("Cast", x, DstT="int8"), np.int8([-1, -1, 2]))


def test_bucketize():
    x = sample((65,), "float32")
    bounds = [-2.0, 0.0, 1.5]
    got = run_kernel("Bucketize", x, boundaries=bounds)
    np.testing.assert_array_equal(got, np.digitize(x, bounds))
    with pytest.raises(InvalidArgumentError, match="sorted"):
        run_kernel("Bucketize", x, boundaries=[1.0, 0.0])


@pytest.mark.parametrize("dtype", FLOATS)
def test_check_numerics(dtype):
    x = sample((65,), dtype)
    np.testing.assert_array_equal(run_kernel("CheckNumerics", x, message="here"), x)
    x[3] = np.nan
    with pytest.raises(InvalidArgumentError, match="^here : Tensor had NaN values$"):
        run_kernel("CheckNumerics", x, message="here")
    x[4] = -np.inf
    with pytest.raises(InvalidArgumentError, match="^here : Tensor had Inf and NaN values$"):
        run_kernel("CheckNumerics", x, message="here")


def test_cross_and_betainc():
    a, b = sample((5, 3), "float32"), sample((5, 3), "float32", 1)
    assert_near(run_kernel("Cross", a, b), np.cross(a, b), scale=4)
    args = [np.float64(v) for v in (2.0, 3.0, 0.4)]
    np.testing.assert_allclose(run_kernel("Betainc", *args), 0.5248, rtol=1e-12)

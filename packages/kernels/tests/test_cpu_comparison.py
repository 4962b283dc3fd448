"""Comparisons, logic, bits and complex numbers against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import run_kernel
from kernel_harness.samples import COMPLEXES, FLOATS, INTEGERS, REALS, assert_near, sample

ORDERED = {
    "Less": np.less,
    "LessEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
}
EQUALITY = {"Equal": np.equal, "NotEqual": np.not_equal}
SHAPES = [((), ()), ((65,), (65,)), ((3, 65), (65,)), ((3, 65), ()), ((4, 1), (5,)), ((0, 2), (2,))]


@pytest.mark.parametrize("dtype", REALS)
def test_order(dtype):
    for shape_a, shape_b in SHAPES:
        a, b = sample(shape_a, dtype), sample(shape_b, dtype, 1)
        for op, f in ORDERED.items():
            np.testing.assert_array_equal(run_kernel(op, a, b), f(a, b))


@pytest.mark.parametrize("dtype", [*REALS, *COMPLEXES, "bool", object])
def test_equality(dtype):
    for shape_a, shape_b in SHAPES:
        a, b = sample(shape_a, dtype), sample(shape_b, dtype, 1)
        for op, f in EQUALITY.items():
            np.testing.assert_array_equal(run_kernel(op, a, b), np.asarray(f(a, b), bool))


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_equals_nothing(dtype):
    x = np.array([np.nan, 1, np.inf, -0.0], dtype)
    y = np.array([np.nan, np.nan, np.inf, 0.0], dtype)
    for op, f in {**ORDERED, **EQUALITY}.items():
        with np.errstate(invalid="ignore"):
            expected = f(x, y)
        np.testing.assert_array_equal(run_kernel(op, x, y), expected)


def test_approximately_equal():
    a = np.array([1.0, 1.0, 1.0], "f")
    b = np.array([1.05, 1.2, np.nan], "f")
    np.testing.assert_array_equal(run_kernel("ApproximateEqual", a, b, tolerance=0.1),
                                  [True, False, False])  # fmt: skip


def test_logic():
    a, b = sample((3, 65), bool), sample((65,), bool, 1)
    np.testing.assert_array_equal(run_kernel("LogicalAnd", a, b), a & b)
    np.testing.assert_array_equal(run_kernel("LogicalOr", a, b), a | b)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits(dtype):
    a = sample((3, 65), dtype, low=-100, high=100)
    b = sample((65,), dtype, 1, low=-100, high=100)
    for op, f in [("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or),
                  ("BitwiseXor", np.bitwise_xor)]:  # fmt: skip
        assert_near(run_kernel(op, a, b), f(a, b))
    shift = sample((65,), dtype, 2, low=0, high=7)
    assert_near(run_kernel("LeftShift", a, shift), np.left_shift(a, shift))
    assert_near(run_kernel("RightShift", a, shift), np.right_shift(a, shift))


@pytest.mark.parametrize(("real", "both"), [("float32", "complex64"), ("float64", "complex128")])
def test_complex_of_two_parts(real, both):
    a, b = sample((3, 65), real), sample((65,), real, 1)
    assert_near(run_kernel("Complex", a, b, Tout=both), (a + 1j * b).astype(both))


@pytest.mark.parametrize(
    ("op", "a", "x", "y"),
    [
        ("Igamma", 2.5, 1.5, 0.3000141641213725),
        ("Igammac", 2.5, 30.0, 1.2154569777183007e-11),
        ("Zeta", 2.5, 0.7, 2.902867577757347),
        ("Polygamma", 3.0, 1.3, 2.401023914308926),
        ("IgammaGradA", 2.5, 1.5, -0.2521754004236279),
    ],
)
def test_special_functions_of_two_at_known_points(op, a, x, y):
    for dtype in ("float64", "float32"):
        got = run_kernel(op, np.array(a, dtype), np.array(x, dtype))
        np.testing.assert_allclose(got, y, rtol=1e-9 if dtype == "float64" else 1e-5)

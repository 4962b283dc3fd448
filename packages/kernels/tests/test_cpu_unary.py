"""One tensor, element by element, against NumPy and Python's math."""

from __future__ import annotations

import math

import numpy as np
import pytest
from kernel_harness import run_kernel
from kernel_harness.samples import (
    COMPLEXES,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    assert_near,
    is_float,
    name_of,
    sample,
)

from headrace.formats.errors import InvalidArgumentError

SHAPES = [(), (1,), (65,), (3, 130), (0, 4), (2, 3, 5)]
NEGATABLE = FLOATS + SIGNED + COMPLEXES


def logistic(x):
    return 1 / (1 + np.exp(-x))


def by_math(f):
    return np.vectorize(lambda x: f(float(x)), otypes=[np.float64])


# op -> (NumPy, dtypes, range)
OPS = {
    "Neg": (np.negative, NEGATABLE, (-4, 4)),
    "Sign": (np.sign, FLOATS + SIGNED, (-4, 4)),
    "Square": (np.square, NUMBERS, (-4, 4)),
    "Abs": (np.abs, FLOATS + SIGNED, (-4, 4)),
    "Round": (np.round, FLOATS + SIGNED, (-4, 4)),
    "Sqrt": (np.sqrt, FLOATS + COMPLEXES, (0, 9)),
    "Rsqrt": (lambda x: 1 / np.sqrt(x), FLOATS + COMPLEXES, (0.1, 9)),
    "Reciprocal": (lambda x: 1 / x, FLOATS + COMPLEXES, (0.1, 9)),
    "Exp": (np.exp, FLOATS + COMPLEXES, (-9, 9)),
    "Expm1": (np.expm1, FLOATS + COMPLEXES, (-3, 3)),
    "Log": (np.log, FLOATS + COMPLEXES, (0.01, 9)),
    "Log1p": (np.log1p, FLOATS + COMPLEXES, (-0.9, 9)),
    "Sin": (np.sin, FLOATS + COMPLEXES, (-9, 9)),
    "Cos": (np.cos, FLOATS + COMPLEXES, (-9, 9)),
    "Tan": (np.tan, FLOATS + COMPLEXES, (-1, 1)),
    "Asin": (np.arcsin, FLOATS + COMPLEXES, (-0.9, 0.9)),
    "Acos": (np.arccos, FLOATS + COMPLEXES, (-0.9, 0.9)),
    "Atan": (np.arctan, FLOATS + COMPLEXES, (-0.9, 0.9)),
    "Sinh": (np.sinh, FLOATS + COMPLEXES, (-2, 2)),
    "Cosh": (np.cosh, FLOATS + COMPLEXES, (-2, 2)),
    "Tanh": (np.tanh, FLOATS + COMPLEXES, (-1.5, 1.5)),
    "Asinh": (np.arcsinh, FLOATS + COMPLEXES, (-4, 4)),
    "Acosh": (np.arccosh, FLOATS + COMPLEXES, (1.1, 4)),
    "Atanh": (np.arctanh, FLOATS + COMPLEXES, (-0.9, 0.9)),
    "Sigmoid": (logistic, FLOATS + COMPLEXES, (-2, 2)),
    "Floor": (np.floor, FLOATS, (-4, 4)),
    "Ceil": (np.ceil, FLOATS, (-4, 4)),
    "Rint": (np.rint, FLOATS, (-4, 4)),
    "Erf": (by_math(math.erf), FLOATS, (-3, 3)),
    "Erfc": (by_math(math.erfc), FLOATS, (-3, 3)),
    "Lgamma": (by_math(math.lgamma), FLOATS, (0.5, 9)),
    "Invert": (np.invert, INTEGERS, (-100, 100)),
    "Conj": (np.conj, COMPLEXES, (-4, 4)),
}
CASES = [(op, dtype) for op, (_, types, _) in OPS.items() for dtype in types]


def expected(f, x):
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 and is_float(x.dtype) else x
    with np.errstate(all="ignore"):
        return np.asarray(f(wide)).astype(x.dtype)


@pytest.mark.parametrize(("op", "dtype"), CASES)
def test_op_equals_numpy(op, dtype):
    f, _, (low, high) = OPS[op]
    for i, shape in enumerate(SHAPES):
        x = sample(shape, dtype, seed=i, low=low, high=high)
        assert_near(run_kernel(op, x), expected(f, x), scale=4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("op", ["Exp", "Tanh", "Sigmoid", "Sin", "Erf", "Log1p", "Rsqrt", "Atanh"])
def test_one_element_has_the_bits_that_it_has_among_others(op, dtype):
    _, _, (low, high) = OPS[op]
    x = sample((100,), dtype, low=low, high=high)
    alone = [run_kernel(op, one) for one in x]
    assert np.asarray(alone, x.dtype).tobytes() == run_kernel(op, x).tobytes()


def ulps(actual, exact):
    """Distance from the exact value in units of float32's last place there."""
    exact = np.asarray(exact, np.float64)
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
        off = np.abs(actual.astype(np.float64) - exact) / unit
        same = (actual == exact.astype(np.float32)) | (np.isnan(actual) & np.isnan(exact))
    return float(np.max(np.where(same, 0, off)))


@pytest.mark.parametrize(
    ("op", "f", "most"),
    [
        ("Exp", np.exp, 2),
        ("Log", np.log, 2),
        ("Tanh", np.tanh, 2),
        ("Sin", np.sin, 2),
        ("Cos", np.cos, 2),
        ("Sigmoid", logistic, 3),
        ("Expm1", np.expm1, 4),
        ("Log1p", np.log1p, 4),
    ],
)
def test_float_polynomials_are_accurate_over_all_magnitudes(op, f, most):
    rng = np.random.default_rng(1)
    magnitudes = np.exp(rng.uniform(-100, 88, 200_000))
    x = (magnitudes * rng.choice([-1, 1], magnitudes.size)).astype(np.float32)
    x = np.concatenate([x, rng.uniform(-105, 90, 200_000).astype(np.float32)])
    if op in ("Sin", "Cos"):  # NumPy's double has no such large angles exactly
        x = x[np.abs(x) < 1e6]
    if op == "Sigmoid":  # a result below the normal range may be flushed to zero
        x = x[x > -87]
    with np.errstate(all="ignore"):
        exact = f(x.astype(np.float64))
    assert ulps(run_kernel(op, x), exact) <= most


def test_tanh_is_accurate_where_its_two_ways_meet_and_where_it_becomes_one():
    sweep = np.arange(0x3F000000, 0x41200000, 97, dtype=np.int32).view(np.float32)  # 0.5 to 10
    around = np.arange(-40, 41, dtype=np.int32)
    edges = np.concatenate([v.view(np.int32) + around for v in np.float32([0.55, 9.02])])
    edges = edges.view(np.float32)
    x = np.concatenate([sweep, -sweep, edges, -edges])
    assert ulps(run_kernel("Tanh", x), np.tanh(x.astype(np.float64))) <= 2
    special = np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-38, -1e-38, 3e38, -3e38])
    got = run_kernel("Tanh", special)
    want = np.float32([0.0, -0.0, 1, -1, np.nan, 1e-38, -1e-38, 1, -1])
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got[:2]), [False, True])
    assert np.abs(run_kernel("Tanh", sweep)).max() == 1


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "op", ["Exp", "Log", "Tanh", "Sin", "Cos", "Expm1", "Log1p", "Sqrt", "Neg", "Floor", "Abs"]
)
def test_nan_infinity_and_zero_as_in_numpy(op, dtype):
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, -1e-30, 2.0, -2.0], dtype)
    actual, reference = run_kernel(op, x), expected(OPS[op][0], x)
    assert_near(actual, reference)
    zero = np.asarray(reference, np.float64) == 0
    np.testing.assert_array_equal(
        np.signbit(np.asarray(actual, np.float64))[zero],
        np.signbit(np.asarray(reference, np.float64))[zero],
    )


def test_angles_beyond_the_fast_reduction_are_still_right():
    x = np.array([1e7, -3e9, 1e20, 0.5], np.float32)
    assert_near(run_kernel("Sin", x), np.sin(x.astype(np.float64)).astype(np.float32))
    assert_near(run_kernel("Cos", x), np.cos(x.astype(np.float64)).astype(np.float32))


@pytest.mark.parametrize("dtype", FLOATS)
def test_classification(dtype):
    x = np.array([np.nan, np.inf, -np.inf, 0, 65504, -1], dtype)
    wide = x.astype(np.float64)
    np.testing.assert_array_equal(run_kernel("IsNan", x), np.isnan(wide))
    np.testing.assert_array_equal(run_kernel("IsInf", x), np.isinf(wide))
    np.testing.assert_array_equal(run_kernel("IsFinite", x), np.isfinite(wide))


@pytest.mark.parametrize("dtype", COMPLEXES)
def test_parts_of_complex_numbers(dtype):
    x = sample((3, 65), dtype)
    real = "float32" if name_of(dtype) == "complex64" else "float64"
    parts = {"Real": np.real, "Imag": np.imag, "Angle": np.angle, "ComplexAbs": np.abs}
    for op, f in parts.items():
        assert_near(run_kernel(op, x, Tout=real), np.ascontiguousarray(f(x)), scale=2)


def test_sign_of_nan_is_nan_and_of_complex_is_a_direction():
    assert np.isnan(run_kernel("Sign", np.array(np.nan, "f")))
    x = np.array([3 + 4j, 0, -2j], "complex128")
    assert_near(run_kernel("Sign", x), np.array([0.6 + 0.8j, 0, -1j]))


def test_logical_not_and_population_count():
    x = sample((65,), bool)
    np.testing.assert_array_equal(run_kernel("LogicalNot", x), ~x)
    for dtype in INTEGERS:
        y = sample((65,), dtype, low=-100, high=100)
        bits = np.iinfo(dtype).bits
        counts = [(int(v) & (1 << bits) - 1).bit_count() for v in y]
        np.testing.assert_array_equal(run_kernel("PopulationCount", y), np.uint8(counts))


def test_reciprocal_of_integers():
    x = np.array([1, -1, 2, -7], np.int32)
    np.testing.assert_array_equal(run_kernel("Reciprocal", x), [1, -1, 0, 0])
    with pytest.raises(InvalidArgumentError, match="^Integer division by zero$"):
        run_kernel("Reciprocal", np.array([1, 0], np.int32))


@pytest.mark.parametrize(
    ("op", "x", "y"),
    [
        ("Digamma", [1.0, 0.25, 10.5, -0.5], [-0.5772156649015329, -4.2274535333762654,
                                             2.3030010342976865, 0.03648997397857652]),
        ("Erfinv", [0.0, 0.5, -0.9, 1.0], [0.0, 0.4769362762044699, -1.1630871536766743, np.inf]),
        ("Ndtri", [0.5, 0.975, 0.001, 0.0], [0.0, 1.959963984540054, -3.090232306167813, -np.inf]),
        ("BesselI0e", [0.0, 1.0, -40.0], [1.0, 0.46575960759364043, 0.06327827987523534]),
        ("BesselI1e", [0.0, 1.0, -40.0], [0.0, 0.20791041534970845, -0.062482229074442064]),
        ("BesselJ0", [0.0, 2.0], [1.0, 0.22389077914123567]),
    ],
)  # fmt: skip
def test_special_functions_at_known_points(op, x, y):
    for dtype in ("float64", "float32"):
        assert_near(run_kernel(op, np.array(x, dtype)), np.array(y, dtype), scale=2)


def test_two_threads_give_the_bits_of_one_and_in_place_too():
    x = sample((300, 257), "float32")
    for op in ("Neg", "Exp", "Sin"):
        one = run_kernel(op, x)
        np.testing.assert_array_equal(one, run_kernel(op, x, threads=2))
        np.testing.assert_array_equal(one, run_kernel(op, x, in_place=0))

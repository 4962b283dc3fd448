"""Arithmetic of two operands against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import PreparedKernel, run_kernel
from kernel_harness.samples import (
    COMPLEXES,
    FLOATS,
    INTEGERS,
    NUMBERS,
    REALS,
    SIGNED,
    assert_near,
    bfloat16,
    is_float,
    sample,
)

from headrace.formats.errors import InvalidArgumentError

SHAPES = [
    ((), ()),
    ((1,), (1,)),
    ((65,), (65,)),
    ((130,), ()),
    ((), (130,)),
    ((3, 65), (65,)),
    ((65,), (3, 65)),
    ((3, 5), (3, 1)),
    ((3, 1, 5), (2, 1)),
    ((2, 1, 3, 1), (1, 4, 1, 7)),
    ((1, 1, 4), (4, 1, 1)),
    ((0, 3), (3,)),
    ((0,), (1,)),
    ((2, 3, 4, 5), (2, 3, 4, 5)),
]


def in_float(f):
    """half and bfloat16 are computed as float and rounded once."""

    def g(a, b):
        wide = np.float32 if a.dtype.itemsize == 2 and is_float(a.dtype) else a.dtype
        with np.errstate(all="ignore"):
            return np.asarray(f(a.astype(wide), b.astype(wide))).astype(a.dtype)

    return g


def squared_difference(a, b):
    return np.conj(a - b) * (a - b)


OPS = {
    "AddV2": (np.add, NUMBERS),
    "Add": (np.add, ["float32", "int16", "complex64"]),
    "Sub": (np.subtract, NUMBERS),
    "Mul": (np.multiply, NUMBERS),
    "RealDiv": (np.divide, FLOATS + COMPLEXES),
    "Maximum": (np.maximum, REALS),
    "Minimum": (np.minimum, REALS),
    "SquaredDifference": (squared_difference, FLOATS + COMPLEXES + ["int32", "int64"]),
    "FloorMod": (lambda a, b: np.mod(a, b), FLOATS),
    "FloorDiv": (lambda a, b: np.floor(a / b), FLOATS),
    "TruncateDiv": (lambda a, b: np.trunc(a / b), FLOATS),
    "TruncateMod": (np.fmod, FLOATS),
    "Atan2": (np.arctan2, FLOATS),
    "NextAfter": (np.nextafter, ["float32", "float64"]),
    "MulNoNan": (np.multiply, FLOATS + COMPLEXES),
    "DivNoNan": (lambda a, b: np.where(b == 0, 0, a / b), FLOATS + COMPLEXES),
    "Xdivy": (lambda a, b: np.where(a == 0, 0, a / b), FLOATS + COMPLEXES),
}
CASES = [(op, dtype) for op, (_, types) in OPS.items() for dtype in types]


@pytest.mark.parametrize(("op", "dtype"), CASES)
def test_op_equals_numpy_over_all_ways_to_broadcast(op, dtype):
    reference = in_float(OPS[op][0])
    for i, (shape_a, shape_b) in enumerate(SHAPES):
        a = sample(shape_a, dtype, seed=2 * i)
        b = sample(shape_b, dtype, seed=2 * i + 1)
        assert_near(run_kernel(op, a, b), reference(a, b))


# Short rows of half and bfloat16 are converted in blocks of several rows.
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["float16", bfloat16])
@pytest.mark.parametrize(
    ("shape_a", "shape_b"),
    [
        ((300, 33), (33,)),
        ((33,), (300, 33)),
        ((300, 33), (300, 1)),
        ((300, 1), (1, 33)),
        ((7, 1, 64), (5, 64)),
        ((7, 40, 6), (7, 1, 6)),
        ((600, 2), (2,)),
    ],
)
def test_short_rows_of_narrow_floats_equal_numpy(shape_a, shape_b, dtype, threads):
    a, b = sample(shape_a, dtype), sample(shape_b, dtype, seed=1)
    assert_near(run_kernel("Sub", a, b, threads=threads), in_float(np.subtract)(a, b))
    assert (run_kernel("Less", a, b, threads=threads) == (a < b)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(
    "op", ["SquaredDifference", "TanhGrad", "SigmoidGrad", "RsqrtGrad", "Xdivy"]
)
def test_one_element_has_the_bits_that_it_has_among_others(op, dtype):
    a, b = sample((100,), dtype), sample((100,), dtype, seed=1)
    alone = [run_kernel(op, x, y) for x, y in zip(a, b, strict=True)]
    assert np.asarray(alone, a.dtype).tobytes() == run_kernel(op, a, b).tobytes()


@pytest.mark.parametrize("op", ["FloorDiv", "FloorMod", "TruncateDiv", "RealDiv", "Div"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division_rounds_as_documented(op, dtype):
    a = sample((3, 65), dtype, low=-100, high=100)
    b = sample((65,), dtype, seed=1, low=-9, high=9)
    b[b == 0] = 3
    floor, mod = np.floor_divide(a, b), np.mod(a, b)
    truncated = np.trunc(a.astype(float) / b.astype(float)).astype(dtype)
    expected = {"FloorDiv": floor, "FloorMod": mod}.get(op, truncated)
    assert_near(run_kernel(op, a, b), expected)


@pytest.mark.parametrize("op", ["FloorDiv", "FloorMod", "TruncateDiv", "RealDiv", "TruncateMod"])
@pytest.mark.parametrize("shape", [(), (65,), (3, 5)])
def test_integer_division_by_zero_is_rejected(op, shape):
    a, b = sample(shape, "int32"), np.zeros(shape, np.int32)
    with pytest.raises(InvalidArgumentError, match="^Integer division by zero$"):
        run_kernel(op, a, b)


@pytest.mark.parametrize("dtype", SIGNED)
def test_lowest_integer_divided_by_minus_one_wraps(dtype):
    lowest = np.array(np.iinfo(dtype).min, dtype)
    minus_one = np.array(-1, dtype)
    assert run_kernel("FloorDiv", lowest, minus_one) == lowest
    assert run_kernel("FloorMod", lowest, minus_one) == 0


@pytest.mark.parametrize("dtype", FLOATS + COMPLEXES)
def test_pow_of_floats(dtype):
    a, b = sample((4, 65), dtype, low=0.1, high=3), sample((65,), dtype, seed=1, high=3)
    assert_near(run_kernel("Pow", a, b), in_float(np.power)(a, b), scale=8)


@pytest.mark.parametrize("dtype", SIGNED)
def test_pow_of_integers_is_exact_and_rejects_negative_exponents(dtype):
    a, b = sample((65,), dtype, low=-3), sample((65,), dtype, seed=1, low=0)
    assert_near(run_kernel("Pow", a, b), np.power(a, b))
    with pytest.raises(InvalidArgumentError, match="negative integer powers are not allowed"):
        run_kernel("Pow", np.array([2, 3], dtype), np.array([1, -1], dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_and_infinity_pass_as_in_numpy(dtype):
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5], dtype)
    a, b = special[:, None], special[None, :]
    for op in ("AddV2", "Mul", "RealDiv", "Maximum", "Minimum"):
        assert_near(run_kernel(op, a, b), in_float(OPS[op][0])(a, b))
    assert not run_kernel("MulNoNan", np.array([np.nan, np.inf], dtype), np.zeros(2, dtype)).any()
    assert not run_kernel("DivNoNan", np.array([1, np.nan], dtype), np.zeros(2, dtype)).any()


@pytest.mark.parametrize("dtype", FLOATS + COMPLEXES)
def test_gradients_follow_their_formulas(dtype):
    y, dy = sample((2, 65), dtype, low=0.5, high=2), sample((2, 65), dtype, seed=1)
    c = np.conj
    formulas = {
        "SigmoidGrad": lambda y, dy: dy * y * (1 - y),
        "TanhGrad": lambda y, dy: dy * (1 - y * y),
        "SqrtGrad": lambda y, dy: dy * 0.5 / c(y),
        "RsqrtGrad": lambda y, dy: dy * -0.5 * c(y) ** 3,
        "ReciprocalGrad": lambda y, dy: -dy * c(y) ** 2,
        "InvGrad": lambda y, dy: -dy * c(y) ** 2,
    }
    for op, formula in formulas.items():
        assert_near(run_kernel(op, y, dy), in_float(formula)(y, dy), scale=16)


@pytest.mark.parametrize("shapes", [((512, 129), (512, 129)), ((40000,), ()), ((300, 257), (257,)),
                                    ((300, 257), (300, 1))])  # fmt: skip
def test_two_threads_give_the_bits_of_one(shapes):
    a, b = sample(shapes[0], "float32"), sample(shapes[1], "float32", seed=1)
    one, two = run_kernel("Mul", a, b), run_kernel("Mul", a, b, threads=2)
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("argument", [0, 1])
def test_output_may_lie_over_either_operand(argument):
    a, b = sample((7, 65), "float32"), sample((7, 65), "float32", seed=1)
    np.testing.assert_array_equal(run_kernel("Sub", a, b, in_place=argument), a - b)


def test_shapes_that_do_not_broadcast_are_rejected():
    with pytest.raises(InvalidArgumentError, match=r"\[2, 3\].*\[4\]"):
        PreparedKernel("AddV2", np.ones((2, 3), "f"), np.ones(4, "f"))

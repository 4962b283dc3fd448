"""Programs of elementwise ops in one pass, against the same ops one by one."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import run_kernel
from kernel_harness.samples import FLOATS, assert_near, bfloat16, name_of, sample

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.cpu._table import fused_instructions

CHAIN = [
    "Mul t0 i0 c1.3",
    "Add t1 t0 c0.2",
    "Tanh t2 t1",
    "Sigmoid t3 i0",
    "Mul t4 t2 t3",
    "Sub t5 t4 i0",
    "Relu t6 t5",
    "Square t7 t6",
]


def chain(x):
    y = np.tanh(x * x.dtype.type(1.3) + x.dtype.type(0.2)) / (1 + np.exp(-x)) - x
    return np.square(np.maximum(y, 0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (1,), (65,), (1024,), (1025,), (3, 5000), (0, 3)])
def test_chain_equals_numpy(dtype, shape):
    x = sample(shape, dtype)
    for threads in (1, 2):
        got = fused([x], CHAIN, dtype, threads=threads)
        assert_near(got, chain(x), scale=2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [1, 4, 300])
@pytest.mark.parametrize("columns", [1, 7, 65, 1024, 2500])
def test_numbers_vectors_and_columns_are_spread(dtype, rows, columns):
    x = sample((rows, columns), dtype)
    v, s, c = sample((columns,), dtype, 1), sample((), dtype, 2), sample((rows, 1), dtype, 3)
    program = ["Mul t0 i2 c2", "Mul t1 i0 i1", "Add t2 t1 t0", "Sub t3 i3 t2", "Maximum o t3 i1"]
    expected = np.maximum(c - (x * v + s * 2), v)
    for threads in (1, 2):
        got = fused([x, v, s, c], program, dtype, threads=threads)
        assert_near(got, expected, scale=2)


def test_output_may_lie_over_an_input():
    x = sample((5, 1000), "float32")
    assert_near(fused([x], CHAIN, "float32", in_place=0), chain(x), scale=2)


# ---- every instruction, bit for bit --------------------------------------------------------------

SPECIAL = [
    0.0,
    -0.0,
    1,
    -1,
    np.inf,
    -np.inf,
    np.nan,
    1e-42,
    -1e-42,
    6e-8,
    65520,
    1e30,
    0.5,
    6,
    20,
    -20,
]
CHOICES = ("Select", "SelectV2")
WITH_ALPHA = ("LeakyRelu", "LeakyReluGrad")
LOGICAL = ("LogicalAnd", "LogicalOr", "LogicalNot")
COMPARISONS = ("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual")
PREDICATES = (*COMPARISONS, "IsNan", "IsInf", "IsFinite")
TYPES = [*FLOATS, "int32", "int64", "bool"]


def fused(inputs, program, result, **options):
    return run_kernel("_FusedElementwise", inputs, program=program, T=result, **options)


def values(n, dtype, seed):
    """Random ones, then every special value beside every other."""
    if name_of(dtype) == "bool":
        return sample((n,), dtype, seed)
    with np.errstate(all="ignore"):
        random = sample((n,), dtype, seed, low=-9, high=9)
        if np.dtype(dtype).kind == "i":
            random[:4] = [np.iinfo(dtype).min, np.iinfo(dtype).max, -1, 0]
            return random
        special = np.array(SPECIAL).astype(dtype)
        special = special[(np.arange(256) // (16 if seed == 0 else 1)) % 16]
        return np.concatenate([random[: n - 256], special])


def assert_same_bits(got, expected):
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if name_of(got.dtype) in ("float16", "float32", "float64", "bfloat16"):
        np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
        whole = {2: np.uint16, 4: np.uint32, 8: np.uint64}[got.dtype.itemsize]
        there = ~np.isnan(expected)
        bits = [a[there].view(whole) for a in (got, expected)]
        differ = np.nonzero(bits[0] != bits[1])[0]
        assert not len(differ), (differ[:4], got[there][differ[:4]], expected[there][differ[:4]])
    else:
        np.testing.assert_array_equal(got, expected)


def alone(name, inputs):
    """What the op's own kernel gives; it wants matrices of a bias, and knows "Add" as "AddV2"."""
    if name == "BiasAdd":
        value, bias = np.broadcast_arrays(*inputs)
        rows = run_kernel(name, value.reshape(1, -1), bias.ravel())
        return rows.reshape(value.shape)
    if name == "AddN":
        return run_kernel(name, list(np.broadcast_arrays(*inputs)))
    if name == "ClipByValue":
        inputs = np.broadcast_arrays(*inputs)
    if name == "Select" or name.endswith("Grad"):
        inputs = np.broadcast_arrays(*inputs)
    return run_kernel(name, *inputs)


@pytest.mark.parametrize("dtype", TYPES, ids=name_of)
@pytest.mark.parametrize(
    "name", sorted(set(fused_instructions()) - {"Cast", *CHOICES, *WITH_ALPHA, "Identity"})
)
def test_instruction_equals_the_op_of_its_name(name, dtype):
    operands = fused_instructions()[name]
    words = " ".join([name, "t0", *(f"i{i}" for i in range(operands))])
    whole = [values(2500, dtype, i) for i in range(operands)]
    result = "bool" if name in PREDICATES else dtype
    try:
        got = fused(whole, [words], result)
    except InvalidArgumentError as error:
        assert "not known for that dtype" in str(error)
        assert name in LOGICAL or name_of(dtype) in ("int32", "int64", "bool")
        return
    assert_same_bits(got, alone(name, whole))
    # Any operand may be one number, or a row.
    for one in range(operands):
        for part in (np.array(whole[one][2]), whole[one][:50]):
            inputs = [a.reshape(50, 50) if i != one else part for i, a in enumerate(whole)]
            if operands > 1:
                assert_same_bits(fused(inputs, [words], result), alone(name, inputs))


@pytest.mark.parametrize("alpha", [0.2, 1e-9, -3.0, np.inf, 0.0])
@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("name", WITH_ALPHA)
def test_an_op_with_alpha_equals_its_instruction_with_a_number(name, dtype, alpha):
    inputs = [values(2500, dtype, i) for i in range(fused_instructions()[name] - 1)]
    number = f"c{float(np.float32(alpha))}"
    words = " ".join([name, "t0", *(f"i{i}" for i in range(len(inputs))), number])
    assert_same_bits(fused(inputs, [words], dtype), run_kernel(name, *inputs, alpha=alpha))


@pytest.mark.parametrize("dtype", TYPES, ids=name_of)
@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_equals_the_op_of_its_name(name, dtype):
    arrays = [
        sample((50, 50), "bool", 7),
        *(values(2500, dtype, i).reshape(50, 50) for i in (0, 1)),
    ]
    for numbers in range(7):
        inputs = [np.array(a[0, i]) if numbers >> i & 1 else a for i, a in enumerate(arrays)]
        got = fused(inputs, [f"{name} t0 i0 i1 i2"], dtype)
        assert_same_bits(got, run_kernel("SelectV2", *inputs))


@pytest.mark.parametrize("to", TYPES, ids=name_of)
@pytest.mark.parametrize("source", [*TYPES, "uint8", "int8", "uint16", "int16"], ids=name_of)
def test_a_cast_equals_cast(source, to):
    x = (
        values(2500, source, 0)
        if np.dtype(source).kind != "u"
        else sample((2500,), source, high=255)
    )
    words = f"Cast t0 i0 {CATALOGUE_NAMES.get(name_of(to), name_of(to))}"
    assert_same_bits(fused([x], [words], to), run_kernel("Cast", x, DstT=to))


CATALOGUE_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_sums_of_many_are_rounded_once(dtype, n):
    inputs = [values(2000, dtype, i) for i in range(n)]
    words = " ".join(["AddN o", *(f"i{i}" for i in range(n))])
    assert_same_bits(fused(inputs, [words], dtype), run_kernel("AddN", inputs))


@pytest.mark.parametrize("dtype", ["float16", bfloat16], ids=name_of)
def test_narrow_floats_are_rounded_after_every_op(dtype):
    x, y = (values(3000, dtype, i) for i in (0, 1))
    program = ["Mul t0 i0 i1", "Exp t1 t0", "Sub t2 t1 i0", "Tanh t3 t2", "Add t4 t3 i1"]
    step = run_kernel("Exp", run_kernel("Mul", x, y))
    expected = run_kernel("AddV2", run_kernel("Tanh", run_kernel("Sub", step, x)), y)
    assert_same_bits(fused([x, y], program, dtype), expected)


# ---- reductions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*FLOATS, "int32", "int64"], ids=name_of)
@pytest.mark.parametrize("op", ["Sum", "Mean", "Max", "Min"])
@pytest.mark.parametrize(
    ("shape", "reduced"),
    [((300, 10), 1), ((4, 3000), 1), ((7, 1024), 1), ((200_000,), 1), ((3, 50, 700), 3),
     ((3, 50, 70), 2), ((2, 1500, 3), 2), ((5, 2, 2), 1)],
)  # fmt: skip
def test_a_closing_reduction_equals_the_op_of_its_name(op, dtype, shape, reduced):
    x = sample(shape, dtype, 1, low=-3, high=3)
    row = sample(shape[-1:], dtype, 2, low=1, high=3)
    column = sample((*shape[:-1], 1), dtype, 3)
    program = ["Mul t0 i0 i1", "Sub t1 t0 i2", f"{op} o t1"]
    axes = np.arange(len(shape) - reduced, len(shape), dtype=np.int32)
    for keep in (False, True):
        plain = run_kernel("Sub", run_kernel("Mul", x, row), column)
        expected = run_kernel(op, plain, axes, keep_dims=keep)
        for threads in (1, 2):
            got = run_kernel("_FusedReduction", [x, row, column], program=program, T=dtype,
                             reduced=reduced, keep_dims=keep, threads=threads)  # fmt: skip
            assert_same_bits(got, expected)


@pytest.mark.parametrize("op", ["All", "Any"])
@pytest.mark.parametrize("low", [-20, -0.001, 1])
def test_conditions_are_reduced(op, low):
    x = sample((30, 2000), "float32", low=low, high=20)
    program = ["Greater t0 i0 i1", f"{op} o t0"]
    got = run_kernel("_FusedReduction", [x, np.float32(0)], program=program, T="bool", reduced=1)
    np.testing.assert_array_equal(got, getattr(np, op.lower())(x > 0, axis=1))


def test_nan_and_infinity_go_through_a_reduction():
    x = sample((5, 3000), "float32")
    x[1, 7], x[2, 2999], x[3, 1500] = np.nan, np.inf, -np.inf
    for op in ("Sum", "Mean", "Max", "Min"):
        got = run_kernel("_FusedReduction", [x], program=["Neg t0 i0", f"{op} o t0"], T="float32",
                         reduced=1)  # fmt: skip
        assert_same_bits(got, run_kernel(op, -x, np.int32(1)))


@pytest.mark.parametrize(
    ("shape", "program", "reduced", "text"),
    [
        ((8, 8), ["Neg t0 i0", "Frob o t0"], 1, "unknown reduction"),
        ((8, 8), ["Neg t0 i0", "Sum o i0"], 1, "it must reduce the result"),
        ((8, 8), ["Neg t0 i0", "Sum o t0"], 3, "3 dimensions of 2 cannot be reduced"),
        ((8, 0), ["Neg t0 i0", "Sum o t0"], 1, "there is nothing to reduce"),
        ((8, 8), ["Sum o i0"], 1, "it must reduce the result"),
    ],
)
def test_bad_reductions_are_rejected(shape, program, reduced, text):
    with pytest.raises(InvalidArgumentError, match=text):
        run_kernel("_FusedReduction", [np.ones(shape, "f")], program=program, T="float32",
                   reduced=reduced)  # fmt: skip


# ---- bad programs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ([], "the program is empty"),
        (["Frob t0 i0"], "instruction 'Frob t0 i0': unknown op"),
        (["Add t0 i0"], "wrong number of words"),
        (["Neg t0 i1"], "an operand is not there"),
        (["Neg t0 t1"], "an operand is not there"),
        (["Neg o i0", "Neg o i0"], "no target"),
        (["Neg t0 i0", "Neg t0 t0"], "the target is set twice"),
        (["LogicalNot t0 i0"], "the op is not known for that dtype"),
        (["Cast t0 i0 string"], "no cast to that dtype"),
        (["Cast t0 i0"], "wrong number of words"),
        (["Select t0 i0 i0 i0"], "the condition must be bool"),
        (["Less t0 i0 i0", "Add t1 t0 i0"], "the operands are of several dtypes"),
        (["Less t0 i0 i0"], "the result is of another dtype than the output"),
        (["Add t0 c1 c2"], "all operands are constants"),
    ],
)
def test_bad_programs_are_rejected(program, text):
    with pytest.raises(InvalidArgumentError, match=text):
        fused([np.ones(3, "f")], program, "float32")


def test_softplus_of_any_size_is_what_its_own_kernel_gives():
    x = np.array([-np.inf, -200, -20, -1e-3, 0, 1e-3, 20, 200, np.inf, np.nan] * 200, np.float32)
    with np.errstate(all="ignore"):
        expected = np.where(x > 0, x, 0) + np.log1p(np.exp(-np.abs(x.astype(np.float64))))
    for got in (fused([x], ["Softplus t0 i0"], "float32"), run_kernel("Softplus", x)):
        np.testing.assert_allclose(got, expected.astype("f"), rtol=1e-6)


@pytest.mark.parametrize("second", ["AddV2", "Sub", "Mul"])
@pytest.mark.parametrize("first", ["AddV2", "Sub", "Mul", "BiasAdd"])
def test_two_ops_in_one_loop_round_twice(first, second):
    arrays = [values(2500, "float32", i).reshape(50, 50) for i in (0, 1, 0)]
    arrays[2] = arrays[2][::-1].copy()
    for numbers in range(7):
        inputs = [a[3, 4] if numbers >> k & 1 else a for k, a in enumerate(arrays)]
        whole = [np.broadcast_to(x, (50, 50)) for x in inputs]
        middle = alone(first, whole[:2])
        for operands in ("t0 i2", "i2 t0"):
            pair = [middle, whole[2]] if operands == "t0 i2" else [whole[2], middle]
            program = [f"{first} t0 i0 i1", f"{second} o {operands}"]
            assert_same_bits(fused(inputs, program, "float32"), alone(second, pair))
            longer = [*program[:1], f"{second} t1 {operands}", "Mul t2 t1 t1", "Sub o t2 i0"]
            end = alone("Mul", [alone(second, pair)] * 2)
            assert_same_bits(fused(inputs, longer, "float32"), alone("Sub", [end, whole[0]]))

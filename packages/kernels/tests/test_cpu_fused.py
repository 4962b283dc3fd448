"""Programs of elementwise ops in one pass, against the same ops one by one."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import run_kernel
from kernel_harness.samples import assert_near, sample

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
        got = run_kernel("_FusedElementwise", [x], program=CHAIN, threads=threads)
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
        got = run_kernel("_FusedElementwise", [x, v, s, c], program=program, threads=threads)
        assert_near(got, expected, scale=2)


def test_output_may_lie_over_an_input():
    x = sample((5, 1000), "float32")
    assert_near(run_kernel("_FusedElementwise", [x], program=CHAIN, in_place=0), chain(x), scale=2)


ACTIVATIONS = {
    "Relu": lambda x: np.maximum(x, 0),
    "Relu6": lambda x: np.clip(x, 0, 6),
    "Elu": lambda x: np.where(x < 0, np.expm1(x), x),
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "ReluGrad": lambda g, x: np.where(x > 0, g, 0),
    "Relu6Grad": lambda g, x: np.where((x > 0) & (x < 6), g, 0),
    "EluGrad": lambda g, y: np.where(y < 0, (y + 1) * g, g),
    "BiasAdd": np.add,  # of rows of one element: the op itself wants a matrix
    "AddN": np.add,
}


@pytest.mark.parametrize("name", sorted(fused_instructions()))
def test_instruction_equals_the_op_of_its_name(name):
    operands = fused_instructions()[name]
    inputs = [sample((1300,), "float32", i, low=0.1, high=2) for i in range(operands)]
    if operands == 1 and name not in ("Log", "Sqrt", "Rsqrt", "Log1p"):
        inputs[0] -= 1
    words = " ".join([name, "t0", *(f"i{i}" for i in range(operands))])
    got = run_kernel("_FusedElementwise", inputs, program=[words])
    alone = ACTIVATIONS.get(name) or (lambda *x: run_kernel({"Add": "AddV2"}.get(name, name), *x))
    assert_near(got, alone(*inputs).astype("f"), scale=2)


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
    ],
)
def test_bad_programs_are_refused(program, text):
    with pytest.raises(InvalidArgumentError, match=text):
        run_kernel("_FusedElementwise", [np.ones(3, "f")], program=program)


def test_softplus_of_any_size_is_what_its_own_kernel_gives():
    x = np.array([-np.inf, -200, -20, -1e-3, 0, 1e-3, 20, 200, np.inf, np.nan] * 200, np.float32)
    got = run_kernel("_FusedElementwise", [x], program=["Softplus t0 i0"])
    np.testing.assert_allclose(got, run_kernel("Softplus", x), rtol=1e-6)

"""Compiled optimizers against the formulas of the reference library.

test_reference_optimizers.py compares the formulas with steps worked out by hand.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from kernel_harness import Variable, run_kernel

from headrace.formats import op_catalogue
from headrace.formats.errors import FailedPreconditionError, InvalidArgumentError
from headrace.kernels.reference import registry
from headrace.kernels.reference.ops import optimizers  # noqa: F401  (registers the formulas)

FLOATS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
TOLERANCE = {"float32": 1e-5, "float64": 1e-13, "float16": 4e-3, "bfloat16": 3e-2}
SCALARS = {"alpha": 0.1, "lr": 0.1, "l1": 0.02, "l2": 0.03, "momentum": 0.9, "epsilon": 0.01,
           "rho": 0.9, "beta1": 0.9, "beta2": 0.99, "beta1_power": 0.81, "beta2_power": 0.98,
           "lr_power": -0.5, "l2_shrinkage": 0.05, "sign_decay": 0.7, "beta": 0.8, "logbase": 0.5,
           "global_step": 3}  # fmt: skip
SLOT_NAMES = {"accum", "accum_update", "linear", "m", "v", "vhat", "ms", "mg", "mom",
              "gradient_accumulator", "gradient_squared_accumulator"}  # fmt: skip
OPS = [name for name in op_catalogue.names() if name.removeprefix("Resource").startswith(
    ("Apply", "SparseApply"))]  # fmt: skip
ATTRS = {"Momentum": [{}, {"use_nesterov": True}], "KerasMomentum": [{}, {"use_nesterov": True}],
         "Adam": [{}, {"use_nesterov": True}], "Adagrad": [{}, {"update_slots": False}],
         "AdagradV2": [{}, {"update_slots": False}], "Ftrl": [{}, {"multiply_linear_by_lr": True}],
         "FtrlV2": [{}, {"multiply_linear_by_lr": True}]}  # fmt: skip
DEFAULTS = {"use_nesterov": False, "update_slots": True, "multiply_linear_by_lr": False}


def stem_of(op):
    return op.removeprefix("Resource").removeprefix("Sparse").removeprefix("Apply")


def formula(op, attrs, operands):
    """The new values of the variable and its slots, from the operands of a dense update."""
    step = registry.updates[op.replace("Sparse", "")]
    return step({**DEFAULTS, **attrs}, *operands)


def slot_values(arg, shape, rng, dtype):
    if arg == "var" or arg in ("linear", "m", "mg", "mom", "gradient_accumulator"):
        return (rng.standard_normal(shape) / 16).astype(dtype)
    return (rng.random(shape) + 0.5).astype(dtype)


def run(op, dtype, shape, attrs, scalars=SCALARS, indices=None):
    """Runs op on random values; returns the new values and the operands in double.

    The operands are the variable and its slots as they were, scalars and gradient: the op's inputs
    in their order, without indices.
    """
    rng = np.random.default_rng(0)
    inputs, operands = [], []
    for arg in op_catalogue.signature(op).inputs:
        if arg.name == "indices":
            inputs.append(indices)
            continue
        if arg.name == "var" or arg.name in SLOT_NAMES:
            value = slot_values(arg.name, shape, rng, dtype)
            inputs.append(Variable(value))
        elif arg.name in ("grad", "delta"):
            rows = shape if indices is None else (len(indices), *shape[1:])
            value = rng.standard_normal(rows).astype(dtype)
            inputs.append(value)
        else:
            kind = np.int64 if arg.name == "global_step" else dtype
            value = np.array(scalars[arg.name], kind)
            inputs.append(value)
        operands.append(value.astype(np.float64))
    run_kernel(op, *inputs, T=dtype, threads=2, **attrs)
    return [v.value for v in inputs if isinstance(v, Variable)], operands


def near(got, want, dtype):
    tolerance = TOLERANCE[np.dtype(dtype).name]
    for g, w in zip(got, want, strict=True):
        assert g.dtype == dtype
        np.testing.assert_allclose(g.astype(np.float64), w, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", [op for op in OPS if "Sparse" not in op])
def test_whole_gradients_follow_the_formula(op, dtype):
    for attrs in ATTRS.get(stem_of(op), [{}]):
        for shape in [(), (7,), (3, 65), (0, 2)]:
            got, operands = run(op, dtype, shape, attrs)
            near(got, formula(op, attrs, operands), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", [op for op in OPS if "Sparse" in op])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_rows_follow_the_formula_one_after_the_other(op, dtype, index):
    indices = np.array([4, 0, 2, 4], index)  # 4 twice
    names = [arg.name for arg in op_catalogue.signature(op).inputs if arg.name != "indices"]
    gradient = names.index("grad")
    for attrs in ATTRS.get(stem_of(op), [{}]):
        got, operands = run(op, dtype, (5, 9), attrs, indices=indices)
        state = operands[: len(got)]
        for i, row in enumerate(indices):
            of_row = [*(s[row] for s in state), *operands[len(got) :]]
            of_row[gradient] = operands[gradient][i]
            for s, new in zip(state, formula(op, attrs, of_row), strict=True):
                s[row] = new.astype(dtype)
        near(got, state, dtype)


def test_without_l1_nothing_is_shrunk_and_any_power_may_be_taken():
    scalars = {**SCALARS, "l1": 0.0, "lr_power": -0.7}
    for op in ("ApplyFtrl", "ApplyFtrlV2", "ResourceApplyProximalAdagrad", "ApplyAdagradDA"):
        got, operands = run(op, np.float64, (9,), {}, scalars)
        near(got, formula(op, {}, operands), np.float64)


def test_large_variables_are_shared_among_threads():
    got, operands = run("ResourceApplyAdam", np.float32, (130, 1001), {})
    near(got, formula("ResourceApplyAdam", {}, operands), np.float32)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.complex64])
def test_gradient_descent_knows_every_number(dtype):
    var = Variable(np.array([9, 8, 7], dtype))
    run_kernel("ApplyGradientDescent", var, np.array(2, dtype), np.array([1, 2, 3], dtype))
    np.testing.assert_array_equal(var.value, np.array([7, 4, 1], dtype))


def test_shapes_that_differ_are_both_named():
    var, m = Variable(np.zeros((2, 3), np.float32)), Variable(np.zeros((2, 3), np.float32))
    lr, grad = np.array(0.1, np.float32), np.zeros((3, 2), np.float32)
    with pytest.raises(InvalidArgumentError, match=r"\[2, 3\].*\[3, 2\]"):
        run_kernel("ResourceApplyMomentum", var, m, lr, grad, lr, T=np.float32)
    np.testing.assert_array_equal(var.value, np.zeros((2, 3)))


def test_an_index_outside_the_variable_is_named_and_nothing_changes():
    var, accum = Variable(np.ones((2, 3), np.float32)), Variable(np.ones((2, 3), np.float32))
    lr, grad = np.array(0.1, np.float32), np.ones((2, 3), np.float32)
    with pytest.raises(InvalidArgumentError, match=r"index 2 at 1 is outside \[0, 2\)"):
        run_kernel("SparseApplyAdagrad", var, accum, lr, grad, np.array([0, 2], np.int32))
    np.testing.assert_array_equal(var.value, np.ones((2, 3)))


def test_an_uninitialised_variable_is_rejected():
    var = Variable(None, np.float32)
    with pytest.raises(FailedPreconditionError):
        lr, grad = np.array(0.1, np.float32), np.ones((2,), np.float32)
        run_kernel("ResourceApplyGradientDescent", var, lr, grad, T=np.float32)

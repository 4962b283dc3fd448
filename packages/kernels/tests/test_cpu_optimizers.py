"""Optimizers of the cpu table against their published formulas in NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from kernel_harness import Variable, run_kernel

from headrace.formats import op_catalogue
from headrace.formats.errors import FailedPreconditionError, InvalidArgumentError

FLOATS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
TOLERANCE = {"float32": 1e-5, "float64": 1e-13, "float16": 4e-3, "bfloat16": 3e-2}


def proximal(w, lr, l1, l2):
    if np.any(l1 > 0):
        w = np.sign(w) * np.maximum(np.abs(w) - lr * l1, 0)
    return w / (1 + l2 * lr)


def gradient_descent(w, *, alpha, grad):
    return [w - alpha * grad]


def proximal_gradient_descent(w, *, alpha, l1, l2, grad):
    return [proximal(w - alpha * grad, alpha, l1, l2)]


def momentum(w, accum, *, lr, grad, momentum, use_nesterov=False):
    accum = accum * momentum + grad
    return [w - (lr * grad + lr * momentum * accum if use_nesterov else lr * accum), accum]


def keras_momentum(w, accum, *, lr, grad, momentum, use_nesterov=False):
    accum = accum * momentum - lr * grad
    return [w + (accum * momentum - lr * grad if use_nesterov else accum), accum]


def adagrad(w, accum, *, lr, grad, update_slots=True):
    accum = accum + grad**2 if update_slots else accum
    return [w - lr * grad / np.sqrt(accum), accum]


def adagrad_v2(w, accum, *, lr, epsilon, grad, update_slots=True):
    accum = accum + grad**2 if update_slots else accum
    return [w - lr * grad / (np.sqrt(accum) + epsilon), accum]


def proximal_adagrad(w, accum, *, lr, l1, l2, grad):
    accum = accum + grad**2
    rate = lr / np.sqrt(accum)
    return [proximal(w - rate * grad, rate, l1, l2), accum]


def adagrad_da(w, total, squares, *, grad, lr, l1, l2, global_step):
    total, squares = total + grad, squares + grad**2
    shrunk = np.sign(total) * np.maximum(np.abs(total) - l1 * global_step, 0) if l1 > 0 else total
    return [-lr * shrunk / (l2 * global_step * lr + np.sqrt(squares)), total, squares]


def adadelta(w, accum, accum_update, *, lr, rho, epsilon, grad):
    accum = rho * accum + (1 - rho) * grad**2
    update = np.sqrt(accum_update + epsilon) / np.sqrt(accum + epsilon) * grad
    return [w - lr * update, accum, rho * accum_update + (1 - rho) * update**2]


def adam(w, m, v, *, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_nesterov=False):
    rate = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    m, v = beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad**2
    ahead = beta1 * m + (1 - beta1) * grad if use_nesterov else m
    return [w - rate * ahead / (np.sqrt(v) + epsilon), m, v]


def adam_with_amsgrad(w, m, v, vhat, *, grad, lr, epsilon, beta1_power, beta2_power, beta1, beta2):
    rate = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    m, v = beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad**2
    vhat = np.maximum(vhat, v)
    return [w - rate * m / (np.sqrt(vhat) + epsilon), m, v, vhat]


def ada_max(w, m, v, *, beta1_power, lr, beta1, beta2, epsilon, grad):
    m, v = beta1 * m + (1 - beta1) * grad, np.maximum(beta2 * v, np.abs(grad))
    return [w - lr / (1 - beta1_power) * m / (v + epsilon), m, v]


def rms_prop(w, ms, mom, *, lr, rho, momentum, epsilon, grad):
    ms = rho * ms + (1 - rho) * grad**2
    mom = momentum * mom + lr * grad / np.sqrt(ms + epsilon)
    return [w - mom, ms, mom]


def centered_rms_prop(w, mg, ms, mom, *, lr, rho, momentum, epsilon, grad):
    ms, mg = rho * ms + (1 - rho) * grad**2, rho * mg + (1 - rho) * grad
    mom = momentum * mom + lr * grad / np.sqrt(ms - mg**2 + epsilon)
    return [w - mom, mg, ms, mom]


def ftrl(
    w, accum, linear, *, grad, lr, l1, l2, lr_power, l2_shrinkage=0.0, multiply_linear_by_lr=False
):
    after = accum + grad**2
    shrunk = grad + 2 * l2_shrinkage * w
    growth = after**-lr_power - accum**-lr_power
    if multiply_linear_by_lr:
        linear = linear + shrunk * lr - growth * w
        quadratic, l1 = after**-lr_power + 2 * l2 * lr, l1 * lr
    else:
        linear = linear + shrunk - growth / lr * w
        quadratic = after**-lr_power / lr + 2 * l2
    w = np.where(np.abs(linear) > l1, (l1 * np.sign(linear) - linear) / quadratic, 0)
    return [w, after, linear]


def add_sign(w, m, *, lr, alpha, sign_decay, beta, grad):
    m = beta * m + (1 - beta) * grad
    return [w - lr * (alpha + sign_decay * np.sign(grad) * np.sign(m)) * grad, m]


def power_sign(w, m, *, lr, logbase, sign_decay, beta, grad):
    m = beta * m + (1 - beta) * grad
    return [w - lr * np.exp(logbase * sign_decay * np.sign(grad) * np.sign(m)) * grad, m]


RULES = {
    "GradientDescent": gradient_descent,
    "ProximalGradientDescent": proximal_gradient_descent,
    "Momentum": momentum,
    "KerasMomentum": keras_momentum,
    "Adagrad": adagrad,
    "AdagradV2": adagrad_v2,
    "ProximalAdagrad": proximal_adagrad,
    "AdagradDA": adagrad_da,
    "Adadelta": adadelta,
    "Adam": adam,
    "AdamWithAmsgrad": adam_with_amsgrad,
    "AdaMax": ada_max,
    "RMSProp": rms_prop,
    "CenteredRMSProp": centered_rms_prop,
    "Ftrl": ftrl,
    "FtrlV2": ftrl,
    "AddSign": add_sign,
    "PowerSign": power_sign,
}
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


def rule_of(op):
    stem = op.removeprefix("Resource").removeprefix("Sparse").removeprefix("Apply")
    return stem, RULES[stem]


def slot_values(arg, shape, rng, dtype):
    if arg == "var" or arg in ("linear", "m", "mg", "mom", "gradient_accumulator"):
        return (rng.standard_normal(shape) / 16).astype(dtype)
    return (rng.random(shape) + 0.5).astype(dtype)


def run(op, dtype, shape, attrs, scalars=SCALARS, indices=None):
    """Runs op on random values: (names of slots, what they held, the new, scalars, gradient)."""
    rng = np.random.default_rng(0)
    signature = op_catalogue.signature(op)
    inputs, slots, named, gradient = [], {}, {}, None
    for arg in signature.inputs:
        if arg.name == "var" or arg.name in SLOT_NAMES:
            slots[arg.name] = slot_values(arg.name, shape, rng, dtype)
            inputs.append(Variable(slots[arg.name]))
        elif arg.name in ("grad", "delta"):
            rows = shape if indices is None else (len(indices), *shape[1:])
            gradient = rng.standard_normal(rows).astype(dtype)
            inputs.append(gradient)
        elif arg.name == "indices":
            inputs.append(indices)
        else:
            kind = np.int64 if arg.name == "global_step" else dtype
            value = np.array(scalars[arg.name], kind)
            named[arg.name] = value.astype(np.float64)
            inputs.append(value)
    run_kernel(op, *inputs, T=dtype, threads=2, **attrs)
    got = [v.value for v in inputs if isinstance(v, Variable)]
    return slots, got, {"grad": gradient.astype(np.float64), **named}


def near(got, want, dtype):
    tolerance = TOLERANCE[np.dtype(dtype).name]
    for g, w in zip(got, want, strict=True):
        assert g.dtype == dtype
        np.testing.assert_allclose(g.astype(np.float64), w, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", [op for op in OPS if "Sparse" not in op])
def test_whole_gradients_follow_the_formula(op, dtype):
    stem, rule = rule_of(op)
    for attrs in ATTRS.get(stem, [{}]):
        for shape in [(), (7,), (3, 65), (0, 2)]:
            slots, got, named = run(op, dtype, shape, attrs)
            want = rule(*(s.astype(np.float64) for s in slots.values()), **named, **attrs)
            near(got, want, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", [op for op in OPS if "Sparse" in op])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_rows_follow_the_formula_one_after_the_other(op, dtype, index):
    stem, rule = rule_of(op)
    indices = np.array([4, 0, 2, 4], index)  # 4 twice
    for attrs in ATTRS.get(stem, [{}]):
        slots, got, named = run(op, dtype, (5, 9), attrs, indices=indices)
        state = [s.astype(np.float64) for s in slots.values()]
        for i, row in enumerate(indices):
            step = rule(*(s[row] for s in state), **{**named, "grad": named["grad"][i]}, **attrs)
            for s, new in zip(state, step, strict=True):
                s[row] = new.astype(dtype)
        near(got, state, dtype)


def test_without_l1_nothing_is_shrunk_and_any_power_may_be_taken():
    scalars = {**SCALARS, "l1": 0.0, "lr_power": -0.7}
    for op in ("ApplyFtrl", "ApplyFtrlV2", "ResourceApplyProximalAdagrad", "ApplyAdagradDA"):
        slots, got, named = run(op, np.float64, (9,), {}, scalars)
        near(got, rule_of(op)[1](*slots.values(), **named), np.float64)


def test_large_variables_are_shared_among_threads():
    slots, got, named = run("ResourceApplyAdam", np.float32, (130, 1001), {})
    want = adam(*(s.astype(np.float64) for s in slots.values()), **named)
    near(got, want, np.float32)


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


def test_an_uninitialised_variable_is_refused():
    var = Variable(None, np.float32)
    with pytest.raises(FailedPreconditionError):
        lr, grad = np.array(0.1, np.float32), np.ones((2,), np.float32)
        run_kernel("ResourceApplyGradientDescent", var, lr, grad, T=np.float32)

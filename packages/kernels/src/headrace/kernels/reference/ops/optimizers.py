"""The formulas of the optimizers' updates: (attrs, var, slots..., hyper..., grad) -> new values.

The ops change variables, which is the runtime's and the compiled kernels' work; these say what
must come out. Every formula gives the new var first and then the new slots, in wide arithmetic;
a sparse update applies its formula to the rows that its indices name.
"""

from __future__ import annotations

import numpy as np

from headrace.kernels.reference.registry import Attrs, update

Arrays = tuple[np.ndarray, ...]


@update("ApplyGradientDescent", "ResourceApplyGradientDescent")
def gradient_descent(attrs: Attrs, var: np.ndarray, lr: float, grad: np.ndarray) -> Arrays:
    return (var - lr * grad,)


def _shrunk(var: np.ndarray, lr: np.ndarray | float, l1: float, l2: float) -> np.ndarray:
    """The proximal step of an L1 and an L2 penalty."""
    if l1 > 0:
        var = np.sign(var) * np.maximum(np.abs(var) - lr * l1, 0)
    return var / (1 + l2 * lr)


@update("ApplyProximalGradientDescent", "ResourceApplyProximalGradientDescent")
def proximal_gradient_descent(
    attrs: Attrs, var: np.ndarray, lr: float, l1: float, l2: float, grad: np.ndarray
) -> Arrays:
    return (_shrunk(var - lr * grad, lr, l1, l2),)


@update("ApplyMomentum", "ResourceApplyMomentum")
def momentum(
    attrs: Attrs, var: np.ndarray, accum: np.ndarray, lr: float, grad: np.ndarray, decay: float
) -> Arrays:
    accum = accum * decay + grad
    if attrs["use_nesterov"]:
        return var - lr * (grad + decay * accum), accum
    return var - lr * accum, accum


@update("ResourceApplyKerasMomentum")
def keras_momentum(
    attrs: Attrs, var: np.ndarray, accum: np.ndarray, lr: float, grad: np.ndarray, decay: float
) -> Arrays:
    accum = accum * decay - lr * grad
    if attrs["use_nesterov"]:
        return var + decay * accum - lr * grad, accum
    return var + accum, accum


@update("ApplyAdagrad", "ResourceApplyAdagrad")
def adagrad(
    attrs: Attrs, var: np.ndarray, accum: np.ndarray, lr: float, grad: np.ndarray
) -> Arrays:
    if attrs["update_slots"]:
        accum = accum + grad * grad
    return var - lr * grad / np.sqrt(accum), accum


@update("ApplyAdagradV2", "ResourceApplyAdagradV2")
def adagrad_v2(
    attrs: Attrs, var: np.ndarray, accum: np.ndarray, lr: float, epsilon: float, grad: np.ndarray
) -> Arrays:
    if attrs["update_slots"]:
        accum = accum + grad * grad
    return var - lr * grad / (np.sqrt(accum) + epsilon), accum


@update("ApplyProximalAdagrad", "ResourceApplyProximalAdagrad")
def proximal_adagrad(
    attrs: Attrs,
    var: np.ndarray,
    accum: np.ndarray,
    lr: float,
    l1: float,
    l2: float,
    grad: np.ndarray,
) -> Arrays:
    accum = accum + grad * grad
    rate = lr / np.sqrt(accum)
    return _shrunk(var - rate * grad, rate, l1, l2), accum


@update("ApplyAdagradDA", "ResourceApplyAdagradDA")
def adagrad_da(
    attrs: Attrs,
    var: np.ndarray,
    gradients: np.ndarray,
    squares: np.ndarray,
    grad: np.ndarray,
    lr: float,
    l1: float,
    l2: float,
    step: int,
) -> Arrays:
    gradients, squares = gradients + grad, squares + grad * grad
    shrunk = gradients
    if l1 > 0:
        shrunk = np.sign(gradients) * np.maximum(np.abs(gradients) - l1 * step, 0)
    return -lr * shrunk / (l2 * step * lr + np.sqrt(squares)), gradients, squares


@update("ApplyAdadelta", "ResourceApplyAdadelta")
def adadelta(
    attrs: Attrs,
    var: np.ndarray,
    accum: np.ndarray,
    accum_update: np.ndarray,
    lr: float,
    rho: float,
    epsilon: float,
    grad: np.ndarray,
) -> Arrays:
    accum = accum * rho + grad * grad * (1 - rho)
    step = np.sqrt(accum_update + epsilon) / np.sqrt(accum + epsilon) * grad
    return var - lr * step, accum, accum_update * rho + step * step * (1 - rho)


@update("ApplyAdam", "ResourceApplyAdam")
def adam(
    attrs: Attrs,
    var: np.ndarray,
    m: np.ndarray,
    v: np.ndarray,
    beta1_power: float,
    beta2_power: float,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: np.ndarray,
) -> Arrays:
    """Source: Kingma and Ba 2015, algorithm 1 in its efficient order."""
    rate = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    m = m + (grad - m) * (1 - beta1)
    v = v + (grad * grad - v) * (1 - beta2)
    step = m * beta1 + grad * (1 - beta1) if attrs["use_nesterov"] else m
    return var - rate * step / (np.sqrt(v) + epsilon), m, v


@update("ResourceApplyAdamWithAmsgrad")
def adam_with_amsgrad(
    attrs: Attrs,
    var: np.ndarray,
    m: np.ndarray,
    v: np.ndarray,
    greatest: np.ndarray,
    beta1_power: float,
    beta2_power: float,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: np.ndarray,
) -> Arrays:
    rate = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    m = m + (grad - m) * (1 - beta1)
    v = v + (grad * grad - v) * (1 - beta2)
    greatest = np.maximum(greatest, v)
    return var - rate * m / (np.sqrt(greatest) + epsilon), m, v, greatest


@update("ApplyAdaMax", "ResourceApplyAdaMax")
def adamax(
    attrs: Attrs,
    var: np.ndarray,
    m: np.ndarray,
    v: np.ndarray,
    beta1_power: float,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: np.ndarray,
) -> Arrays:
    m = m + (grad - m) * (1 - beta1)
    v = np.maximum(beta2 * v, np.abs(grad))
    return var - lr / (1 - beta1_power) * (m / (v + epsilon)), m, v


@update("ApplyRMSProp", "ResourceApplyRMSProp")
def rms_prop(
    attrs: Attrs,
    var: np.ndarray,
    ms: np.ndarray,
    mom: np.ndarray,
    lr: float,
    rho: float,
    decay: float,
    epsilon: float,
    grad: np.ndarray,
) -> Arrays:
    ms = ms + (grad * grad - ms) * (1 - rho)
    mom = mom * decay + lr * grad / np.sqrt(ms + epsilon)
    return var - mom, ms, mom


@update("ApplyCenteredRMSProp", "ResourceApplyCenteredRMSProp")
def centered_rms_prop(
    attrs: Attrs,
    var: np.ndarray,
    mg: np.ndarray,
    ms: np.ndarray,
    mom: np.ndarray,
    lr: float,
    rho: float,
    decay: float,
    epsilon: float,
    grad: np.ndarray,
) -> Arrays:
    ms = ms + (grad * grad - ms) * (1 - rho)
    mg = mg + (grad - mg) * (1 - rho)
    mom = mom * decay + lr * grad / np.sqrt(ms - mg * mg + epsilon)
    return var - mom, mg, ms, mom


def _ftrl(
    attrs: Attrs,
    var: np.ndarray,
    accum: np.ndarray,
    linear: np.ndarray,
    grad: np.ndarray,
    lr: float,
    l1: float,
    l2: float,
    shrinkage: float,
    power: float,
) -> Arrays:
    """Source: McMahan et al., Ad click prediction, 2013, algorithm 1.

    With multiply_linear_by_lr, `linear` is kept multiplied by the learning rate.
    """
    total = accum + grad * grad
    scale = lr if attrs["multiply_linear_by_lr"] else 1.0
    growth = (total**-power - accum**-power) * (scale / lr)
    # l2_shrinkage is a penalty on the gradient alone, not on its square
    linear = linear + scale * (grad + 2 * shrinkage * var) - growth * var
    quadratic = scale * (total**-power / lr + 2 * l2)
    l1 = scale * l1
    new = np.where(np.abs(linear) > l1, (np.sign(linear) * l1 - linear) / quadratic, 0)
    return new, total, linear


@update("ApplyFtrl", "ResourceApplyFtrl")
def ftrl(
    attrs: Attrs,
    var: np.ndarray,
    accum: np.ndarray,
    linear: np.ndarray,
    grad: np.ndarray,
    lr: float,
    l1: float,
    l2: float,
    power: float,
) -> Arrays:
    return _ftrl(attrs, var, accum, linear, grad, lr, l1, l2, 0.0, power)


@update("ApplyFtrlV2", "ResourceApplyFtrlV2")
def ftrl_v2(
    attrs: Attrs,
    var: np.ndarray,
    accum: np.ndarray,
    linear: np.ndarray,
    grad: np.ndarray,
    lr: float,
    l1: float,
    l2: float,
    l2_shrinkage: float,
    power: float,
) -> Arrays:
    return _ftrl(attrs, var, accum, linear, grad, lr, l1, l2, l2_shrinkage, power)


@update("ApplyAddSign", "ResourceApplyAddSign")
def add_sign(
    attrs: Attrs,
    var: np.ndarray,
    m: np.ndarray,
    lr: float,
    alpha: float,
    sign_decay: float,
    beta: float,
    grad: np.ndarray,
) -> Arrays:
    m = m * beta + grad * (1 - beta)
    return var - lr * (alpha + sign_decay * np.sign(grad) * np.sign(m)) * grad, m


@update("ApplyPowerSign", "ResourceApplyPowerSign")
def power_sign(
    attrs: Attrs,
    var: np.ndarray,
    m: np.ndarray,
    lr: float,
    logbase: float,
    sign_decay: float,
    beta: float,
    grad: np.ndarray,
) -> Arrays:
    m = m * beta + grad * (1 - beta)
    return var - lr * np.exp(logbase * sign_decay * np.sign(grad) * np.sign(m)) * grad, m

"""Activations of layers, and their gradients."""

from __future__ import annotations

import numpy as np

from headrace.kernels.reference.precision import wide, widely
from headrace.kernels.reference.registry import Attrs, kernel

SELU_SCALE = 1.0507009873554804934193349852946
SELU_SCALE_ALPHA = 1.7580993408473768599402175208123

kernel("Elu")(widely(lambda x: np.where(x < 0, np.expm1(x), x)))
kernel("Selu")(widely(lambda x: np.where(x < 0, SELU_SCALE_ALPHA * np.expm1(x), SELU_SCALE * x)))
kernel("Softplus")(widely(lambda x: np.logaddexp(x, 0)))
kernel("Softsign")(widely(lambda x: x / (1 + np.abs(x))))

kernel("EluGrad")(widely(lambda dy, y: np.where(y < 0, dy * (y + 1), dy)))
kernel("SeluGrad")(
    widely(lambda dy, y: np.where(y < 0, dy * (y + SELU_SCALE_ALPHA), dy * SELU_SCALE))
)
kernel("SoftplusGrad")(widely(lambda dy, x: dy / (1 + np.exp(-x))))
kernel("SoftsignGrad")(widely(lambda dy, x: dy / (1 + np.abs(x)) ** 2))


@kernel("Relu")
def relu(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.maximum(x, x.dtype.type(0))


@kernel("ReluGrad")
def relu_grad(attrs: Attrs, dy: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, dy, dy.dtype.type(0))


@kernel("Relu6")
def relu6(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.minimum(np.maximum(x, x.dtype.type(0)), x.dtype.type(6))


@kernel("Relu6Grad")
def relu6_grad(attrs: Attrs, dy: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.where((x > 0) & (x < 6), dy, dy.dtype.type(0))


@kernel("LeakyRelu")
def leaky_relu(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    slope = attrs["alpha"]
    return np.where(wide(x) > 0, x, wide(x) * slope).astype(x.dtype)


@kernel("LeakyReluGrad")
def leaky_relu_grad(attrs: Attrs, dy: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.where(wide(x) > 0, dy, wide(dy) * attrs["alpha"]).astype(dy.dtype)


@kernel("Softmax")
def softmax(attrs: Attrs, logits: np.ndarray) -> np.ndarray:
    return np.exp(log_softmax_of(wide(logits))).astype(logits.dtype)


@kernel("LogSoftmax")
def log_softmax(attrs: Attrs, logits: np.ndarray) -> np.ndarray:
    return log_softmax_of(wide(logits)).astype(logits.dtype)


def log_softmax_of(x: np.ndarray) -> np.ndarray:
    """Along the last axis, shifted so that nothing overflows."""
    if x.shape[-1] == 0:
        return x
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))

"""Matrix products and convolutions with an epilogue, against the kernels of the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_device import assert_near, first_device
from kernel_harness import run_kernel

ACTIVATIONS = ["", "Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu"]


def sample(*shape: int, seed: int = 0, low: float = -2, high: float = 2) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def fused_ops(first: str, activation: str) -> list[bytes]:
    return [first.encode(), *([activation.encode()] if activation else [])]


# Each form with each activation is a program that must be compiled: all activations of one form.
@pytest.mark.parametrize(
    "n, activation",
    [*((32, activation) for activation in ACTIVATIONS), (10, ""), (10, "Relu"), (70, "Relu6")],
)
def test_products_with_bias_and_activation(n: int, activation: str) -> None:
    a, b, bias = sample(33, 300), sample(300, n, seed=1, low=-0.1, high=0.1), sample(n, seed=2)
    attrs = {"fused_ops": fused_ops("BiasAdd", activation), "leakyrelu_alpha": 0.3}
    want = run_kernel("_FusedMatMul", a, b, [bias], **attrs)
    assert_near(run_kernel("_FusedMatMul", a, b, [bias], device=first_device(), **attrs), want)


@pytest.mark.parametrize(
    "size, channels, activation",
    [
        *((3, 16, activation) for activation in ACTIVATIONS),
        (1, 3, "Tanh"),
        (1, 3, "Relu6"),
        (1, 16, ""),
        (1, 16, "Relu"),
        (3, 3, "Elu"),
        (3, 3, "Relu6"),
    ],
)
def test_convolutions_with_bias_and_activation(size: int, channels: int, activation: str) -> None:
    x, bias = sample(2, 9, 8, channels), sample(20, seed=2)
    f = sample(size, size, channels, 20, seed=1, low=-0.2, high=0.2)
    attrs = {
        "fused_ops": fused_ops("BiasAdd", activation),
        "num_args": 1,
        "TArgs": [np.float32],
        "strides": [1, 1, 1, 1],
        "padding": "SAME",
    }
    want = run_kernel("_FusedConv2D", x, f, [bias], [], **attrs)
    assert_near(run_kernel("_FusedConv2D", x, f, [bias], [], device=first_device(), **attrs), want)


@pytest.mark.parametrize("activation", ["", "Relu"])
@pytest.mark.parametrize("first", [False, True], ids=["NHWC", "NCHW"])
def test_convolutions_with_normalization(first: bool, activation: str) -> None:
    x, f = sample(2, 9, 8, 16), sample(3, 3, 16, 40, seed=1, low=-0.2, high=0.2)
    vectors = [sample(40, seed=i) for i in range(3)] + [sample(40, seed=9, low=0.5, high=2)]
    x = np.ascontiguousarray(np.moveaxis(x, -1, 1)) if first else x
    attrs = {
        "fused_ops": fused_ops("FusedBatchNorm", activation),
        "num_args": 4,
        "TArgs": [np.float32] * 4,
        "strides": [1, 1, 1, 1],
        "padding": "SAME",
        "epsilon": 1e-3,
        "data_format": "NCHW" if first else "NHWC",
    }
    want = run_kernel("_FusedConv2D", x, f, vectors, [], **attrs)
    assert_near(run_kernel("_FusedConv2D", x, f, vectors, [], device=first_device(), **attrs), want)


@pytest.mark.parametrize("first, activation", [("BiasAdd", "LeakyRelu"), ("FusedBatchNorm", "Elu")])
def test_sums_in_parts_have_their_epilogue(first: str, activation: str) -> None:
    x, f = sample(1, 4, 5, 40), sample(3, 3, 40, 20, seed=1, low=-0.2, high=0.2)
    vectors = [sample(20, seed=i) for i in range(3)] + [sample(20, seed=9, low=0.5, high=2)]
    vectors = vectors[:1] if first == "BiasAdd" else vectors
    attrs = {
        "fused_ops": fused_ops(first, activation),
        "num_args": len(vectors),
        "TArgs": [np.float32] * len(vectors),
        "strides": [1, 1, 1, 1],
        "padding": "SAME",
        "leakyrelu_alpha": 0.3,
    }
    want = run_kernel("_FusedConv2D", x, f, vectors, [], **attrs)
    assert_near(run_kernel("_FusedConv2D", x, f, vectors, [], device=first_device(), **attrs), want)


def test_relu_keeps_what_is_not_a_number() -> None:
    a, b, bias = sample(3, 5), sample(5, 20, seed=1), sample(20, seed=2)
    a[1, 2] = np.nan
    attrs = {"fused_ops": fused_ops("BiasAdd", "Relu")}
    got = run_kernel("_FusedMatMul", a, b, [bias], device=first_device(), **attrs)
    assert np.isnan(got[1]).all()
    assert np.isfinite(got[[0, 2]]).all()

"""Softmax and cross entropies on OpenCL devices, against those of the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from compare import assert_as_cpu
from kernel_harness import Device, run_kernel
from kernel_harness.samples import sample
from ml_dtypes import bfloat16

SHAPES = [(1, 1), (7, 3), (32, 10), (3, 1000), (500, 17), (2, 50_000)]


@pytest.mark.parametrize("shape", [*SHAPES, (5,), (2, 3, 4, 9), (0, 3), (3, 0)])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_softmax(device: Device, op: str, shape: tuple) -> None:
    assert_as_cpu(device, op, sample(shape, "float32", seed=1, low=-20, high=20), scale=4)


@pytest.mark.parametrize("dtype", ["float64", "float16", bfloat16])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_softmax_of_other_dtypes(device: Device, op: str, dtype: str) -> None:
    assert_as_cpu(device, op, sample((9, 40), dtype, seed=1))


def test_large_logits_do_not_overflow(device: Device) -> None:
    x = np.array([[1e30, 0, 1], [-1e30, -1e30, -1e30], [88, 89, 90], [-np.inf, 0, 1]], np.float32)
    assert_as_cpu(device, "Softmax", x)
    assert_as_cpu(device, "LogSoftmax", x)


def distributions(shape: tuple, dtype: str = "float32") -> np.ndarray:
    labels = sample(shape, "float32", seed=2, low=0, high=1)
    return (labels / labels.sum(-1, keepdims=True)).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
def test_dense_cross_entropy(device: Device, shape: tuple) -> None:
    x, labels = sample(shape, "float32", seed=1), distributions(shape)
    assert_as_cpu(device, "SoftmaxCrossEntropyWithLogits", x, labels, scale=10)


def test_dense_cross_entropy_of_operands_that_broadcast(device: Device) -> None:
    x, labels = sample((6, 10), "float32", seed=1), distributions((6, 10))
    for a, b in ((x[:1], labels), (x, labels[:1]), (x[:, :1], labels), (x, labels[:, :1])):
        assert_as_cpu(device, "SoftmaxCrossEntropyWithLogits", a, b, scale=10)


def test_parts_of_long_rows_without_finite_logits(device: Device) -> None:
    x = sample((3, 20_000), "float32", seed=1, low=-20, high=20)
    x[0, :15_000] = -np.inf  # whole parts of a row that is cut
    x[1] = -1e30
    x[1, 5000:15_000] = -np.inf
    x[2, 17_000] = np.nan
    labels = distributions(x.shape)
    labels[:2][np.isinf(x[:2])] = 0
    for row in range(3):
        assert_as_cpu(device, "Softmax", x[row : row + 1], scale=10)
        assert_as_cpu(device, "LogSoftmax", x[row : row + 1], scale=10)
        assert_as_cpu(
            device,
            "SoftmaxCrossEntropyWithLogits",
            x[row : row + 1],
            labels[row : row + 1],
            scale=100,
        )


def test_classes_without_weight_add_nothing(device: Device) -> None:
    x = np.array([[0, -np.inf, 1]], np.float32)
    labels = np.array([[0.5, 0, 0.5]], np.float32)
    assert_as_cpu(device, "SoftmaxCrossEntropyWithLogits", x, labels)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("shape", [(32, 10), (3, 1000), (2, 20_000)])
def test_sparse_cross_entropy(device: Device, shape: tuple, index: str, dtype: str) -> None:
    labels = np.random.default_rng(0).integers(0, shape[1], shape[0]).astype(index)
    x = sample(shape, dtype, seed=1)
    assert_as_cpu(device, "SparseSoftmaxCrossEntropyWithLogits", x, labels, scale=10)


def test_a_label_that_is_no_class_gives_nan(device: Device) -> None:
    x = sample((3, 4), "float32", seed=1)
    loss, backprop = run_kernel(
        "SparseSoftmaxCrossEntropyWithLogits", x, np.int64([0, 4, -1]), device=device
    )
    assert np.isnan(loss).tolist() == [False, True, True]
    assert np.isnan(backprop).all(axis=1).tolist() == [False, True, True]


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_in_top_k(device: Device, index: str) -> None:
    x = sample((40, 9), "float32", seed=1)
    x[3, 2], x[4, 1] = np.nan, np.inf
    targets = np.random.default_rng(0).integers(-1, 10, 40).astype(index)
    assert_as_cpu(device, "InTopK", x, targets, k=3)
    assert_as_cpu(device, "InTopKV2", x, targets, np.array(2, index))


def test_in_top_k_of_long_rows(device: Device) -> None:
    x = sample((6, 3000), "float32", seed=1)
    x[3, 2999] = np.nan
    targets = np.argsort(-np.nan_to_num(x), axis=1)[range(6), [0, 4, 5, 0, 2999, 1]]
    assert_as_cpu(device, "InTopK", x, targets.astype(np.int64), k=5)

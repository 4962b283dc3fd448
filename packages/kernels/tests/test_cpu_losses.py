"""Biases, softmax and losses of the cpu table against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from kernel_harness import run_kernel

from headrace.formats.errors import InvalidArgumentError

FLOATS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
TOLERANCE = {"float32": 2e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1.6e-2}


def wide(x):
    return np.asarray(x).astype(np.float64)


def near(got, want, dtype, scale=1.0):
    assert got.dtype == dtype
    assert got.shape == np.shape(want)
    tolerance = TOLERANCE[np.dtype(dtype).name] * scale
    np.testing.assert_allclose(wide(got), want, rtol=tolerance, atol=tolerance)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "shape", [(7,), (5, 10), (3, 2, 65), (0, 4), (4, 0), (2, 1), (300, 130), (5, 1203)]
)
def test_softmax_and_its_log(shape, dtype):
    x = (np.random.default_rng(0).standard_normal(shape) * 5).astype(dtype)
    want = log_softmax(wide(x)) if x.size else wide(x)
    near(run_kernel("Softmax", x, threads=2), np.exp(want) if x.size else want, dtype)
    near(run_kernel("LogSoftmax", x, threads=2), want, dtype, 4)


def test_softmax_of_large_and_infinite_logits_stays_finite():
    x = np.array([[1000.0, 1000.0], [-1000.0, 0.0], [-np.inf, 3.0]], np.float32)
    np.testing.assert_allclose(run_kernel("Softmax", x), [[0.5, 0.5], [0, 1], [0, 1]])
    assert np.isnan(run_kernel("Softmax", np.array([[np.nan, 1.0]], np.float32))).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(5, 10), (33, 65), (4, 1203), (0, 4), (4, 0)])
def test_cross_entropy_and_its_gradient(shape, dtype):
    rng = np.random.default_rng(1)
    x = (rng.standard_normal(shape) * 3).astype(dtype)
    labels = rng.dirichlet(np.ones(max(1, shape[1])), shape[0])[:, : shape[1]].astype(dtype)
    loss, backprop = run_kernel("SoftmaxCrossEntropyWithLogits", x, labels, threads=2)
    logs = log_softmax(wide(x)) if x.size else wide(x)
    near(loss, -(wide(labels) * logs).sum(-1), dtype, 8)
    near(backprop, np.exp(logs) - wide(labels) if x.size else logs, dtype, 2)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(33, 11), (7, 1203)])
def test_sparse_cross_entropy_and_its_gradient(shape, dtype, index):
    rows, classes = shape
    rng = np.random.default_rng(2)
    x = (rng.standard_normal(shape) * 9).astype(dtype)
    labels = rng.integers(0, classes, rows).astype(index)
    loss, backprop = run_kernel("SparseSoftmaxCrossEntropyWithLogits", x, labels, threads=2)
    logs, at = log_softmax(wide(x)), np.arange(rows)
    want = np.exp(logs)
    want[at, labels] -= 1
    near(loss, -logs[at, labels], dtype, 8)
    near(backprop, want, dtype, 2)


def test_logits_of_minus_infinity_are_classes_without_probability():
    x = np.zeros((2, 700), np.float32)
    x[:, 5] = -np.inf
    labels = np.array([3, 5], np.int64)
    loss, backprop = run_kernel("SparseSoftmaxCrossEntropyWithLogits", x, labels)
    np.testing.assert_allclose(loss, [np.log(699), np.inf], rtol=1e-6)
    np.testing.assert_array_equal(backprop[:, 5], [0, -1])
    dense = np.eye(700, dtype=np.float32)[labels]
    loss, _ = run_kernel("SoftmaxCrossEntropyWithLogits", x, dense)
    np.testing.assert_allclose(loss, [np.log(699), np.inf], rtol=1e-6)


def test_a_label_outside_the_classes_is_named():
    with pytest.raises(InvalidArgumentError, match=r"label 3 at 1 is outside \[0, 3\)"):
        x, labels = np.zeros((2, 3), np.float32), np.array([0, 3], np.int64)
        run_kernel("SparseSoftmaxCrossEntropyWithLogits", x, labels)


@pytest.mark.parametrize("dtype", [*FLOATS, np.int32])
@pytest.mark.parametrize(
    ("shape", "data_format"),
    [(s, "NHWC") for s in [(5, 3), (2, 4, 3), (2, 5, 7, 65), (0, 3), (3000, 33)]]
    + [(s, "NCHW") for s in [(2, 4, 3), (2, 5, 7, 65), (2, 3, 0, 4), (20, 3, 50, 60)]],
)
def test_bias_goes_to_its_channel(shape, data_format, dtype):
    axis = 1 if data_format == "NCHW" else len(shape) - 1
    rng = np.random.default_rng(3)
    x = rng.integers(-4, 5, shape).astype(dtype)
    bias = rng.integers(-4, 5, shape[axis]).astype(dtype)
    along = [1] * len(shape)
    along[axis] = -1
    got = run_kernel("BiasAdd", x, bias, data_format=data_format, threads=2)
    np.testing.assert_array_equal(got, x + bias.reshape(along))
    got = run_kernel("BiasAddGrad", x, data_format=data_format, threads=2)
    axes = tuple(i for i in range(len(shape)) if i != axis)
    np.testing.assert_array_equal(wide(got), wide(wide(x).sum(axes).astype(dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(), (7,), (0,), (300, 1001)])
def test_l2_loss_is_half_the_squared_norm(shape, dtype):
    x = (np.random.default_rng(4).standard_normal(shape) / 10).astype(dtype)
    got = run_kernel("L2Loss", x, threads=2)
    near(got, (wide(x) ** 2).sum() / 2, dtype)


def test_in_top_k_counts_ties_and_rejects_what_is_not_finite():
    x = np.array([[1, 2, 3], [2, 2, 1], [np.nan, 1, 0], [0, 1, 2]], np.float32)
    targets = np.array([1, 0, 1, 5], np.int32)
    want = [False, True, False, False]
    np.testing.assert_array_equal(run_kernel("InTopK", x, targets, k=1), want)
    got = run_kernel("InTopKV2", x, targets, np.array(2, np.int32))
    np.testing.assert_array_equal(got, [True, True, False, False])

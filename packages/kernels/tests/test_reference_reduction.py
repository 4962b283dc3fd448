"""The reference kernels of reductions, products, losses and activations."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.oracle import run


def axes(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def test_empty_reductions_give_the_neutral_value() -> None:
    x = np.zeros((0, 2), np.float32)
    assert run("Sum", x, axes(0))[0].tolist() == [0.0, 0.0]
    assert run("Prod", x, axes(0))[0].tolist() == [1.0, 1.0]
    assert run("Max", x, axes(0))[0].tolist() == [-np.inf, -np.inf]
    assert np.isnan(run("Mean", x, axes(0))[0]).all()
    assert run("Max", np.zeros((0,), np.int32), axes(0))[0] == np.iinfo(np.int32).min


def test_the_mean_of_integers_is_cut_towards_zero() -> None:
    assert run("Mean", np.array([-3, -4], np.int32), axes(0))[0] == -3


def test_sums_of_small_floats_are_rounded_once() -> None:
    x = np.ones(1000, ml_dtypes.bfloat16)
    assert float(run("Sum", x, axes(0))[0]) == 1000.0


def test_arg_max_takes_the_first_and_never_nan() -> None:
    assert run("ArgMax", np.array([1.0, 3.0, 3.0, np.nan]), np.int32(0))[0] == 1
    assert run("ArgMin", np.array([np.nan, np.nan]), np.int32(0))[0] == 0


def test_arg_max_of_nothing_is_rejected() -> None:
    with pytest.raises(InvalidArgumentError, match="is empty"):
        run("ArgMax", np.zeros((0, 3)), np.int32(0))


def test_running_sums_go_either_way_with_or_without_the_own_element() -> None:
    x = np.array([1, 2, 3], np.int32)
    zero = np.int32(0)
    assert run("Cumsum", x, zero)[0].tolist() == [1, 3, 6]
    assert run("Cumsum", x, zero, exclusive=True)[0].tolist() == [0, 1, 3]
    assert run("Cumsum", x, zero, reverse=True)[0].tolist() == [6, 5, 3]
    assert run("Cumsum", x, zero, exclusive=True, reverse=True)[0].tolist() == [5, 3, 0]


def test_top_k_puts_the_lower_index_first_among_equals() -> None:
    values, indices = run("TopKV2", np.array([1.0, 3.0, 3.0, 2.0]), np.int32(3))
    assert values.tolist() == [3.0, 3.0, 2.0] and indices.tolist() == [1, 2, 3]


def test_a_negative_count_is_rejected() -> None:
    with pytest.raises(InvalidArgumentError, match="non-negative"):
        run("Bincount", np.array([-1], np.int32), np.int32(3), np.zeros(0, np.float32))


def test_inner_sizes_that_differ_are_rejected() -> None:
    with pytest.raises(InvalidArgumentError, match="MatMul"):
        run("MatMul", np.ones((2, 3)), np.ones((4, 5)))


def test_a_product_over_nothing_is_zero() -> None:
    assert run("MatMul", np.ones((2, 0)), np.ones((0, 2)))[0].tolist() == [[0.0] * 2] * 2


def test_cross_entropy_of_large_logits_is_finite() -> None:
    logits = np.array([[1000.0, -1000.0]], np.float32)
    loss, gradient = run("SparseSoftmaxCrossEntropyWithLogits", logits, np.array([1]))
    assert loss.tolist() == [2000.0] and gradient.tolist() == [[1.0, -1.0]]


def test_a_label_outside_the_classes_is_rejected() -> None:
    with pytest.raises(InvalidArgumentError, match=r"label value of 7 .* range of \[0, 2\)"):
        run("SparseSoftmaxCrossEntropyWithLogits", np.ones((1, 2)), np.array([7]))


def test_relu_keeps_nan() -> None:
    y = run("Relu", np.array([np.nan, -1.0, 2.0]))[0]
    assert np.isnan(y[0]) and y[1:].tolist() == [0.0, 2.0]

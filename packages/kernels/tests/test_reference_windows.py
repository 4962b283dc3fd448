"""The reference kernels of convolution, pooling and normalization."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.oracle import run

ONES = [1, 1, 1, 1]


def test_same_padding_puts_the_odd_row_at_the_end() -> None:
    x = np.ones((1, 4, 1, 1))
    y = run("Conv2D", x, np.ones((2, 1, 1, 1)), strides=ONES, padding="SAME")[0]
    assert y.ravel().tolist() == [2.0, 2.0, 2.0, 1.0]


def test_explicit_padding_and_dilation() -> None:
    x = np.arange(1.0, 5.0).reshape(1, 4, 1, 1)
    y = run(
        "Conv2D",
        x,
        np.ones((2, 1, 1, 1)),
        strides=ONES,
        dilations=[1, 2, 1, 1],
        padding="EXPLICIT",
        explicit_paddings=[0, 0, 1, 0, 0, 0, 0, 0],
    )[0]
    assert y.ravel().tolist() == [2.0, 4.0, 6.0]


def test_groups_see_their_own_channels_alone() -> None:
    x = np.array([1.0, 10.0]).reshape(1, 1, 1, 2)
    y = run("Conv2D", x, np.ones((1, 1, 1, 2)), strides=ONES, padding="VALID")[0]
    assert y.ravel().tolist() == [1.0, 10.0]


def test_both_data_formats_give_the_same() -> None:
    rng = np.random.default_rng(0)
    x, f = rng.normal(size=(2, 5, 6, 3)), rng.normal(size=(3, 2, 3, 4))
    last = run("Conv2D", x, f, strides=[1, 2, 1, 1], padding="SAME")[0]
    first = run(
        "Conv2D",
        np.moveaxis(x, -1, 1),
        f,
        strides=[1, 1, 2, 1],
        padding="SAME",
        data_format="NCHW",
    )[0]
    np.testing.assert_allclose(np.moveaxis(first, 1, -1), last)


def test_the_gradients_of_a_convolution_are_its_adjoints() -> None:
    rng = np.random.default_rng(0)
    x, f, dy = (rng.normal(size=s) for s in [(2, 5, 6, 3), (3, 3, 3, 4), (2, 3, 3, 4)])
    how = {"strides": [1, 2, 2, 1], "padding": "SAME"}
    y = run("Conv2D", x, f, **how)[0]
    dx = run("Conv2DBackpropInput", np.array(x.shape, np.int32), f, dy, **how)[0]
    df = run("Conv2DBackpropFilter", x, np.array(f.shape, np.int32), dy, **how)[0]
    assert np.sum(y * dy) == pytest.approx(np.sum(x * dx)) == pytest.approx(np.sum(f * df))


def test_a_window_larger_than_the_input_is_rejected() -> None:
    with pytest.raises(InvalidArgumentError, match="does not fit"):
        run("Conv2D", np.ones((1, 2, 2, 1)), np.ones((5, 5, 1, 1)), strides=ONES, padding="VALID")


def test_padding_counts_neither_in_the_mean_nor_in_the_maximum() -> None:
    x = -np.ones((1, 3, 3, 1))
    how = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
    assert run("AvgPool", x, **how)[0].ravel().tolist() == [-1.0] * 4
    assert run("MaxPool", x, **how)[0].ravel().tolist() == [-1.0] * 4


def test_of_equal_maxima_the_first_takes_the_gradient() -> None:
    x, dy = np.zeros((1, 2, 2, 1)), np.ones((1, 1, 1, 1))
    how = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
    dx = run("MaxPoolGrad", x, np.zeros((1, 1, 1, 1)), dy, **how)[0]
    assert dx.ravel().tolist() == [1.0, 0.0, 0.0, 0.0]


def test_training_statistics_move_by_the_unbiased_variance() -> None:
    x = np.array([1.0, 3.0], np.float32).reshape(2, 1, 1, 1)
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    y, mean, variance, *_ = run(
        "FusedBatchNormV3", x, one, zero, zero, one, epsilon=0.0, exponential_avg_factor=0.5
    )
    assert y.ravel().tolist() == [-1.0, 1.0]
    assert mean.tolist() == [1.0] and variance.tolist() == [1.5]

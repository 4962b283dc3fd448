"""Neural networks: activations, convolutions and pools of ones, losses by their formulas."""

from __future__ import annotations

import numpy as np

from values.value_case import call

_X = np.array([[-1.0, 2.0, 0.5]])
_LOG_P = _X - np.log(np.exp(_X).sum())
_P = np.array([[0.2, 0.5, 0.3]])
_SIGMOID = 1 / (1 + np.exp(-_X))
_IMAGE = np.arange(16.0).reshape(1, 4, 4, 1)
_ONES_3 = np.ones((3, 3, 1, 1))
_LINE = np.arange(5.0).reshape(1, 5, 1)
_BLOCK = np.arange(8.0).reshape(1, 2, 2, 2, 1)
_UP = np.array([[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]]).reshape(1, 2, 2, 1)
# Sums of the 3 x 3 windows of 0..15: 9 times the middle element.
_WINDOWS = 9 * np.array([[5.0, 6.0], [9.0, 10.0]]).reshape(1, 2, 2, 1)
# Each of 4 gradients spread over its window.
_SPREAD = np.zeros((1, 4, 4, 1))
for _i in range(2):
    for _j in range(2):
        _SPREAD[0, _i : _i + 3, _j : _j + 3] += _UP[0, _i, _j]
_FILTER_GRAD = np.array(
    [
        [(_IMAGE[0, i : i + 2, j : j + 2] * _UP[0]).sum().reshape(1, 1) for j in range(3)]
        for i in range(3)
    ]
)
_VALID = {"strides": [1, 1, 1, 1], "padding": "VALID"}

CASES = [
    call("nn.crelu", _X, gives=[[0.0, 2.0, 0.5, 1.0, 0.0, 0.0]]),
    call("nn.softsign", _X, gives=_X / (1 + np.abs(_X))),
    call("nn.log_softmax", _X, gives=_LOG_P),
    call("nn.softmax_cross_entropy_with_logits_v2", _P, _X, gives=-(_P * _LOG_P).sum(1)),
    call(
        "nn.weighted_cross_entropy_with_logits",
        _P,
        _X,
        3.0,
        gives=-3 * _P * np.log(_SIGMOID) - (1 - _P) * np.log(1 - _SIGMOID),
    ),
    call("nn.log_poisson_loss", _P, _X, gives=np.exp(_X) - _P * _X),
    call("nn.in_top_k", np.float32(_X), [1], 1, gives=[True]),
    call("nn.dropout", _X, rate=0.0, gives=_X),
    call("nn.conv2d_backprop_input", [1, 4, 4, 1], _ONES_3, _UP, **_VALID, gives=_SPREAD),
    call(
        "nn.conv2d_backprop_filter",
        _IMAGE,
        [3, 3, 1, 1],
        _UP,
        **_VALID,
        gives=_FILTER_GRAD.reshape(3, 3, 1, 1),
    ),  # fmt: skip
    call("nn.conv2d_transpose", _UP, _ONES_3, [1, 4, 4, 1], **_VALID, gives=_SPREAD),
    call("nn.depthwise_conv2d", _IMAGE, _ONES_3, **_VALID, gives=_WINDOWS),
    call("nn.separable_conv2d", _IMAGE, _ONES_3, [[[[2.0]]]], **_VALID, gives=2 * _WINDOWS),
    call("nn.convolution", _IMAGE, _ONES_3, "VALID", gives=_WINDOWS),
    # Every second pixel: the corners of the image and of each shifted one.
    call(
        "nn.atrous_conv2d",
        _IMAGE,
        np.ones((2, 2, 1, 1)),
        2,
        "VALID",
        gives=4 * np.array([[5.0, 6.0], [9.0, 10.0]]).reshape(1, 2, 2, 1),
    ),  # fmt: skip
    call("nn.conv1d", _LINE, np.ones((3, 1, 1)), 1, "VALID", gives=[[[3.0], [6.0], [9.0]]]),
    call(
        "nn.conv3d",
        _BLOCK,
        np.ones((2, 2, 2, 1, 1)),
        [1] * 5,
        "VALID",
        gives=np.full((1, 1, 1, 1, 1), 28.0),
    ),  # fmt: skip
    call(
        "nn.avg_pool",
        _IMAGE,
        [1, 2, 2, 1],
        [1, 2, 2, 1],
        "VALID",
        gives=np.array([[2.5, 4.5], [10.5, 12.5]]).reshape(1, 2, 2, 1),
    ),  # fmt: skip
    call(
        "nn.max_pool3d",
        np.float32(_BLOCK),
        [1, 2, 2, 2, 1],
        [1] * 5,
        "VALID",
        gives=np.full((1, 1, 1, 1, 1), 7.0),
    ),  # fmt: skip
    call(
        "nn.avg_pool3d",
        _BLOCK,
        [1, 2, 2, 2, 1],
        [1] * 5,
        "VALID",
        gives=np.full((1, 1, 1, 1, 1), 3.5),
    ),  # fmt: skip
    call(
        "nn.max_pool_with_argmax",
        np.float32(_IMAGE),
        [1, 2, 2, 1],
        [1, 2, 2, 1],
        "VALID",
        gives=[
            np.float32([5, 7, 13, 15]).reshape(1, 2, 2, 1),
            np.int64([5, 7, 13, 15]).reshape(1, 2, 2, 1),
        ],
    ),  # fmt: skip
    call(
        "nn.with_space_to_batch",
        _IMAGE,
        [1, 1],
        "VALID",
        lambda hr: lambda x, *_: 2 * x,
        gives=2 * _IMAGE,
    ),  # fmt: skip
    call("losses.softmax_cross_entropy", _P, _X, gives=-(_P * _LOG_P).sum()),
    call(
        "losses.sigmoid_cross_entropy",
        _P,
        _X,
        gives=(-_P * np.log(_SIGMOID) - (1 - _P) * np.log(1 - _SIGMOID)).mean(),
    ),
    call("losses.compute_weighted_loss", [1.0, 2.0, 6.0], [1.0, 0.0, 1.0], gives=3.5),
    # Differences 0 and 2: the one pair of two differs by 2, squared.
    call("losses.mean_pairwise_squared_error", [[1.0, 1.0]], [[1.0, 3.0]], gives=4.0),
]

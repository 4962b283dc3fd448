"""Convolutions and pools of any rank, dilated windows, morphology."""

from __future__ import annotations

import numpy as np

_rng = np.random.default_rng(4)
X1 = _rng.normal(size=(2, 9, 3)).astype(np.float32)
X2 = _rng.normal(size=(2, 8, 7, 3)).astype(np.float32)
X3 = _rng.normal(size=(2, 5, 6, 4, 3)).astype(np.float32)
F1 = _rng.normal(size=(3, 2, 3)).astype(np.float32)
F2 = _rng.normal(size=(3, 2, 2, 3)).astype(np.float32)
F3 = _rng.normal(size=(2, 3, 2, 2, 3)).astype(np.float32)
D2 = _rng.normal(size=(3, 2, 3, 2)).astype(np.float32)


def _space(m):
    pads, crops = m.required_space_to_batch_paddings([8, 7], [3, 2])
    sizes = m.placeholder_with_default(np.array([8, 7], np.int32), [None])
    more = m.required_space_to_batch_paddings(sizes, [3, 2], [[1, 2], [0, 1]])
    moved = m.space_to_batch_nd(X2, [3, 2], pads)
    back = m.batch_to_space(m.space_to_batch(X2[:, :, :6], [[0, 0], [0, 0]], 2), [[0, 0]] * 2, 2)
    return [pads, crops, *more, moved, back]


def _depthwise(m):
    y = m.nn.depthwise_conv2d_native(X2, D2, [1, 2, 2, 1], "SAME")
    into = m.nn.depthwise_conv2d_backprop_input(X2.shape, D2, y, [1, 2, 2, 1], "SAME")
    args = (X2, D2.shape, y, [1, 2, 2, 1], "SAME")
    return [y, into, m.nn.depthwise_conv2d_native_backprop_filter(*args)]


PROGRAMS = {
    "conv1d_transpose": lambda m: [
        m.nn.conv1d_transpose(X1, F1, [2, 18, 2], 2),
        m.nn.conv1d_transpose(X1, F1, [2, 11, 2], 1, "VALID"),
    ],
    "conv3d_transpose": lambda m: [
        m.nn.conv3d_transpose(X3, F3, [2, 10, 6, 8, 2], [1, 2, 1, 2, 1]),
        m.nn.conv3d_transpose(X3, F3, [2, 6, 8, 5, 2], 1, "VALID"),
    ],
    "conv_transpose": lambda m: [
        m.nn.conv_transpose(X1, F1, [2, 18, 2], 2),
        m.nn.conv_transpose(X2, F2, [2, 16, 14, 2], 2),
        m.nn.conv_transpose(X3, F3, [2, 10, 12, 8, 2], 2),
    ],
    "atrous_conv2d_transpose": lambda m: [
        m.nn.atrous_conv2d_transpose(X2, F2, [2, 8, 7, 2], 2, "SAME"),
        m.nn.atrous_conv2d_transpose(X2, F2, [2, 12, 9, 2], 2, "VALID"),
    ],
    "conv3d_backprop_filter": lambda m: [
        m.nn.conv3d_backprop_filter_v2(X3, [2, 2, 2, 3, 3], X3, [1] * 5, "SAME")
    ],
    "depthwise": _depthwise,
    "pool1d": lambda m: [
        m.nn.max_pool1d(X1, 3, 2, "SAME"),
        m.nn.avg_pool1d(X1, [2], [2], "VALID"),
    ],
    "max_pool2d": lambda m: [m.nn.max_pool2d(X2, [3, 2], 2, "SAME")],
    "pool_v2": lambda m: [
        f(x, 2, 2, "SAME") for f in (m.nn.max_pool_v2, m.nn.avg_pool_v2) for x in (X1, X2, X3)
    ],
    "pool": lambda m: [
        m.nn.pool(X1, [3], "MAX", "SAME", strides=[2]),
        m.nn.pool(X2, [3, 2], "AVG", "VALID", dilation_rate=[2, 3]),
        m.nn.pool(X2, [2, 3], "MAX", "VALID", dilation_rate=[2, 1]),
        m.nn.pool(X3, [2, 2, 2], "AVG", "SAME"),
    ],
    "space_to_batch": _space,
    "dilation2d": lambda m: [m.nn.dilation2d(X2, D2[..., 0], [1, 1, 2, 1], [1, 2, 1, 1], "SAME")],
    "erosion2d": lambda m: [m.nn.erosion2d(X2, D2[..., 0], [1, 1, 1, 1], [1, 1, 2, 1], "VALID")],
    "fractional_pool": lambda m: [
        *m.nn.fractional_max_pool(X2, [1.0, 1.0, 1.0, 1.0]),
        m.nn.fractional_avg_pool(X2, [1.0, 1.0, 1.0, 1.0])[0],
    ],
    "space_to_depth": lambda m: [m.nn.space_to_depth(X2[:, :, :6], 2)],
}

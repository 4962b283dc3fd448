"""Sliding windows in NumPy: the geometry that convolution and pooling tests compare with."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np


class Axis(NamedTuple):
    """One spatial axis: sizes in elements."""

    size: int
    window: int
    stride: int
    dilation: int
    low: int
    out: int


def axis(size, window, stride, dilation, padding):
    """padding: 'SAME', 'VALID' or (low, high)."""
    extent = (window - 1) * dilation + 1
    if padding == "SAME":
        out = -(-size // stride)
        low = max(0, (out - 1) * stride + extent - size) // 2
    else:
        low, high = (0, 0) if padding == "VALID" else padding
        out = (size + low + high - extent) // stride + 1
    return Axis(size, window, stride, dilation, low, out)


def meetings(axes):
    """For each window position: the slices of output and input positions that meet there.

    Yields: (window position, output index, input index), tuples by axis; the indices fit
    arrays of shape [out...] and [in...].
    """
    for position in itertools.product(*(range(a.window) for a in axes)):
        outs, ins = [], []
        for a, q in zip(axes, position, strict=True):
            o = np.arange(a.out)
            i = o * a.stride - a.low + q * a.dilation
            kept = (i >= 0) & (i < a.size)
            outs.append(o[kept])
            ins.append(i[kept])
        yield position, np.ix_(*outs), np.ix_(*ins)


def convolve(x, f, axes, groups=1):
    """x [batch, in..., channels], f [window..., channels / groups, out] -> [batch, out..., out]."""
    y = np.zeros((x.shape[0], *(a.out for a in axes), f.shape[-1]))
    each = f.shape[-1] // groups
    for q, o, i in meetings(axes):
        for g in range(groups):
            channels = slice(g * f.shape[-2], (g + 1) * f.shape[-2])
            outs = slice(g * each, (g + 1) * each)
            part = x[(slice(None), *i)][..., channels] @ f[q][:, outs]
            whole = y[(slice(None), *o)]
            whole[..., outs] += part
            y[(slice(None), *o)] = whole
    return y


def convolve_to_input(shape, f, dy, axes, groups=1):
    dx = np.zeros(shape)
    each = f.shape[-1] // groups
    for q, o, i in meetings(axes):
        whole = dx[(slice(None), *i)]
        for g in range(groups):
            channels = slice(g * f.shape[-2], (g + 1) * f.shape[-2])
            outs = slice(g * each, (g + 1) * each)
            whole[..., channels] += dy[(slice(None), *o)][..., outs] @ f[q][:, outs].T
        dx[(slice(None), *i)] = whole
    return dx


def convolve_to_filter(x, shape, dy, axes, groups=1):
    df = np.zeros(shape)
    each = shape[-1] // groups
    for q, o, i in meetings(axes):
        for g in range(groups):
            channels = slice(g * shape[-2], (g + 1) * shape[-2])
            outs = slice(g * each, (g + 1) * each)
            a = x[(slice(None), *i)][..., channels].reshape(-1, shape[-2])
            b = dy[(slice(None), *o)][..., outs].reshape(-1, each)
            df[q][:, outs] += a.T @ b
    return df


def channels_first(x):
    return np.ascontiguousarray(np.moveaxis(x, -1, 1))


def as_grouped(f):
    """A depthwise filter [window..., channels, multiplier] as one of as many groups as channels."""
    return f.reshape(*f.shape[:-2], 1, -1)

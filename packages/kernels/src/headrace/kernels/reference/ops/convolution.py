"""Convolutions of any number of spatial axes, tap by tap; dilations of images; patches; biases.

Every function works with the channels last; other layouts are moved there and back.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.ops.arrays.blocks import (
    channels_first,
    from_channels_last,
    to_channels_last,
)
from headrace.kernels.reference.ops.matmul import apply_fused_ops
from headrace.kernels.reference.precision import wide
from headrace.kernels.reference.registry import Attrs, kernel


@dataclass(frozen=True)
class Window:
    """How a window of some size walks over the spatial axes of an input."""

    size: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]  # padding in front of each axis
    after: tuple[int, ...]
    output: tuple[int, ...]

    def taps(self) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
        """Each place in the window, with the part of the padded input that it meets."""
        for tap in itertools.product(*[range(n) for n in self.size]):
            yield (
                tap,
                tuple(
                    slice(t * d, t * d + (out - 1) * s + 1, s) if out else slice(0, 0)
                    for t, d, s, out in zip(
                        tap, self.dilations, self.strides, self.output, strict=True
                    )
                ),
            )

    def pad(self, x: np.ndarray, value: float = 0) -> np.ndarray:
        """[batch, spatial..., depth] with the padding around it."""
        widths = [(0, 0), *zip(self.before, self.after, strict=True), (0, 0)]
        return np.pad(x, widths, constant_values=value)

    def unpad(self, x: np.ndarray) -> np.ndarray:
        """The way back."""
        inside = tuple(
            slice(before, n - after)
            for n, before, after in zip(x.shape[1:-1], self.before, self.after, strict=True)
        )
        return x[(slice(None),) + inside]


def window(
    attrs: Attrs,
    spatial: tuple[int, ...],
    size: tuple[int, ...],
    strides: str = "strides",
    dilations: str = "dilations",
) -> Window:
    """The window of a node, its padding worked out.

    Args:
      spatial: sizes of the input's spatial axes.
      size: of the window, undilated.
      strides: name of the attribute that has the strides, one per axis of the input.
      dilations: the same of the dilations; they are 1 where the node has none.
    """
    first = channels_first(attrs)
    rank = len(spatial)

    def inner(values: Any) -> tuple[int, ...]:
        return tuple(values[2:]) if first else tuple(values[1 : 1 + rank])

    steps = inner(attrs[strides])
    wide_steps = inner(attrs.get(dilations) or [1] * (rank + 2))
    reach = [(n - 1) * d + 1 for n, d in zip(size, wide_steps, strict=True)]
    padding = attrs["padding"]
    if padding == b"SAME":
        output = [-(-n // s) for n, s in zip(spatial, steps, strict=True)]
        total = [
            max((o - 1) * s + r - n, 0)
            for o, s, r, n in zip(output, steps, reach, spatial, strict=True)
        ]
        before = [t // 2 for t in total]
        after = [t - b for t, b in zip(total, before, strict=True)]
    else:
        pairs = [0] * (2 * rank + 4)
        if padding == b"EXPLICIT":
            pairs = list(attrs["explicit_paddings"])
        by_axis = inner([(pairs[2 * i], pairs[2 * i + 1]) for i in range(rank + 2)])
        before, after = ([pair[side] for pair in by_axis] for side in (0, 1))  # type: ignore
        output = [
            (n + b + a - r) // s + 1
            for n, b, a, r, s in zip(spatial, before, after, reach, steps, strict=True)
        ]
    if min(output, default=0) < 0:
        raise InvalidArgumentError(
            None, None, f"a window of {reach} does not fit into an input of {list(spatial)}"
        )
    # What the last window does not reach is no concern of the taps.
    return Window(tuple(size), steps, wide_steps, tuple(before), tuple(after), tuple(output))


# ---- convolutions; filter is [spatial..., in depth / groups, out depth] ----


def _convolve(attrs: Attrs, x: np.ndarray, filters: np.ndarray) -> np.ndarray:
    x, filters = to_channels_last(attrs, wide(x)), wide(filters)
    depth, (per_group, out) = x.shape[-1], filters.shape[-2:]
    if per_group == 0 or depth % per_group:
        raise InvalidArgumentError(
            None,
            None,
            f"input depth must be evenly divisible by filter depth: {depth} vs {per_group}",
        )
    groups = depth // per_group
    walk = window(attrs, x.shape[1:-1], filters.shape[:-2])
    padded = walk.pad(x)
    result = np.zeros((len(x), *walk.output, groups, out // groups), x.dtype)
    for tap, part in walk.taps():
        met = padded[(slice(None),) + part].reshape(*result.shape[:-1], per_group)
        by_group = filters[tap].reshape(per_group, groups, out // groups)
        result += np.einsum("...gi,igo->...go", met, by_group)
    return from_channels_last(attrs, result.reshape(*result.shape[:-2], out))


def _convolve_back_to_input(
    attrs: Attrs, shape: tuple[int, ...], filters: np.ndarray, dy: np.ndarray
) -> np.ndarray:
    dy, filters = to_channels_last(attrs, wide(dy)), wide(filters)
    if channels_first(attrs):
        shape = (shape[0], *shape[2:], shape[1])
    per_group, out = filters.shape[-2:]
    groups = shape[-1] // per_group
    walk = window(attrs, shape[1:-1], filters.shape[:-2])
    _check_gradient(dy, (shape[0], *walk.output, out))
    dx = walk.pad(np.zeros(shape, dy.dtype))
    by_group = dy.reshape(*dy.shape[:-1], groups, out // groups)
    for tap, part in walk.taps():
        weights = filters[tap].reshape(per_group, groups, out // groups)
        share = np.einsum("...go,igo->...gi", by_group, weights)
        dx[(slice(None),) + part] += share.reshape(*dy.shape[:-1], shape[-1])
    return from_channels_last(attrs, walk.unpad(dx))


def _convolve_back_to_filter(
    attrs: Attrs, x: np.ndarray, shape: tuple[int, ...], dy: np.ndarray
) -> np.ndarray:
    x, dy = to_channels_last(attrs, wide(x)), to_channels_last(attrs, wide(dy))
    per_group, out = shape[-2:]
    groups = x.shape[-1] // per_group
    walk = window(attrs, x.shape[1:-1], shape[:-2])
    _check_gradient(dy, (len(x), *walk.output, out))
    padded = walk.pad(x)
    result = np.zeros(shape, dy.dtype)
    by_group = dy.reshape(-1, groups, out // groups)
    for tap, part in walk.taps():
        met = padded[(slice(None),) + part].reshape(-1, groups, per_group)
        result[tap] = np.einsum("ngi,ngo->igo", met, by_group).reshape(per_group, out)
    return result


def _check_gradient(dy: np.ndarray, expected: tuple[int, ...]) -> None:
    if dy.shape != expected:
        raise InvalidArgumentError(
            None, None, f"out_backprop is {list(dy.shape)}, the output is {list(expected)}"
        )


@kernel("Conv2D", "Conv3D")
def conv(attrs: Attrs, x: np.ndarray, filters: np.ndarray) -> np.ndarray:
    return _convolve(attrs, x, filters).astype(x.dtype)


@kernel("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def conv_backprop_input(
    attrs: Attrs, sizes: np.ndarray, filters: np.ndarray, dy: np.ndarray
) -> np.ndarray:
    shape = tuple(sizes.tolist())
    if len(shape) == filters.ndim - 2:  # the spatial axes alone: batch and depth follow
        depth = filters.shape[-2]
        inner = (depth, *shape) if channels_first(attrs) else (*shape, depth)
        shape = (len(dy), *inner)
    return _convolve_back_to_input(attrs, shape, filters, dy).astype(dy.dtype)


@kernel("Conv2DBackpropInputV2", "Conv3DBackpropInput")
def conv_backprop_input_of(
    attrs: Attrs, x: np.ndarray, filters: np.ndarray, dy: np.ndarray
) -> np.ndarray:
    return _convolve_back_to_input(attrs, x.shape, filters, dy).astype(dy.dtype)


@kernel("Conv2DBackpropFilter", "Conv3DBackpropFilterV2")
def conv_backprop_filter(
    attrs: Attrs, x: np.ndarray, sizes: np.ndarray, dy: np.ndarray
) -> np.ndarray:
    return _convolve_back_to_filter(attrs, x, tuple(sizes.tolist()), dy).astype(dy.dtype)


@kernel("Conv2DBackpropFilterV2", "Conv3DBackpropFilter")
def conv_backprop_filter_of(
    attrs: Attrs, x: np.ndarray, filters: np.ndarray, dy: np.ndarray
) -> np.ndarray:
    return _convolve_back_to_filter(attrs, x, filters.shape, dy).astype(dy.dtype)


@kernel("_FusedConv2D")
def fused_conv2d(attrs: Attrs, x: np.ndarray, filters: np.ndarray, *args: np.ndarray) -> np.ndarray:
    y = to_channels_last(attrs, _convolve(attrs, x, filters))
    y = apply_fused_ops(attrs, y, args)
    return from_channels_last(attrs, y).astype(x.dtype)


# ---- one filter set per input channel: filter is [height, width, depth, multiplier] ----


def _as_grouped(filters: np.ndarray) -> np.ndarray:
    """A depthwise filter as one with as many groups as channels."""
    height, width, depth, multiplier = filters.shape
    return filters.reshape(height, width, 1, depth * multiplier)


@kernel("DepthwiseConv2dNative")
def depthwise_conv(attrs: Attrs, x: np.ndarray, filters: np.ndarray) -> np.ndarray:
    depth = x.shape[1 if channels_first(attrs) else 3]
    if filters.shape[2] != depth:
        raise InvalidArgumentError(
            None, None, f"input and filter must have the same depth: {depth} vs {filters.shape[2]}"
        )
    return _convolve(attrs, x, _as_grouped(filters)).astype(x.dtype)


@kernel("DepthwiseConv2dNativeBackpropInput")
def depthwise_conv_backprop_input(
    attrs: Attrs, sizes: np.ndarray, filters: np.ndarray, dy: np.ndarray
) -> np.ndarray:
    shape = tuple(sizes.tolist())
    return _convolve_back_to_input(attrs, shape, _as_grouped(filters), dy).astype(dy.dtype)


@kernel("DepthwiseConv2dNativeBackpropFilter")
def depthwise_conv_backprop_filter(
    attrs: Attrs, x: np.ndarray, sizes: np.ndarray, dy: np.ndarray
) -> np.ndarray:
    height, width, depth, multiplier = sizes.tolist()
    grouped = (height, width, 1, depth * multiplier)
    return _convolve_back_to_filter(attrs, x, grouped, dy).reshape(sizes.tolist()).astype(dy.dtype)


# ---- greyscale dilation: the largest sum of image and filter ----


def _dilation(attrs: Attrs, x: np.ndarray, filters: np.ndarray) -> tuple[Window, np.ndarray]:
    """The window, and the sums [taps, batch, spatial..., depth]; padding never wins."""
    walk = window(attrs, x.shape[1:-1], filters.shape[:-1], dilations="rates")
    lowest = np.iinfo(np.int64).min // 2 if x.dtype.kind in "iu" else -np.inf
    padded = walk.pad(x.astype(np.int64) if x.dtype.kind in "iu" else wide(x), lowest)
    sums = [padded[(slice(None),) + part] + wide(filters)[tap] for tap, part in walk.taps()]
    return walk, np.stack(sums)


@kernel("Dilation2D")
def dilation2d(attrs: Attrs, x: np.ndarray, filters: np.ndarray) -> np.ndarray:
    return _dilation(attrs, x, filters)[1].max(axis=0).astype(x.dtype)


@kernel("Dilation2DBackpropInput")
def dilation2d_backprop_input(
    attrs: Attrs, x: np.ndarray, filters: np.ndarray, dy: np.ndarray
) -> np.ndarray:
    walk, sums = _dilation(attrs, x, filters)
    winner = sums.argmax(axis=0)
    dx = walk.pad(np.zeros(x.shape))
    for number, (_, part) in enumerate(walk.taps()):
        dx[(slice(None),) + part] += np.where(winner == number, wide(dy), 0)
    return walk.unpad(dx).astype(x.dtype)


@kernel("Dilation2DBackpropFilter")
def dilation2d_backprop_filter(
    attrs: Attrs, x: np.ndarray, filters: np.ndarray, dy: np.ndarray
) -> np.ndarray:
    walk, sums = _dilation(attrs, x, filters)
    winner = sums.argmax(axis=0)
    result = np.zeros(filters.shape)
    for number, (tap, _) in enumerate(walk.taps()):
        result[tap] = np.where(winner == number, wide(dy), 0).sum(axis=(0, 1, 2))
    return result.astype(x.dtype)


# ---- patches ----


@kernel("ExtractImagePatches", "ExtractVolumePatches")
def extract_patches(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    size = tuple(attrs["ksizes"][1:-1])
    walk = window(attrs, x.shape[1:-1], size, dilations="rates")
    padded = walk.pad(x)
    return np.concatenate([padded[(slice(None),) + part] for _, part in walk.taps()], axis=-1)


# ---- biases ----


@kernel("BiasAdd", "BiasAddV1")
def bias_add(attrs: Attrs, value: np.ndarray, bias: np.ndarray) -> np.ndarray:
    if attrs.get("data_format") == b"NCHW":
        bias = bias.reshape((-1,) + (1,) * (value.ndim - 2))
    return value + bias


@kernel("BiasAddGrad")
def bias_add_grad(attrs: Attrs, dy: np.ndarray) -> np.ndarray:
    kept = 1 if attrs["data_format"] == b"NCHW" else dy.ndim - 1
    axes = tuple(axis for axis in range(dy.ndim) if axis != kept)
    total = wide(dy).sum(axis=axes, dtype=wide(dy).dtype)
    return total.astype(dy.dtype)

"""Shape rules of sliding windows: convolution, pooling, patches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import Shape, attr, ints, same, show, with_rank

Shapes = list[Shape]


def channels_first(op: ShapeQuery) -> bool:
    """Returns whether the data format is channels first."""
    return str(attr(op, "data_format", "NHWC")).startswith("NC")


def window_count(
    n: int | None, size: int | None, stride: int, rate: int, padding: str, before_after: int = 0
) -> int | None:
    """Returns the number of window positions along a dimension.

    Args:
      before_after: total explicit padding at both ends.
    """
    if n is None:
        return None
    if padding == "SAME":
        return -(-n // stride)
    if size is None:
        return None
    reach = (size - 1) * rate + 1
    room = n + before_after - reach
    if room < 0:
        raise ValueError(f"window of {reach} does not fit a size of {n + before_after}")
    return room // stride + 1


def four(op: ShapeQuery, name: str, rank: int) -> Sequence[int]:
    """Returns a list attribute with a positive number for each dimension. Raises: ValueError."""
    values = op.attrs[name]
    if len(values) != rank:
        raise ValueError(f"{name} must be {rank} numbers, are {show(values)}")
    if min(values) < 1:
        raise ValueError(f"{name} must be positive, are {show(values)}")
    return values


def _convolution(op: ShapeQuery, space: int, depthwise: bool = False) -> Shapes:
    rank = space + 2
    x, f = with_rank(op.inputs[0], rank, "input"), with_rank(op.inputs[1], rank, "filter")
    strides = four(op, "strides", rank)
    rates = four(op, "dilations", rank) if "dilations" in op.attrs else (1,) * rank
    c = 1 if channels_first(op) else rank - 1
    first = 2 if c == 1 else 1
    for name, values in (("strides", strides), ("dilations", rates)):
        if values[0] != 1 or values[c] != 1:
            raise ValueError(f"{name} over batch and depth must be 1, are {show(values)}")
    depth, taken = x[c], f[space]
    if depth is not None and taken is not None:
        if depthwise:
            if depth != taken:
                raise ValueError(f"depths differ: input is {show(x)}, filter is {show(f)}")
        elif taken == 0 or depth % taken:
            raise ValueError(
                f"depth of input {show(x)} is not a multiple of that of filter {show(f)}"
            )
    padding, explicit = op.attrs["padding"], attr(op, "explicit_paddings") or ()
    if padding == "EXPLICIT" and len(explicit) != 2 * rank:
        raise ValueError(f"explicit_paddings must be {2 * rank} numbers, are {show(explicit)}")
    if padding != "EXPLICIT" and explicit:
        raise ValueError(
            "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT, "
            f"is {show(explicit)}"
        )
    out: list[int | None] = [None] * rank
    out[0] = x[0]
    for i in range(space):
        d = first + i
        more = explicit[2 * d] + explicit[2 * d + 1] if padding == "EXPLICIT" else 0
        out[d] = window_count(x[d], f[i], strides[d], rates[d], padding, more)
    result = f[space + 1]
    if depthwise:
        known = taken if taken is not None else depth
        out[c] = None if result is None or known is None else result * known
    else:
        out[c] = result
    return [tuple(out)]


@shape_rule("conv2d")
def conv2d(op: ShapeQuery) -> Shapes:
    return _convolution(op, 2)


@shape_rule("depthwise_conv2d")
def depthwise_conv2d(op: ShapeQuery) -> Shapes:
    return _convolution(op, 2, depthwise=True)


@shape_rule("conv3d")
def conv3d(op: ShapeQuery) -> Shapes:
    return _convolution(op, 3)


@shape_rule("dilation2d")
def dilation2d(op: ShapeQuery) -> Shapes:
    x, f = with_rank(op.inputs[0], 4, "input"), with_rank(op.inputs[1], 3, "filter")
    strides, rates, padding = four(op, "strides", 4), four(op, "rates", 4), op.attrs["padding"]
    if not same(x[3], f[2]):
        raise ValueError(f"depths differ: input is {show(x)}, filter is {show(f)}")
    h, w = (window_count(x[i], f[i - 1], strides[i], rates[i], padding) for i in (1, 2))
    return [(x[0], h, w, x[3] if x[3] is not None else f[2])]


@shape_rule("extract_image_patches")
def extract_image_patches(op: ShapeQuery) -> Shapes:
    x = with_rank(op.inputs[0], 4, "images")
    sizes, strides, rates = (four(op, n, 4) for n in ("ksizes", "strides", "rates"))
    h, w = (window_count(x[i], sizes[i], strides[i], rates[i], op.attrs["padding"]) for i in (1, 2))
    return [(x[0], h, w, None if x[3] is None else x[3] * sizes[1] * sizes[2])]


@shape_rule("extract_volume_patches")
def extract_volume_patches(op: ShapeQuery) -> Shapes:
    x = with_rank(op.inputs[0], 5, "input")
    sizes, strides = four(op, "ksizes", 5), four(op, "strides", 5)
    space = [window_count(x[i], sizes[i], strides[i], 1, op.attrs["padding"]) for i in (1, 2, 3)]
    depth = None if x[4] is None else x[4] * sizes[1] * sizes[2] * sizes[3]
    return [(x[0], *space, depth)]


def _pool(op: ShapeQuery, rank: int, sizes: Sequence[int], strides: Sequence[int]) -> Shapes:
    x = with_rank(op.inputs[0], rank, "input")
    c = 1 if channels_first(op) else rank - 1
    if sizes[0] != 1 or strides[0] != 1:
        raise ValueError(
            f"windows over the batch must be 1: ksize is {show(sizes)}, strides are {show(strides)}"
        )
    padding, explicit = op.attrs["padding"], attr(op, "explicit_paddings") or ()
    if padding == "EXPLICIT" and len(explicit) != 2 * rank:
        raise ValueError(f"explicit_paddings must be {2 * rank} numbers, are {show(explicit)}")
    out = list(x)
    for i in range(1, rank):
        if i != c or sizes[i] != 1 or strides[i] != 1:
            more = explicit[2 * i] + explicit[2 * i + 1] if padding == "EXPLICIT" else 0
            out[i] = window_count(x[i], sizes[i], strides[i], 1, padding, more)
    return [tuple(out)] * op.n_outputs


@shape_rule("pool2d")
def pool2d(op: ShapeQuery) -> Shapes:
    return _pool(op, 4, four(op, "ksize", 4), four(op, "strides", 4))


@shape_rule("pool3d")
def pool3d(op: ShapeQuery) -> Shapes:
    return _pool(op, 5, four(op, "ksize", 5), four(op, "strides", 5))


@shape_rule("pool2d_v2")
def pool2d_v2(op: ShapeQuery) -> Shapes:
    x, found = with_rank(op.inputs[0], 4, "input"), []
    for i, what in ((1, "ksize"), (2, "strides")):
        with_rank(op.inputs[i], 1, what)
        values = ints(op, i)
        if values is not None:
            if len(values) != 4:
                raise ValueError(f"{what} must be 4 numbers, are {show(values)}")
            if min(values) < 1:
                raise ValueError(f"{what} must be positive, are {show(values)}")
            found.append(values)
    if len(found) < 2:
        return [(x[0], None, None, None)]
    return _pool(op, 4, *found)


@shape_rule("fractional_pool")
def fractional_pool(op: ShapeQuery) -> Shapes:
    x, ratios = with_rank(op.inputs[0], 4, "value"), op.attrs["pooling_ratio"]
    if len(ratios) != 4:
        raise ValueError(f"pooling_ratio must be 4 numbers, is {len(ratios)}")
    out = [
        None if d is None else int(np.floor(np.float32(d) / np.float32(ratio)))
        for d, ratio in zip(x, ratios, strict=True)
    ]
    ends: Shapes = [(None if d is None else d + 1,) for d in out[1:3]]
    return [tuple(out), *ends]


@shape_rule("bias_add")
def bias_add(op: ShapeQuery) -> Shapes:
    x, bias = op.inputs[0], with_rank(op.inputs[1], 1, "bias")
    if x is None:
        return [None]
    if len(x) < 2:
        raise ValueError(f"value must have at least rank 2, is {show(x)}")
    c = 1 if channels_first(op) else len(x) - 1
    if x[c] is None:
        return [(*x[:c], bias[0], *x[c + 1 :])]
    if not same(x[c], bias[0]):
        raise ValueError(f"bias {show(bias)} does not fit value {show(x)}")
    return [x]


@shape_rule("bias_add_grad")
def bias_add_grad(op: ShapeQuery) -> Shapes:
    x = op.inputs[0]
    if x is None:
        return [(None,)]
    if len(x) < 2:
        raise ValueError(f"out_backprop must have at least rank 2, is {show(x)}")
    return [(x[1 if channels_first(op) else len(x) - 1],)]

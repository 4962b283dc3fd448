"""Conversion between RGB and HSV."""

from __future__ import annotations

from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.typing.aliases import TensorLike


def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """Converts RGB with values from 0 to 1 to HSV. Args: images: [..., 3]."""
    return op("RGBToHSV", images, name=name)


def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Converts HSV with values from 0 to 1 to RGB. Args: images: [..., 3]."""
    return op("HSVToRGB", images, name=name)


# ---- gradients -----------------------------------------------------------------------------


@gradient("RGBToHSV")
def _rgb_to_hsv_gradient(node: Operation, grad: Tensor) -> Tensor:
    """Differentiates s = 1 - m / v and h, where v is the maximum and m the minimum channel.

    6 h is 0, 2 or 4 plus a difference of two channels over v - m. Of equal channels the first one
    is
    the maximum."""
    dtype = grad.dtype.base_dtype
    red, green, blue = op("Unpack", node.inputs[0], num=3, axis=-1)
    into_h, into_s, into_v = op("Unpack", grad, num=3, axis=-1)

    def number(flag: Tensor) -> Tensor:
        return op("Cast", flag, DstT=dtype)

    def both(a: Tensor, b: Tensor) -> Tensor:
        return op("LogicalAnd", a, b)

    most = [
        number(both(op("GreaterEqual", red, green), op("GreaterEqual", red, blue))),
        number(both(op("Less", red, green), op("GreaterEqual", green, blue))),
        number(both(op("Less", red, blue), op("Less", green, blue))),
    ]
    least = [
        number(both(op("Less", red, green), op("Less", red, blue))),
        number(both(op("GreaterEqual", red, green), op("Less", green, blue))),
        number(both(op("GreaterEqual", red, blue), op("GreaterEqual", green, blue))),
    ]
    value = op("Maximum", op("Maximum", red, green), blue)
    low = op("Minimum", op("Minimum", red, green), blue)
    span = constant(6.0, dtype=dtype) * (value - low)
    above = most[0] * (green - blue) + most[1] * (blue - red) + most[2] * (red - green)
    tilt = op("DivNoNan", into_h, span)  # the difference in h
    bend = constant(6.0, dtype=dtype) * op("DivNoNan", tilt * above, span)
    share = op("DivNoNan", into_s, value)
    of_value = into_v + op("DivNoNan", share * low, value) - bend
    of_low = bend - share
    turns = [most[2] - most[1], most[0] - most[2], most[1] - most[0]]
    parts = [
        high * of_value + lower * of_low + tilt * turn
        for high, lower, turn in zip(most, least, turns, strict=True)
    ]
    return op("Pack", parts, axis=-1)

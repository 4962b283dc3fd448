"""Depthwise convolutions and their gradients, under TF's native names."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.typing.aliases import Ints, Padding, TensorLike

_ONES = (1, 1, 1, 1)


def _attrs(strides: Any, padding: Any, data_format: str, dilations: Any) -> dict[str, Any]:
    attrs = {"strides": list(strides), "data_format": data_format, "dilations": list(dilations)}
    if isinstance(padding, str):
        return {**attrs, "padding": padding}
    flat = [n for pair in padding for n in pair]
    return {**attrs, "padding": "EXPLICIT", "explicit_paddings": flat}


def depthwise_conv2d_native(
    input: TensorLike,  # noqa: A002 - TF's name
    filter: TensorLike,  # noqa: A002 - TF's name
    strides: Ints,
    padding: Padding,
    data_format: str = "NHWC",
    dilations: Ints = _ONES,
    name: str | None = None,
) -> Tensor:
    """Same as depthwise_conv2d, with dilations of all four dimensions."""
    attrs = _attrs(strides, padding, data_format, dilations)
    return op("DepthwiseConv2dNative", input, filter, name=name, **attrs)


def depthwise_conv2d_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike,  # noqa: A002 - TF's name
    out_backprop: TensorLike,
    strides: Ints,
    padding: Padding,
    data_format: str = "NHWC",
    dilations: Ints = _ONES,
    name: str | None = None,
) -> Tensor:
    """Computes the gradient of depthwise_conv2d with respect to its input."""
    attrs = _attrs(strides, padding, data_format, dilations)
    return op(
        "DepthwiseConv2dNativeBackpropInput", input_sizes, filter, out_backprop, name=name, **attrs
    )


def depthwise_conv2d_backprop_filter(
    input: TensorLike,  # noqa: A002 - TF's name
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: Ints,
    padding: Padding,
    data_format: str = "NHWC",
    dilations: Ints = _ONES,
    name: str | None = None,
) -> Tensor:
    """Computes the gradient of depthwise_conv2d with respect to its filter."""
    attrs = _attrs(strides, padding, data_format, dilations)
    return op(
        "DepthwiseConv2dNativeBackpropFilter", input, filter_sizes, out_backprop, name=name, **attrs
    )


depthwise_conv2d_native_backprop_input = depthwise_conv2d_backprop_input
depthwise_conv2d_native_backprop_filter = depthwise_conv2d_backprop_filter

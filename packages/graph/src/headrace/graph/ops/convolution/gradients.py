"""Gradients of the ops of convolution.py."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor

_ATTRS = ("strides", "padding", "explicit_paddings", "data_format", "dilations")


def _attrs(node: Operation, names: tuple[str, ...] = _ATTRS) -> dict[str, Any]:
    return {name: node.get_attr(name) for name in names}


@gradient("Conv2D")
def _conv2d_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    x, kernel = node.inputs
    shapes = op("ShapeN", [x, kernel])
    attrs = _attrs(node)
    return [
        op("Conv2DBackpropInput", shapes[0], kernel, grad, **attrs),
        op("Conv2DBackpropFilter", x, shapes[1], grad, **attrs),
    ]


@gradient("Conv2DBackpropInput")
def _conv2d_input_gradient(node: Operation, grad: Tensor) -> list[Any]:
    _, kernel, out = node.inputs
    attrs = _attrs(node)
    return [
        None,
        op("Conv2DBackpropFilter", grad, op("Shape", kernel), out, **attrs),
        op("Conv2D", grad, kernel, **attrs),
    ]


@gradient("Conv2DBackpropFilter")
def _conv2d_filter_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, _, out = node.inputs
    attrs = _attrs(node)
    return [
        op("Conv2DBackpropInput", op("Shape", x), grad, out, **attrs),
        None,
        op("Conv2D", x, grad, **attrs),
    ]


@gradient("DepthwiseConv2dNative")
def _depthwise_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    x, kernel = node.inputs
    attrs = _attrs(node)
    return [
        op("DepthwiseConv2dNativeBackpropInput", op("Shape", x), kernel, grad, **attrs),
        op("DepthwiseConv2dNativeBackpropFilter", x, op("Shape", kernel), grad, **attrs),
    ]


@gradient("DepthwiseConv2dNativeBackpropInput")
def _depthwise_input_gradient(node: Operation, grad: Tensor) -> list[Any]:
    _, kernel, out = node.inputs
    attrs = _attrs(node)
    result = op("DepthwiseConv2dNativeBackpropFilter", grad, op("Shape", kernel), out, **attrs)
    return [None, result, op("DepthwiseConv2dNative", grad, kernel, **attrs)]


@gradient("DepthwiseConv2dNativeBackpropFilter")
def _depthwise_filter_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, _, out = node.inputs
    attrs = _attrs(node)
    result = op("DepthwiseConv2dNativeBackpropInput", op("Shape", x), grad, out, **attrs)
    return [result, None, op("DepthwiseConv2dNative", x, grad, **attrs)]


_ATTRS_3D = ("strides", "padding", "data_format", "dilations")


@gradient("Conv3D")
def _conv3d_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    x, kernel = node.inputs
    attrs = _attrs(node, _ATTRS_3D)
    return [
        op("Conv3DBackpropInputV2", op("Shape", x), kernel, grad, **attrs),
        op("Conv3DBackpropFilterV2", x, op("Shape", kernel), grad, **attrs),
    ]


@gradient("Conv3DBackpropInputV2")
def _conv3d_input_gradient(node: Operation, grad: Tensor) -> list[Any]:
    _, kernel, out = node.inputs
    attrs = _attrs(node, _ATTRS_3D)
    return [
        None,
        op("Conv3DBackpropFilterV2", grad, op("Shape", kernel), out, **attrs),
        op("Conv3D", grad, kernel, **attrs),
    ]


@gradient("Conv3DBackpropFilterV2")
def _conv3d_filter_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, _, out = node.inputs
    attrs = _attrs(node, _ATTRS_3D)
    return [
        op("Conv3DBackpropInputV2", op("Shape", x), grad, out, **attrs),
        None,
        op("Conv3D", x, grad, **attrs),
    ]


@gradient("Dilation2D")
def _dilation_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    x, kernel = node.inputs
    attrs = {name: node.get_attr(name) for name in ("strides", "rates", "padding")}
    return [
        op("Dilation2DBackpropInput", x, kernel, grad, **attrs),
        op("Dilation2DBackpropFilter", x, kernel, grad, **attrs),
    ]


for _op_type in (
    "Conv2DBackpropInputV2",
    "Conv2DBackpropFilterV2",
    "Conv3DBackpropInput",
    "Conv3DBackpropFilter",
    "Dilation2DBackpropInput",
    "Dilation2DBackpropFilter",
):
    no_gradient(_op_type, "TensorFlow defines none")
no_gradient("_FusedConv2D", "graph passes create it after differentiation")

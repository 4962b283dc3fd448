"""Separable convolution layers: a depthwise convolution, then a pointwise one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.contrib.framework.arg_scope import add_arg_scope
from headrace.graph.contrib.framework.variables import model_variable
from headrace.graph.contrib.layers.initial_values import xavier_initializer
from headrace.graph.contrib.layers.layer_variables import (
    add_to_collections,
    check_layout,
    finish_layer,
    model_variable_getter,
)
from headrace.graph.contrib.layers.named_outputs import (
    channel_dimension,
    get_variable_collections,
    two_element_tuple,
)
from headrace.graph.framework.operation import Tensor
from headrace.graph.layers.separable_convolution import SeparableConv2D
from headrace.graph.ops.activations import relu
from headrace.graph.ops.convolution.bias import bias_add
from headrace.graph.ops.convolution.convolution import depthwise_conv2d
from headrace.graph.typing.aliases import Collections, Initializer, Ints, Regularizer, TensorLike
from headrace.graph.variables.initializers import Zeros
from headrace.graph.variables.variable_scope import VariableScope, variable_scope

_ZEROS = Zeros()
_XAVIER = xavier_initializer()
_RENAMED = {
    "bias": "biases",
    "depthwise_kernel": "depthwise_weights",
    "pointwise_kernel": "pointwise_weights",
}


@add_arg_scope
def separable_convolution2d(
    inputs: TensorLike,
    num_outputs: int | None,
    kernel_size: Ints,
    depth_multiplier: int = 1,
    stride: Ints = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: Ints = 1,
    activation_fn: Callable[..., Any] | None = relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Initializer | None = _XAVIER,
    pointwise_initializer: Initializer | None = None,
    weights_regularizer: Regularizer | None = None,
    biases_initializer: Initializer | None = _ZEROS,
    biases_regularizer: Regularizer | None = None,
    reuse: bool | None = None,
    variables_collections: Collections | Mapping[str, Collections] | None = None,
    outputs_collections: Collections | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> Tensor:
    """Applies a depthwise convolution, then a pointwise one, to [batch, height, width, channels].

    Args:
      num_outputs: number of output channels; None leaves the pointwise convolution out.
      depth_multiplier: number of depthwise filters per input channel.
      data_format: "NHWC" or "NCHW".
      pointwise_initializer: by default weights_initializer.
      the others: as in convolution.
    Returns: [batch, out height, out width, channels], in the layout of the inputs; without
      num_outputs there are depth_multiplier times as many channels as in the inputs.
    Raises: ValueError for another data_format, or an unknown number of channels.
    """
    layout = check_layout(data_format, "NHWC", "NCHW")
    getter = model_variable_getter(_RENAMED)
    with variable_scope(
        scope, "SeparableConv2d", [inputs], reuse=reuse, custom_getter=getter
    ) as entered:
        x = convert_to_tensor(inputs)
        if num_outputs is None:
            outputs = _depthwise(**locals())
        else:
            layer = SeparableConv2D(
                filters=num_outputs,
                kernel_size=kernel_size,
                strides=stride,
                padding=padding,
                data_format=layout,
                dilation_rate=two_element_tuple(rate),
                depth_multiplier=depth_multiplier,
                use_bias=not normalizer_fn and biases_initializer is not None,
                depthwise_initializer=weights_initializer,
                pointwise_initializer=pointwise_initializer or weights_initializer,
                bias_initializer=_ZEROS if biases_initializer is None else biases_initializer,
                depthwise_regularizer=weights_regularizer,
                pointwise_regularizer=weights_regularizer,
                bias_regularizer=biases_regularizer,
                trainable=trainable,
                name=entered.name,
                dtype=x.dtype.base_dtype,
                _scope=entered,
                _reuse=reuse,
            )
            outputs = layer.apply(x)
            add_to_collections(layer.depthwise_kernel, variables_collections, "weights")
            add_to_collections(layer.pointwise_kernel, variables_collections, "weights")
            if layer.bias is not None:
                add_to_collections(layer.bias, variables_collections, "biases")
        return finish_layer(
            outputs,
            normalizer_fn,
            normalizer_params,
            activation_fn,
            outputs_collections,
            entered.name,
        )


def _depthwise(x: Tensor, **given: Any) -> Tensor:
    """Applies the depthwise convolution alone, and adds biases unless a normalizer follows."""
    dtype = x.dtype.base_dtype
    channels = channel_dimension(x.get_shape(), given["layout"], min_rank=4)
    multiplier, collections = given["depth_multiplier"], given["variables_collections"]
    weights = model_variable(
        "depthwise_weights",
        shape=[*two_element_tuple(given["kernel_size"]), channels, multiplier],
        dtype=dtype,
        initializer=given["weights_initializer"],
        regularizer=given["weights_regularizer"],
        trainable=given["trainable"],
        collections=get_variable_collections(collections, "weights"),
    )
    height, width = two_element_tuple(given["stride"])
    is_first = given["layout"] == "channels_first"
    outputs = depthwise_conv2d(
        x,
        weights,
        [1, 1, height, width] if is_first else [1, height, width, 1],
        given["padding"],
        rate=two_element_tuple(given["rate"]),
        data_format=given["data_format"],
    )
    if given["normalizer_fn"] is not None or given["biases_initializer"] is None:
        return outputs
    biases = model_variable(
        "biases",
        shape=[multiplier * channels],
        dtype=dtype,
        initializer=given["biases_initializer"],
        regularizer=given["biases_regularizer"],
        trainable=given["trainable"],
        collections=get_variable_collections(collections, "biases"),
    )
    return bias_add(outputs, biases, data_format=given["data_format"])


separable_conv2d = separable_convolution2d

"""Transposed convolution layers in two and three dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.contrib.framework.arg_scope import add_arg_scope
from headrace.graph.contrib.layers.initial_values import xavier_initializer
from headrace.graph.contrib.layers.layer_variables import (
    BIAS_AND_KERNEL,
    add_to_collections,
    check_layout,
    finish_layer,
    model_variable_getter,
)
from headrace.graph.framework.operation import Tensor
from headrace.graph.layers.transposed_convolution import Conv2DTranspose, Conv3DTranspose
from headrace.graph.ops.activations import relu
from headrace.graph.typing.aliases import Collections, Initializer, Ints, Regularizer, TensorLike
from headrace.graph.variables.initializers import Zeros
from headrace.graph.variables.variable_scope import VariableScope, variable_scope

_ZEROS = Zeros()
_XAVIER = xavier_initializer()


@add_arg_scope
def convolution2d_transpose(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: Ints,
    stride: Ints = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    activation_fn: Callable[..., Any] | None = relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Initializer | None = _XAVIER,
    weights_regularizer: Regularizer | None = None,
    biases_initializer: Initializer | None = _ZEROS,
    biases_regularizer: Regularizer | None = None,
    reuse: bool | None = None,
    variables_collections: Collections | Mapping[str, Collections] | None = None,
    outputs_collections: Collections | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> Tensor:
    """Applies a transposed convolution layer to [batch, height, width, channels].

    Args:
      data_format: "NHWC" or "NCHW".
      the others: as in convolution.
    Returns: [batch, out height, out width, num_outputs], in the layout of the inputs.
    Raises: ValueError for another data_format, or an unknown number of channels.
    """
    return _transposed(Conv2DTranspose, "Conv2d_transpose", ("NHWC", "NCHW"), **locals())


@add_arg_scope
def convolution3d_transpose(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: Ints,
    stride: Ints = 1,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    activation_fn: Callable[..., Any] | None = relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Initializer | None = _XAVIER,
    weights_regularizer: Regularizer | None = None,
    biases_initializer: Initializer | None = _ZEROS,
    biases_regularizer: Regularizer | None = None,
    reuse: bool | None = None,
    variables_collections: Collections | Mapping[str, Collections] | None = None,
    outputs_collections: Collections | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> Tensor:
    """Applies a transposed convolution layer to [batch, depth, height, width, channels].

    Args:
      data_format: "NDHWC" or "NCDHW".
      the others: as in convolution.
    Returns: [batch, out depth, out height, out width, num_outputs], in the layout of the inputs.
    Raises: ValueError for another data_format, or an unknown number of channels.
    """
    return _transposed(Conv3DTranspose, "Conv3d_transpose", ("NDHWC", "NCDHW"), **locals())


def _transposed(
    layer_class: Any, default_scope: str, layouts: tuple[str, str], **given: Any
) -> Tensor:
    """Applies a layer class with the arguments of the functions above."""
    data_format = check_layout(given["data_format"], *layouts)
    getter = model_variable_getter(BIAS_AND_KERNEL)
    reuse, collections = given["reuse"], given["variables_collections"]
    bias = given["biases_initializer"]
    with variable_scope(
        given["scope"], default_scope, [given["inputs"]], reuse=reuse, custom_getter=getter
    ) as entered:
        x = convert_to_tensor(given["inputs"])
        layer = layer_class(
            filters=given["num_outputs"],
            kernel_size=given["kernel_size"],
            strides=given["stride"],
            padding=given["padding"],
            data_format=data_format,
            use_bias=not given["normalizer_fn"] and bias is not None,
            kernel_initializer=given["weights_initializer"],
            bias_initializer=_ZEROS if bias is None else bias,
            kernel_regularizer=given["weights_regularizer"],
            bias_regularizer=given["biases_regularizer"],
            trainable=given["trainable"],
            name=entered.name,
            dtype=x.dtype.base_dtype,
            _scope=entered,
            _reuse=reuse,
        )
        outputs = layer.apply(x)
        add_to_collections(layer.kernel, collections, "weights")
        if layer.bias is not None:
            add_to_collections(layer.bias, collections, "biases")
        return finish_layer(
            outputs,
            given["normalizer_fn"],
            given["normalizer_params"],
            given["activation_fn"],
            given["outputs_collections"],
            entered.name,
        )


conv2d_transpose = convolution2d_transpose
conv3d_transpose = convolution3d_transpose

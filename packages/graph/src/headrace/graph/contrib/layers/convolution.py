"""Convolution layers in one to three dimensions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.contrib.framework.arg_scope import add_arg_scope
from headrace.graph.contrib.framework.variables import model_variable
from headrace.graph.contrib.layers.initial_values import xavier_initializer
from headrace.graph.contrib.layers.layer_variables import (
    BIAS_AND_KERNEL,
    add_to_collections,
    check_layout,
    finish_layer,
    model_variable_getter,
)
from headrace.graph.contrib.layers.named_outputs import (
    get_variable_collections,
    last_dimension,
    two_element_tuple,
)
from headrace.graph.framework.operation import Tensor
from headrace.graph.layers.convolution import Conv1D, Conv2D, Conv3D
from headrace.graph.ops.activations import relu
from headrace.graph.ops.convolution.bias import bias_add
from headrace.graph.ops.convolution.convolution import depthwise_conv2d
from headrace.graph.typing.aliases import Collections, Initializer, Ints, Regularizer, TensorLike
from headrace.graph.variables.initializers import Zeros
from headrace.graph.variables.variable_scope import VariableScope, variable_scope

_ZEROS = Zeros()
_XAVIER = xavier_initializer()
_BY_RANK: dict[int, Any] = {3: Conv1D, 4: Conv2D, 5: Conv3D}


def _convolution(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: Ints,
    stride: Ints = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Ints = 1,
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
    conv_dims: int | None = None,
) -> Tensor:
    """Applies a convolution layer in one to three dimensions.

    Args:
      inputs: [batch, spatial..., channels], or channels first by data_format.
      num_outputs: number of output channels.
      kernel_size, stride, rate: one int, or one int per spatial dimension; rate is the dilation.
      padding: "SAME" or "VALID".
      data_format: layout such as "NHWC" (the default) or "NCHW".
      conv_dims: required number of spatial dimensions; None takes that of the inputs.
      the others: as in fully_connected.
    Returns: [batch, out spatial..., num_outputs], in the layout of the inputs.
    Raises: ValueError for another layout or rank, or if stride and rate are both above 1.
    """
    layouts = ("NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW")
    if data_format not in (None, *layouts):
        raise ValueError(f"Invalid data_format: {data_format!r}")
    getter = model_variable_getter(BIAS_AND_KERNEL)
    with variable_scope(scope, "Conv", [inputs], reuse=reuse, custom_getter=getter) as entered:
        x = convert_to_tensor(inputs)
        rank = x.get_shape().ndims
        if conv_dims is not None and conv_dims + 2 != rank:
            raise ValueError(f"Convolution expects input with rank {conv_dims + 2}, got {rank}")
        if rank not in _BY_RANK:
            raise ValueError(f"Convolution not supported for input with rank {rank}")
        layer = _BY_RANK[rank](
            filters=num_outputs,
            kernel_size=kernel_size,
            strides=stride,
            padding=padding,
            data_format=check_layout(data_format, None, *layouts),
            dilation_rate=rate,
            use_bias=not normalizer_fn and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=_ZEROS if biases_initializer is None else biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=entered.name,
            dtype=x.dtype.base_dtype,
            _scope=entered,
            _reuse=reuse,
        )
        outputs = layer.apply(x)
        add_to_collections(layer.kernel, variables_collections, "weights")
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


@add_arg_scope
def convolution2d_in_plane(
    inputs: TensorLike,
    kernel_size: Ints,
    stride: Ints = 1,
    padding: str = "SAME",
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
    """Applies one filter to each channel separately.

    Args:
      inputs: [batch, height, width, channels].
      kernel_size, stride: one int or two of them.
      padding: "SAME" or "VALID".
      the others: as in fully_connected.
    Returns: [batch, out height, out width, channels].
    Raises: ValueError if the number of channels is unknown.
    """
    with variable_scope(scope, "ConvInPlane", [inputs], reuse=reuse) as entered:
        x = convert_to_tensor(inputs)
        dtype = x.dtype.base_dtype
        channels = last_dimension(x.get_shape(), min_rank=4)
        weights = model_variable(
            "weights",
            shape=[*two_element_tuple(kernel_size), 1, 1],
            dtype=dtype,
            initializer=weights_initializer,
            regularizer=weights_regularizer,
            collections=get_variable_collections(variables_collections, "weights"),
            trainable=trainable,
        )
        filters = op("Tile", weights, [1, 1, channels, 1])
        outputs = depthwise_conv2d(x, filters, [1, *two_element_tuple(stride), 1], padding)
        if normalizer_fn is None and biases_initializer is not None:
            biases = model_variable(
                "biases",
                shape=[channels],
                dtype=dtype,
                initializer=biases_initializer,
                regularizer=biases_regularizer,
                collections=get_variable_collections(variables_collections, "biases"),
                trainable=trainable,
            )
            outputs = bias_add(outputs, biases)
        return finish_layer(
            outputs,
            normalizer_fn,
            normalizer_params,
            activation_fn,
            outputs_collections,
            entered.name,
        )


def _public(name: str, conv_dims: int | None, summary: str) -> Any:
    """Returns _convolution as a public function.

    Args:
      conv_dims: its number of dimensions; None leaves it to the caller.
    """
    parameters = inspect.signature(_convolution).parameters
    shown = [p for p in parameters.values() if conv_dims is None or p.name != "conv_dims"]
    forced: dict[str, Any] = {} if conv_dims is None else {"conv_dims": conv_dims}
    build: Any = _convolution

    def function(*args: Any, **kwargs: Any) -> Tensor:
        result: Tensor = build(*args, **kwargs, **forced)
        return result

    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary
    function.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    return add_arg_scope(function)


convolution = _public("convolution", None, str(_convolution.__doc__))
convolution1d = conv1d = _public(
    "convolution1d", 1, "Applies convolution to [batch, width, channels]."
)
convolution2d = conv2d = _public(
    "convolution2d", 2, "Applies convolution to [batch, height, width, channels]."
)
convolution3d = conv3d = _public(
    "convolution3d", 3, "Applies convolution to [batch, depth, height, width, channels]."
)
conv2d_in_plane = convolution2d_in_plane

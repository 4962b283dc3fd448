"""Fully connected layers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.contrib.framework.arg_scope import add_arg_scope
from headrace.graph.contrib.layers.initial_values import xavier_initializer
from headrace.graph.contrib.layers.layer_variables import (
    BIAS_AND_KERNEL,
    add_to_collections,
    finish_layer,
    model_variable_getter,
)
from headrace.graph.contrib.layers.named_outputs import last_dimension
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Tensor
from headrace.graph.layers.dense import Dense
from headrace.graph.ops.activations import elu as _elu
from headrace.graph.ops.activations import relu as _relu
from headrace.graph.ops.activations import relu6 as _relu6
from headrace.graph.ops.convolution.bias import bias_add
from headrace.graph.ops.matmul.matmul import matmul
from headrace.graph.typing.aliases import Collections, Initializer, Regularizer, TensorLike
from headrace.graph.variables.get_variable import get_variable
from headrace.graph.variables.initializers import Zeros
from headrace.graph.variables.variable_scope import VariableScope, variable_scope

_ZEROS = Zeros()
_XAVIER = xavier_initializer()


@add_arg_scope
def fully_connected(
    inputs: TensorLike,
    num_outputs: int,
    activation_fn: Callable[..., Any] | None = _relu,
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
    """Applies a fully connected layer along the last axis: activation(inputs @ weights + biases).

    Args:
      inputs: [..., n] of rank 2 or more.
      num_outputs: size of the last axis of the result.
      activation_fn: function of the result; None for the identity.
      normalizer_fn: function such as batch_norm, called instead of adding biases.
      normalizer_params: its arguments.
      weights_initializer, weights_regularizer, biases_initializer, biases_regularizer: as in
        get_variable; biases_initializer=None leaves the biases out.
      reuse: reuse the variables of the scope.
      variables_collections: more collections of the variables, or collections by the names
        "weights" and "biases".
      outputs_collections: collections of the result.
      trainable: whether optimizers update the variables by default.
      scope: variable scope.
    Returns: [..., num_outputs].
    Raises: ValueError if num_outputs is not an int, or for inputs of rank below 2.
    """
    if not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs type should be int, got {type(num_outputs)}.")
    getter = model_variable_getter(BIAS_AND_KERNEL)
    with variable_scope(
        scope, "fully_connected", [inputs], reuse=reuse, custom_getter=getter
    ) as entered:
        x = convert_to_tensor(inputs)
        layer = Dense(
            units=num_outputs,
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


def legacy_fully_connected(
    x: TensorLike,
    num_output_units: int,
    activation_fn: Callable[..., Any] | None = None,
    weight_init: Initializer | None = _XAVIER,
    bias_init: Initializer | None = _ZEROS,
    name: str | None = None,
    weight_collections: Collections = (GraphKeys.WEIGHTS,),
    bias_collections: Collections = (GraphKeys.BIASES,),
    output_collections: Collections = (GraphKeys.ACTIVATIONS,),
    trainable: bool = True,
    weight_regularizer: Regularizer | None = None,
    bias_regularizer: Regularizer | None = None,
) -> Tensor:
    """Same as fully_connected, with the names of variables and arguments of early versions.

    Raises: ValueError if the rank of x is below 2, or its last dimension is unknown.
    """
    with variable_scope(name, "fully_connected", [x]):
        x = convert_to_tensor(x)
        width = last_dimension(x.get_shape(), min_rank=2)
        dtype = x.dtype.base_dtype
        weights = get_variable(
            "weights",
            [width, num_output_units],
            dtype,
            weight_init,
            weight_regularizer,
            trainable,
            list(dict.fromkeys([*(weight_collections or ()), GraphKeys.GLOBAL_VARIABLES])),
        )
        rank = len(x.get_shape().as_list())
        flat = x if rank == 2 else op("Reshape", x, [-1, width])
        result = matmul(flat, weights)
        if bias_init is not None:
            bias = get_variable(
                "bias",
                [num_output_units],
                dtype,
                bias_init,
                bias_regularizer,
                trainable,
                list(dict.fromkeys([*(bias_collections or ()), GraphKeys.GLOBAL_VARIABLES])),
            )
            result = bias_add(result, bias)
        if rank > 2:
            sizes = [op("Shape", x)[i] for i in range(rank - 1)]
            result = op("Reshape", result, op("Pack", [*sizes, num_output_units]))
            result.set_shape([*x.get_shape().as_list()[:-1], num_output_units])
        if activation_fn is not None:
            result = activation_fn(result)
        keys = [*(output_collections or ()), GraphKeys.ACTIVATIONS]
        get_default_graph().add_to_collections(keys, result)
        return result


relu = functools.partial(fully_connected, activation_fn=_relu)
relu6 = functools.partial(fully_connected, activation_fn=_relu6)
elu = functools.partial(fully_connected, activation_fn=_elu)
linear = functools.partial(fully_connected, activation_fn=None)
legacy_relu = functools.partial(legacy_fully_connected, activation_fn=_relu)
legacy_linear = functools.partial(legacy_fully_connected, activation_fn=None)

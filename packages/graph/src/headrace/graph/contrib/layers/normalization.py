"""Layer, instance and group normalisation, and biases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.contrib.framework.arg_scope import add_arg_scope
from headrace.graph.contrib.layers.layer_variables import check_layout, finish_layer
from headrace.graph.contrib.layers.norm_parameters import channel_parameter
from headrace.graph.framework.operation import Tensor
from headrace.graph.ops.convolution.bias import bias_add as _bias_add
from headrace.graph.ops.normalization.moments import (
    moments,
    normalize_moments,
    sufficient_statistics,
)
from headrace.graph.ops.normalization.normalization import batch_normalization
from headrace.graph.typing.aliases import (
    Collections,
    Initializer,
    Regularizer,
    ShapeLike,
    TensorLike,
)
from headrace.graph.variables.initializers import Ones, Zeros
from headrace.graph.variables.variable_scope import VariableScope, variable_scope

_ZEROS, _ONES = Zeros(), Ones()


@add_arg_scope
def bias_add(
    inputs: TensorLike,
    activation_fn: Callable[..., Any] | None = None,
    initializer: Initializer | None = _ZEROS,
    regularizer: Regularizer | None = None,
    reuse: bool | None = None,
    variables_collections: Collections | Mapping[str, Collections] | None = None,
    outputs_collections: Collections | None = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: str | VariableScope | None = None,
) -> Tensor:
    """Adds a bias to each channel.

    Args:
      initializer, regularizer: of the biases, as in get_variable.
      data_format: "NHWC", or "NCHW" for inputs of rank 4.
      the others: as in fully_connected.
    Raises: ValueError for another data_format, or an unknown rank or number of channels.
    """
    check_layout(data_format, "NHWC", "NCHW")
    with variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as entered:
        x = convert_to_tensor(inputs)
        rank = x.get_shape().ndims
        if rank is None:
            raise ValueError("Dims of shape must be known but is None")
        if rank != 4 and data_format == "NCHW":
            raise ValueError("Data format NCHW only supports 4D Tensor")
        channels = x.get_shape()[1 if data_format == "NCHW" else -1].value
        if channels is None:
            raise ValueError("`C` dimension must be known but is None")
        biases = channel_parameter(
            "biases", [channels], x.dtype.base_dtype, initializer, regularizer,
            variables_collections, trainable,
        )  # fmt: skip
        outputs = _bias_add(x, biases, data_format=data_format)
        return finish_layer(outputs, None, None, activation_fn, outputs_collections, entered.name)


def _beta_and_gamma(
    center: bool,
    scale: bool,
    shape: ShapeLike,
    dtype: Any,
    initializers: Mapping[str, Any] | None,
    collections: Any,
    trainable: bool,
) -> tuple[Any, Any]:
    given = initializers or {}
    beta = gamma = None
    if center:
        start = given.get("beta", _ZEROS)
        beta = channel_parameter("beta", shape, dtype, start, None, collections, trainable)
    if scale:
        start = given.get("gamma", _ONES)
        gamma = channel_parameter("gamma", shape, dtype, start, None, collections, trainable)
    return beta, gamma


@add_arg_scope
def layer_norm(
    inputs: TensorLike,
    center: bool = True,
    scale: bool = True,
    activation_fn: Callable[..., Any] | None = None,
    reuse: bool | None = None,
    variables_collections: Collections | Mapping[str, Collections] | None = None,
    outputs_collections: Collections | None = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: str | VariableScope | None = None,
) -> Tensor:
    """Normalises each example by its own mean and variance.

    Args:
      inputs: tensor of known rank.
      center: whether to add beta.
      scale: whether to multiply by gamma.
      begin_norm_axis: first of the axes over which mean and variance are taken.
      begin_params_axis: first of the axes that beta and gamma have; their sizes must be known.
      the others: as in fully_connected.
    Raises: ValueError for an unknown rank or size, or an axis out of range.
    Source: Ba et al. 2016.
    """
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as entered:
        x = convert_to_tensor(inputs)
        shape = x.get_shape()
        rank = shape.ndims
        if rank is None:
            raise ValueError(f"Inputs {x.name} has undefined rank.")
        dtype = x.dtype.base_dtype
        if begin_norm_axis < 0:
            begin_norm_axis += rank
        if begin_params_axis >= rank or begin_norm_axis >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin_norm_axis}) "
                f"must be < rank(inputs) ({rank})"
            )
        sizes = shape[begin_params_axis:]
        if not sizes.is_fully_defined():
            raise ValueError(
                f"Inputs {x.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: "
                f"{shape}"
            )
        beta, gamma = _beta_and_gamma(
            center, scale, sizes, dtype, None, variables_collections, trainable
        )
        mean, variance = moments(x, list(range(begin_norm_axis, rank)), keep_dims=True)
        epsilon = 1e-3 if dtype == as_dtype("float16") else 1e-12
        outputs = batch_normalization(x, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(shape)
        return finish_layer(outputs, None, None, activation_fn, outputs_collections, entered.name)


@add_arg_scope
def instance_norm(
    inputs: TensorLike,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Callable[..., Any] | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    reuse: bool | None = None,
    variables_collections: Collections | Mapping[str, Collections] | None = None,
    outputs_collections: Collections | None = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: str | VariableScope | None = None,
) -> Tensor:
    """Normalises each channel of each example by its own mean and variance.

    Args: as in batch_norm.
    Raises: ValueError for another data_format, or an unknown rank or number of channels.
    Source: Ulyanov et al. 2016.
    """
    x = convert_to_tensor(inputs)
    shape = x.get_shape()
    rank = shape.ndims
    if rank is None:
        raise ValueError(f"Inputs {x.name} has undefined rank.")
    is_first = check_layout(data_format, "NHWC", "NCHW") == "channels_first"
    with variable_scope(scope, "InstanceNorm", [x], reuse=reuse) as entered:
        axis = 1 if is_first else rank - 1
        channels = shape[axis].value
        if channels is None:
            raise ValueError(f"Inputs {x.name} has undefined channels dimension {shape}.")
        beta, gamma = _beta_and_gamma(
            center, scale, [channels], x.dtype.base_dtype, param_initializers,
            variables_collections, trainable,
        )  # fmt: skip
        if is_first:
            wide = [1, channels] + [1] * (rank - 2)
            beta, gamma = [v if v is None else op("Reshape", v, wide) for v in (beta, gamma)]
        axes = [i for i in range(1, rank) if i != axis]
        mean, variance = moments(x, axes, keep_dims=True)
        outputs = batch_normalization(x, mean, variance, beta, gamma, epsilon, name="instancenorm")
        return finish_layer(outputs, None, None, activation_fn, outputs_collections, entered.name)


@add_arg_scope
def group_norm(
    inputs: TensorLike,
    groups: int = 32,
    channels_axis: int = -1,
    reduction_axes: Sequence[int] = (-3, -2),
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Callable[..., Any] | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    reuse: bool | None = None,
    variables_collections: Collections | Mapping[str, Collections] | None = None,
    outputs_collections: Collections | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    mean_close_to_zero: bool = False,
) -> Tensor:
    """Normalises groups of channels of each example by their own mean and variance.

    Args:
      inputs: tensor of known rank.
      groups: number of groups, a divisor of the number of channels.
      channels_axis: axis of the channels.
      reduction_axes: the other axes over which mean and variance are taken; their sizes are known.
      mean_close_to_zero: compute the variance from the mean of the squares, in one pass.
      the others: as in batch_norm.
    Raises: ValueError for an unknown rank or size, an axis out of range, equal axes, or a number
      of groups that does not divide that of the channels.
    Source: Wu and He 2018.
    """
    x = convert_to_tensor(inputs)
    shape = x.get_shape()
    rank = shape.ndims
    if rank is None:
        raise ValueError(f"Inputs {x.name} has undefined rank.")
    axes = [a + rank if a < 0 else a for a in reduction_axes]
    axis = channels_axis + rank if channels_axis < 0 else channels_axis
    if any(not 0 <= a < rank for a in (axis, *axes)):
        raise ValueError("Axis is out of bounds.")
    if axis in axes:
        raise ValueError("reduction_axis must be mutually exclusive with channels_axis")
    sizes = shape.as_list()
    for a in (axis, *axes):
        if sizes[a] is None:
            raise ValueError(f"Inputs {x.name} has undefined dimensions {a}.")
    channels = int(sizes[axis] or 0)
    if groups > channels:
        raise ValueError(f"Invalid groups {groups} for {channels} channels.")
    if channels % groups:
        raise ValueError(f"{channels} channels is not commensurate with {groups} groups.")
    dynamic = op("Shape", x)
    around: list[Any] = [dynamic[i] if n is None else n for i, n in enumerate(sizes)]
    pair = [groups, channels // groups]
    apart = op("Reshape", x, op("Pack", [*around[:axis], *pair, *around[axis + 1 :]]))
    wide = [1] * axis + pair + [1] * (rank - axis - 1)
    with variable_scope(scope, "GroupNorm", [apart], reuse=reuse) as entered:
        beta, gamma = _beta_and_gamma(
            center, scale, [channels], x.dtype.base_dtype, param_initializers,
            variables_collections, trainable,
        )  # fmt: skip
        beta, gamma = [v if v is None else op("Reshape", v, wide) for v in (beta, gamma)]
        over = [axis + 1, *[a + 1 if a > axis else a for a in axes]]
        if mean_close_to_zero:
            count, total, squares, no_shift = sufficient_statistics(apart, over, keep_dims=True)
            mean, variance = normalize_moments(count, total, squares, no_shift)
        else:
            mean, variance = moments(apart, over, keep_dims=True)
        outputs = batch_normalization(apart, mean, variance, beta, gamma, epsilon, name="groupnorm")
        outputs = op("Reshape", outputs, op("Pack", around))
        outputs.set_shape(shape)
        return finish_layer(outputs, None, None, activation_fn, outputs_collections, entered.name)

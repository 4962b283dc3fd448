"""Batch normalisation with the options of contrib.layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.contrib.framework.arg_scope import add_arg_scope
from headrace.graph.contrib.layers.layer_variables import (
    add_to_collections,
    check_layout,
    model_variable_getter,
)
from headrace.graph.contrib.layers.named_outputs import collect_named_outputs
from headrace.graph.contrib.layers.norm_parameters import channel_parameter
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Tensor
from headrace.graph.layers.normalization import BatchNormalization
from headrace.graph.layers.smart_cond import known, smart_cond
from headrace.graph.ops.normalization.moments import moments, weighted_moments
from headrace.graph.ops.normalization.normalization import batch_normalization, fused_batch_norm
from headrace.graph.training.moving_averages import assign_moving_average
from headrace.graph.typing.aliases import Collections, TensorLike
from headrace.graph.variables.initializers import Ones, Zeros
from headrace.graph.variables.variable_scope import VariableScope, variable_scope

_ZEROS, _ONES = Zeros(), Ones()


@add_arg_scope
def batch_norm(
    inputs: TensorLike,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Callable[..., Any] | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    param_regularizers: Mapping[str, Any] | None = None,
    updates_collections: str | Collections | None = GraphKeys.UPDATE_OPS,
    is_training: bool | TensorLike = True,
    reuse: bool | None = None,
    variables_collections: Collections | Mapping[str, Collections] | None = None,
    outputs_collections: Collections | None = None,
    trainable: bool = True,
    batch_weights: TensorLike | None = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: str | VariableScope | None = None,
    renorm: bool = False,
    renorm_clipping: Mapping[str, TensorLike] | None = None,
    renorm_decay: float = 0.99,
    adjustment: Callable[..., Any] | None = None,
) -> Tensor:
    """Normalises each channel by batch statistics in training, and by moving averages otherwise.

    Args:
      inputs: [batch, ..., channels], or channels first by data_format, of known rank.
      decay: decay of the moving averages.
      center: whether to add beta.
      scale: whether to multiply by gamma.
      epsilon: added to the variance.
      activation_fn: function of the result; None for the identity.
      param_initializers: initializers by "beta", "gamma", "moving_mean" and "moving_variance".
      param_regularizers: regularizers by "beta" and "gamma".
      updates_collections: collections of the updates of the averages, which a training step must
        run; None makes the result depend on the updates.
      is_training: bool or scalar bool tensor.
      batch_weights: [batch]; weights of the examples in the statistics.
      fused: use FusedBatchNorm where possible; None also does.
      data_format: "NHWC" or "NCHW".
      zero_debias_moving_mean: correct the bias of a moving mean that initializers at zero.
      renorm, renorm_clipping, renorm_decay: batch renormalisation, as in hr.layers.
      adjustment: as in hr.layers.batch_normalization.
      the others: as in fully_connected.
    Raises: ValueError for another data_format, an unknown rank or number of channels, or renorm
      with batch_weights, updates_collections or zero_debias_moving_mean.
    Source: Ioffe and Szegedy 2015.
    """
    x = convert_to_tensor(inputs)
    layout = check_layout(data_format, "NHWC", "NCHW")
    rank = x.get_shape().ndims
    if rank is None:
        raise ValueError(f"Inputs {x.name} has undefined rank.")
    initializers, regularizers = dict(param_initializers or {}), dict(param_regularizers or {})
    by_layer = (
        batch_weights is None
        and updates_collections == GraphKeys.UPDATE_OPS
        and not zero_debias_moving_mean
    )
    one_op = fused is not False and batch_weights is None and not renorm and adjustment is None
    if one_op and (rank == 2 or (rank == 4 and not by_layer)):
        with variable_scope(scope, "BatchNorm", [x], reuse=reuse) as entered:
            parameters = _Parameters(
                x, data_format, center, scale, initializers, regularizers, variables_collections,
                trainable, is_fused=True,
            )  # fmt: skip
            outputs = _fused(
                x, parameters, decay, epsilon, updates_collections, is_training, data_format,
                zero_debias_moving_mean,
            )  # fmt: skip
            return _finished(outputs, activation_fn, outputs_collections, entered)
    with variable_scope(
        scope, "BatchNorm", [x], reuse=reuse, custom_getter=model_variable_getter()
    ) as entered:
        if by_layer:
            layer = BatchNormalization(
                axis=1 if layout == "channels_first" else -1,
                momentum=decay,
                epsilon=epsilon,
                center=center,
                scale=scale,
                beta_initializer=initializers.get("beta", _ZEROS),
                gamma_initializer=initializers.get("gamma", _ONES),
                moving_mean_initializer=initializers.get("moving_mean", _ZEROS),
                moving_variance_initializer=initializers.get("moving_variance", _ONES),
                beta_regularizer=regularizers.get("beta"),
                gamma_regularizer=regularizers.get("gamma"),
                trainable=trainable,
                renorm=renorm,
                renorm_clipping=renorm_clipping,
                renorm_momentum=renorm_decay,
                adjustment=adjustment,
                name=entered.name,
                _scope=entered,
                _reuse=reuse,
                fused=None if one_op else False,
            )
            outputs = layer.apply(x, training=is_training)
            for name in ("moving_mean", "moving_variance", "beta", "gamma"):
                if getattr(layer, name) is not None:
                    add_to_collections(getattr(layer, name), variables_collections, name)
            return _finished(outputs, activation_fn, outputs_collections, entered)
        if renorm:
            raise ValueError(
                "renorm is not supported with batch_weights, updates_collections or "
                "zero_debias_moving_mean"
            )
        # TensorFlow 1.15 has no losses of param_regularizers here.
        parameters = _Parameters(
            x, data_format, center, scale, initializers, {}, variables_collections, trainable
        )
        outputs = _by_moments(
            x, parameters, decay, epsilon, updates_collections, is_training, data_format,
            zero_debias_moving_mean, batch_weights,
        )  # fmt: skip
        return _finished(outputs, activation_fn, outputs_collections, entered)


def _finished(
    outputs: Tensor, activation_fn: Any, collections: Any, scope: VariableScope
) -> Tensor:
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    result: Tensor = collect_named_outputs(collections, scope.name, outputs)
    return result


class _Parameters:
    """The variables beta, gamma, moving_mean and moving_variance, each [channels]."""

    def __init__(
        self,
        x: Tensor,
        data_format: str,
        center: bool,
        scale: bool,
        initializers: Mapping[str, Any],
        regularizers: Mapping[str, Any],
        collections: Any,
        trainable: bool,
        is_fused: bool = False,
    ) -> None:
        self.channels = _channels(x, data_format)
        dtype = "float32" if is_fused else x.dtype.base_dtype

        def made(name: str, default: Any, trainable: bool) -> Any:
            return channel_parameter(
                name, [self.channels], dtype, initializers.get(name, default),
                regularizers.get(name), collections, trainable,
                is_average=not name.startswith(("beta", "gamma")),
            )  # fmt: skip

        self.beta = made("beta", _ZEROS, trainable) if center else None
        self.gamma = made("gamma", _ONES, trainable) if scale else None
        self.moving_mean = made("moving_mean", _ZEROS, False)
        self.moving_variance = made("moving_variance", _ONES, False)


def _channels(x: Tensor, data_format: str) -> int:
    size = x.get_shape()[1 if data_format == "NCHW" else -1].value
    if size is None:
        raise ValueError(f"Inputs {x.name} has undefined channels dimension {x.get_shape()}.")
    return int(size)


def _updates(
    parameters: _Parameters, mean: Any, variance: Any, decay: float, zero_debias: bool
) -> tuple[Any, Any]:
    return (
        assign_moving_average(parameters.moving_mean, mean, decay, zero_debias=zero_debias),
        assign_moving_average(parameters.moving_variance, variance, decay, zero_debias=False),
    )


def _forced(
    parameters: _Parameters,
    batch: tuple[Any, Any],
    results: list[Tensor],
    otherwise: list[Tensor],
    decay: float,
    is_training: Any,
    zero_debias: bool,
) -> list[Tensor]:
    """Returns the results behind the updates of the averages; outside of training, `otherwise`."""

    def updated() -> list[Tensor]:
        updates = _updates(parameters, *batch, decay, zero_debias)
        with get_default_graph().control_dependencies(list(updates)):
            return [op("Identity", t) for t in results]

    # a conditional returns a list of one as a tensor
    found = smart_cond(is_training, updated, lambda: otherwise)
    return [found] if isinstance(found, Tensor) else list(found)


def _collect_updates(
    parameters: _Parameters,
    batch: tuple[Any, Any],
    decay: float,
    collections: Any,
    is_training: Any,
    zero_debias: bool,
) -> None:
    """Adds the updates of the averages to collections; outside of training they change nothing."""
    updates = smart_cond(
        is_training,
        lambda: list(_updates(parameters, *batch, decay, zero_debias)),
        lambda: [
            convert_to_tensor(parameters.moving_mean),
            convert_to_tensor(parameters.moving_variance),
        ],
    )
    for update in updates:
        get_default_graph().add_to_collections(collections, update)


def _fused(
    x: Tensor,
    parameters: _Parameters,
    decay: float,
    epsilon: float,
    collections: Any,
    is_training: Any,
    data_format: str,
    zero_debias: bool,
) -> Tensor:
    """Normalises by FusedBatchNorm; inputs of rank 2 become images of one point."""
    channels, before = parameters.channels, x
    if x.get_shape().ndims == 2:
        x = op(
            "Reshape", x, [-1, channels, 1, 1] if data_format == "NCHW" else [-1, 1, 1, channels]
        )
    beta = _ZEROS([channels], "float32") if parameters.beta is None else parameters.beta
    gamma = _ONES([channels], "float32") if parameters.gamma is None else parameters.gamma

    def by_batch() -> Any:
        return fused_batch_norm(x, gamma, beta, epsilon=epsilon, data_format=data_format)

    def by_averages() -> Any:
        return fused_batch_norm(
            x,
            gamma,
            beta,
            mean=parameters.moving_mean,
            variance=parameters.moving_variance,
            epsilon=epsilon,
            is_training=False,
            data_format=data_format,
        )

    outputs, mean, variance = smart_cond(is_training, by_batch, by_averages)
    batch = (mean, variance)
    if known(is_training) is not False and collections is None:
        (outputs,) = _forced(
            parameters, batch, [outputs], [outputs], decay, is_training, zero_debias
        )
    elif known(is_training) is not False:
        _collect_updates(parameters, batch, decay, collections, is_training, zero_debias)
    outputs.set_shape(x.get_shape())
    if before is not x:
        outputs = op("Reshape", outputs, op("Shape", before))
        outputs.set_shape(before.get_shape())
    result: Tensor = outputs
    return result


def _by_moments(
    x: Tensor,
    parameters: _Parameters,
    decay: float,
    epsilon: float,
    collections: Any,
    is_training: Any,
    data_format: str,
    zero_debias: bool,
    batch_weights: Any,
) -> Tensor:
    """Normalises by the moments of the batch, optionally weighted."""
    rank = len(x.get_shape().as_list())
    is_first = data_format == "NCHW"
    axes = [0, *range(2, rank)] if is_first else list(range(rank - 1))
    averages = [
        convert_to_tensor(parameters.moving_mean),
        convert_to_tensor(parameters.moving_variance),
    ]
    if known(is_training) is False:
        mean, variance = averages
    else:
        if batch_weights is None:
            mean, variance = moments(x, axes)
        else:
            weights = convert_to_tensor(batch_weights)
            x.get_shape()[:1].assert_is_compatible_with(weights.get_shape())
            weights = op("Reshape", weights, [-1] + [1] * (rank - 1))
            mean, variance = weighted_moments(x, axes, weights)
        batch = (mean, variance)
        if collections is None:
            mean, variance = _forced(
                parameters, batch, [mean, variance], averages, decay, is_training, zero_debias
            )
        else:
            _collect_updates(parameters, batch, decay, collections, is_training, zero_debias)
            mean, variance = smart_cond(is_training, lambda: batch, lambda: tuple(averages))
    values: list[Any] = [mean, variance, parameters.beta, parameters.gamma]
    if is_first:
        wide = [1, parameters.channels] + [1] * (rank - 2)
        values = [None if v is None else op("Reshape", v, wide) for v in values]
    mean, variance, beta, gamma = values
    outputs = batch_normalization(x, mean, variance, beta, gamma, epsilon)
    outputs.set_shape(x.get_shape())
    return outputs

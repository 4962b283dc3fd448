"""optimize_loss: a training operation with clipping, noise, multipliers and summaries."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import IndexedSlices
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import with_dependencies
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.ops.assertions import assert_scalar
from headrace.graph.ops.clipping import clip_by_global_norm, global_norm
from headrace.graph.ops.random.random import truncated_normal
from headrace.graph.optimizers.adaptive import (
    AdagradOptimizer,
    AdamOptimizer,
    FtrlOptimizer,
    RMSPropOptimizer,
)
from headrace.graph.optimizers.gradient_descent import GradientDescentOptimizer, MomentumOptimizer
from headrace.graph.optimizers.optimizer import Optimizer
from headrace.graph.summary.summaries import histogram, scalar
from headrace.graph.training.global_step import assert_global_step, get_global_step
from headrace.graph.training.moving_averages import assign_moving_average
from headrace.graph.typing.aliases import TensorLike, VariableLike
from headrace.graph.variables.get_variable import get_variable
from headrace.graph.variables.initializers import Constant, Zeros
from headrace.graph.variables.variable_collections import trainable_variables
from headrace.graph.variables.variable_scope import variable_scope

OPTIMIZER_CLS_NAMES: dict[str, Callable[..., Optimizer]] = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "Momentum": lambda learning_rate: MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES = [
    "learning_rate",
    "loss",
    "gradients",
    "gradient_norm",
    "global_gradient_norm",
]

_Pairs = list[tuple[Any, Any]]


def optimize_loss(
    loss: TensorLike,
    global_step: VariableLike | Tensor | None,
    learning_rate: float | Tensor | None,
    optimizer: str | type | Optimizer | Callable[..., Optimizer],
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Mapping[Any, float] | None = None,
    clip_gradients: float | Callable[[_Pairs], _Pairs] | None = None,
    learning_rate_decay_fn: Callable[[Any, Any], Any] | None = None,
    update_ops: Sequence[Operation | Tensor] | None = None,
    variables: Sequence[VariableLike] | None = None,
    name: str | None = None,
    summaries: Sequence[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Tensor:
    """Adds the operations of a training step, and returns the loss behind them.

    Args:
      loss: scalar.
      global_step: counter of steps; None takes that of the graph.
      learning_rate: float or scalar tensor; None if the optimizer has its own.
      optimizer: name in OPTIMIZER_CLS_NAMES, class, instance, or function of the learning rate.
      gradient_noise_scale: standard deviation of normal noise, relative to the clipped gradients.
      gradient_multipliers: factors of gradients, by variable or name.
      clip_gradients: bound of the global norm, or a function of (gradient, variable) pairs.
      learning_rate_decay_fn: `f(learning_rate, global_step)`.
      update_ops: operations to run before the loss; None takes GraphKeys.UPDATE_OPS.
      variables: variables to update; None takes all trainable ones.
      name: variable scope.
      summaries: names in OPTIMIZER_SUMMARIES; None means loss, learning_rate and
        global_gradient_norm.
      colocate_gradients_with_ops: as in hr.gradients.
      increment_global_step: whether the step increments global_step.
    Returns: the loss, [], after the update.
    Raises: ValueError for a learning rate, optimizer, summary or clip_gradients of another kind.
    """
    loss = assert_scalar(convert_to_tensor(loss))
    if global_step is None:
        global_step = get_global_step()
    else:
        assert_global_step(global_step)
    if summaries is None:
        summaries = ["loss", "learning_rate", "global_gradient_norm"]
    for summary in summaries:
        if summary not in OPTIMIZER_SUMMARIES:
            raise ValueError(
                f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided "
                f"{summary}."
            )
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        if update_ops is None:
            update_ops = get_default_graph().get_collection(GraphKeys.UPDATE_OPS)
        if update_ops:
            loss = with_dependencies(list(dict.fromkeys(update_ops)), loss)
        rate = _learning_rate(learning_rate)
        if learning_rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                raise ValueError("global_step is required for learning_rate_decay_fn.")
            rate = learning_rate_decay_fn(rate, global_step)
            if "learning_rate" in summaries:
                scalar("learning_rate", rate)
        chosen = _optimizer(optimizer, rate)
        pairs = chosen.compute_gradients(
            loss,
            trainable_variables() if variables is None else list(variables),
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        pairs = _changed(
            pairs, gradient_noise_scale, gradient_multipliers, clip_gradients, summaries
        )
        if "loss" in summaries:
            scalar("loss", loss)
        _summarize(pairs, summaries, clip_gradients is not None)
        step: Any = global_step if increment_global_step else None
        update = chosen.apply_gradients(pairs, global_step=step, name="train")
        result: Tensor = with_dependencies([update], loss)
        return result


def _learning_rate(learning_rate: Any) -> Any:
    if learning_rate is None:
        return None
    if isinstance(learning_rate, Tensor) and learning_rate.get_shape().ndims == 0:
        return learning_rate
    if not isinstance(learning_rate, float):
        raise ValueError(
            f"Learning rate should be 0d Tensor or float. Got {learning_rate} of type "
            f"{type(learning_rate)}"
        )
    if learning_rate < 0.0:
        raise ValueError(f"Invalid learning_rate {learning_rate}.")
    return get_variable("learning_rate", [], trainable=False, initializer=Constant(learning_rate))


def _optimizer(given: Any, rate: Any) -> Optimizer:
    what = "string" if isinstance(given, str) else "class"
    if isinstance(given, str) or (isinstance(given, type) and issubclass(given, Optimizer)):
        if rate is None:
            raise ValueError(
                f"Learning rate is None, but should be specified if optimizer is {what} ({given})."
            )
        if isinstance(given, str) and given not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided "
                f"{given}."
            )
        make: Any = OPTIMIZER_CLS_NAMES[given] if isinstance(given, str) else given
        made: Optimizer = make(learning_rate=rate)
        return made
    if isinstance(given, Optimizer):
        return given
    if not callable(given):
        raise ValueError(
            "Unrecognized optimizer: should be string, subclass of Optimizer, instance of subclass "
            f"of Optimizer or function with one argument. Got {given}."
        )
    result = given() if rate is None else given(rate)
    if not isinstance(result, Optimizer):
        raise ValueError(
            f"Unrecognized optimizer: function should return subclass of Optimizer. Got {result}."
        )
    return result


def _with_values(gradient: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(change(gradient.values), gradient.indices, gradient.dense_shape)
    return change(gradient)


def _changed(
    pairs: _Pairs, noise: Any, multipliers: Any, clip: Any, summaries: Sequence[str]
) -> _Pairs:
    """Returns the gradients with noise, multiplied and clipped."""
    if noise is not None:
        pairs = [
            (g if g is None else _with_values(g, lambda t: t + _noise(t, noise)), v)
            for g, v in pairs
        ]
    if multipliers is not None:
        pairs = _multiplied(pairs, multipliers)
        if not pairs:
            raise ValueError(
                "Empty list of (gradient, var) pairs encountered. This is most likely to be caused "
                "by an improper value of gradient_multipliers."
            )
    if "global_gradient_norm" in summaries or "gradient_norm" in summaries:
        scalar("global_norm/gradient_norm", global_norm([g for g, _ in pairs]))
    if isinstance(clip, float):
        clipped, _ = clip_by_global_norm([g for g, _ in pairs], clip)
        return list(zip(clipped, [v for _, v in pairs]))
    if callable(clip):
        return clip(pairs)
    if clip is not None:
        raise ValueError(f"Unknown type {type(clip)} for clip_gradients")
    return pairs


def _noise(values: Tensor, scale: float) -> Tensor:
    return truncated_normal(op("Shape", values), dtype=values.dtype.base_dtype) * scale


def _multiplied(pairs: _Pairs, multipliers: Mapping[Any, float]) -> _Pairs:
    found = []
    for gradient, variable in pairs:
        key = variable if variable in multipliers else variable.name
        if gradient is not None and key in multipliers:
            factor = convert_to_tensor(multipliers[key], dtype=gradient.dtype)
            gradient = _with_values(gradient, functools.partial(op, "Mul", factor))
        if gradient is not None:
            found.append((gradient, variable))
    return found


def _summarize(pairs: _Pairs, summaries: Sequence[str], is_clipped: bool) -> None:
    for gradient, variable in pairs:
        if gradient is None:
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        name = variable.name.replace(":", "_")
        if "gradients" in summaries:
            histogram(f"gradients/{name}", values)
        if "gradient_norm" in summaries:
            scalar(f"gradient_norm/{name}", global_norm([values]))
    if is_clipped and ("global_gradient_norm" in summaries or "gradient_norm" in summaries):
        scalar("global_norm/clipped_gradient_norm", global_norm([g for g, _ in pairs]))


def adaptive_clipping_fn(
    std_factor: float = 2.0,
    decay: float = 0.95,
    static_max_norm: float | None = None,
    global_step: VariableLike | Tensor | None = None,
    report_summary: bool = False,
    epsilon: float = 1e-8,
    name: str | None = None,
) -> Callable[[_Pairs], _Pairs]:
    """Returns a function that clips gradients by a moving average of the logarithm of their norm.

    Args:
      std_factor: a norm above exp(mean + std_factor * deviation) is scaled to exp(mean).
      decay: decay of the averages.
      static_max_norm: bound of the norm in addition.
      global_step: if given, the averages adapt faster in the first steps.
      report_summary: add summaries of the bound and the average.
      epsilon: added to the norm.
      name: variable scope.
    Source: Chorowski et al. 2014, section 3.2.1.
    """

    def clip(pairs: _Pairs) -> _Pairs:
        gradients = [g for g, _ in pairs]
        norm = global_norm(gradients)
        bound, log_mean = _adaptive_bound(norm, std_factor, decay, global_step, epsilon, name)
        if report_summary:
            scalar("global_norm/adaptive_max_gradient_norm", bound)
        factor = op("Select", norm < bound, op("OnesLike", norm), op("Exp", log_mean) / norm)
        if static_max_norm is not None:
            factor = op("Minimum", static_max_norm / norm, factor)

        def scaled(t: Tensor) -> Tensor:
            return t * op("Cast", factor, DstT=t.dtype.base_dtype)

        return [(g if g is None else _with_values(g, scaled), v) for g, v in pairs]

    return clip


def _adaptive_bound(
    norm: Tensor, std_factor: float, decay: Any, global_step: Any, epsilon: float, name: str | None
) -> tuple[Tensor, Tensor]:
    with variable_scope(name, "AdaptiveMaxNorm", [norm]):
        log_norm = op("Log", norm + epsilon)
        if global_step is not None:
            steps = op("Cast", convert_to_tensor(global_step), DstT="float32")
            decay = op("Minimum", decay, steps / (steps + 1.0))

        def average(name: str, value: Tensor) -> Tensor:
            variable = get_variable(
                name,
                shape=value.get_shape(),
                dtype=value.dtype.base_dtype,
                initializer=Zeros(),
                trainable=False,
            )
            moved = assign_moving_average(variable, value, decay, zero_debias=False)
            return convert_to_tensor(moved)

        mean = average("mean", log_norm)
        squares = average("sq_mean", op("Square", log_norm))
        deviation = op("Sqrt", op("Maximum", epsilon, squares - op("Square", mean)))
        return op("Exp", mean + std_factor * deviation), mean

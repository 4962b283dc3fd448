"""Learning rate schedules: functions of the global step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.formats.dtypes import float32
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import TensorLike

if TYPE_CHECKING:
    from headrace.graph.variables.variable import Variable


def _operands(rate: Any, step: Any, *others: Any) -> list[Tensor]:
    """Converts the rate and the other operands to tensors of the dtype of the rate."""
    rate = convert_to_tensor(rate, name="learning_rate")
    dtype = rate.dtype.base_dtype
    if step is None:
        raise ValueError("global_step is required")
    step = convert_to_tensor(step)
    result = [rate, op("Cast", step, DstT=dtype)]
    for value in others:
        value = convert_to_tensor(value)
        result.append(value if value.dtype.base_dtype is dtype else op("Cast", value, DstT=dtype))
    return result


def exponential_decay(
    learning_rate: TensorLike,
    global_step: Variable,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes learning_rate * decay_rate ^ (global_step / decay_steps).

    Args:
      learning_rate: initial rate, a scalar.
      global_step: scalar.
      decay_steps: scalar above 0.
      decay_rate: scalar.
      staircase: round the quotient down.
    Returns: a scalar of the dtype of learning_rate.
    Raises: ValueError without global_step.
    """
    with name_scope(name or "ExponentialDecay"):
        rate, step, steps, decay = _operands(learning_rate, global_step, decay_steps, decay_rate)
        passed = step / steps
        return rate * op("Pow", decay, op("Floor", passed) if staircase else passed)


def natural_exp_decay(
    learning_rate: TensorLike,
    global_step: Variable,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes learning_rate * exp(-decay_rate * global_step / decay_steps).

    Args and errors: as in exponential_decay.
    """
    with name_scope(name or "NaturalExpDecay"):
        rate, step, steps, decay = _operands(learning_rate, global_step, decay_steps, decay_rate)
        passed = step / steps
        return rate * op("Exp", -decay * (op("Floor", passed) if staircase else passed))


def inverse_time_decay(
    learning_rate: TensorLike,
    global_step: Variable,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes learning_rate / (1 + decay_rate * global_step / decay_steps).

    Args and errors: as in exponential_decay.
    """
    with name_scope(name or "InverseTimeDecay"):
        rate, step, steps, decay = _operands(learning_rate, global_step, decay_steps, decay_rate)
        passed = step / steps
        count_nodes(1)
        return rate / (
            op("OnesLike", rate) + decay * (op("Floor", passed) if staircase else passed)
        )


def polynomial_decay(
    learning_rate: TensorLike,
    global_step: Variable,
    decay_steps: TensorLike,
    end_learning_rate: TensorLike = 0.0001,
    power: TensorLike = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """Decays from learning_rate to end_learning_rate over decay_steps, by (1 - t)^power.

    Args:
      cycle: restart with a multiple of decay_steps after each period.
      the others: as in exponential_decay.
    Raises: as exponential_decay.
    """
    with name_scope(name or "PolynomialDecay"):
        rate, step, steps, end, power = _operands(
            learning_rate, global_step, decay_steps, end_learning_rate, power
        )
        count_nodes(8 if cycle else not isinstance(decay_steps, Tensor))
        if cycle:
            rounds = op("Maximum", op("Ceil", step / steps), op("OnesLike", step))
            steps = steps * rounds
        else:
            step = op("Minimum", step, steps)
        return (rate - end) * op("Pow", op("OnesLike", rate) - step / steps, power) + end


def cosine_decay(
    learning_rate: TensorLike,
    global_step: Variable,
    decay_steps: TensorLike,
    alpha: TensorLike = 0.0,
    name: str | None = None,
) -> Tensor:
    """Decays along half a cosine to alpha * learning_rate. Source: Loshchilov and Hutter 2016."""
    with name_scope(name or "CosineDecay"):
        rate, step, steps, alpha = _operands(learning_rate, global_step, decay_steps, alpha)
        dtype = rate.dtype.base_dtype
        half, pi = constant(0.5, dtype=dtype), constant(math.pi, dtype=dtype)
        one = constant(1.0, dtype=dtype)
        cosine = half * (one + op("Cos", pi * op("Minimum", step, steps) / steps))
        return rate * ((one - alpha) * cosine + alpha)


def piecewise_constant(
    x: TensorLike,
    boundaries: Sequence[TensorLike],
    values: Sequence[TensorLike],
    name: str | None = None,
) -> Tensor:
    """Returns values[0] for x <= boundaries[0], values[1] for x <= boundaries[1], ...

    Raises: ValueError unless there is one more value than boundaries.
    """
    if len(values) != len(boundaries) + 1:
        raise ValueError(
            f"piecewise_constant: {len(boundaries)} boundaries need "
            f"{len(boundaries) + 1} values, got {len(values)}"
        )
    with name_scope(name or "PiecewiseConstant"):
        x = convert_to_tensor(x)
        pieces = len(boundaries)
        casts = x.dtype.base_dtype.name == "int64" and not isinstance(boundaries[0], Tensor)
        # TensorFlow 1.15 has a case of predicates.
        count_nodes(pieces * (pieces + 9) + 25 + pieces * casts)
        result = convert_to_tensor(values[-1])
        _check_pieces(x, boundaries, values)
        for boundary, value in reversed(list(zip(boundaries, values[:-1], strict=True))):
            limit = convert_to_tensor(boundary, dtype=x.dtype.base_dtype)
            result = op(
                "SelectV2",
                op("LessEqual", x, limit),
                convert_to_tensor(value, dtype=result.dtype.base_dtype),
                result,
            )
        return result


def _check_pieces(x: Tensor, boundaries: Any, values: Any) -> None:
    """Checks the dtypes of the arguments of piecewise_constant. Raises: ValueError."""
    if x.dtype.is_integer and any(isinstance(b, float) for b in boundaries):
        raise ValueError(f"Boundaries ({float32}) must have the same dtype as x ({x.dtype}).")
    kinds = [type(v) for v in values if isinstance(v, (int, float))]
    if len(set(kinds)) > 1:
        raise ValueError(
            f"Values must have elements all with the same dtype ({kinds[0]} vs another)."
        )


piecewise_constant_decay = piecewise_constant


def cosine_decay_restarts(
    learning_rate: TensorLike,
    global_step: Variable,
    first_decay_steps: TensorLike,
    t_mul: TensorLike = 2.0,
    m_mul: TensorLike = 1.0,
    alpha: TensorLike = 0.0,
    name: str | None = None,
) -> Tensor:
    """Restarts cosine_decay periodically.

    Args:
      first_decay_steps: number of steps of the first period.
      t_mul: ratio of the lengths of successive periods.
      m_mul: ratio of the initial rates of successive periods.
      alpha: minimum rate as a fraction of learning_rate.
    Source: Loshchilov and Hutter 2016.
    """
    with name_scope(name or "SGDRDecay"):
        rate, step, first, times, lower, alpha = _operands(
            learning_rate, global_step, first_decay_steps, t_mul, m_mul, alpha
        )
        one = op("OnesLike", rate)
        count_nodes(12)  # a conditional
        passed = step / first
        # the index of the period, and the completed fraction of it; periods may have equal lengths
        log = op("Log", one - passed * (one - times)) / op("Log", times)
        longer = op("Floor", log)
        before = (one - op("Pow", times, longer)) / (one - times)
        in_longer = (passed - before) / op("Pow", times, longer)
        equal = op("Equal", times, one)
        period = op("SelectV2", equal, op("Floor", passed), longer)
        fraction = op("SelectV2", equal, passed - op("Floor", passed), in_longer)
        half, pi = _half_and_pi(rate)
        cosine = half * op("Pow", lower, period) * (one + op("Cos", pi * fraction))
        return rate * ((one - alpha) * cosine + alpha)


def _half_and_pi(rate: Tensor) -> tuple[Tensor, Tensor]:
    dtype = rate.dtype.base_dtype
    return constant(0.5, dtype=dtype), constant(math.pi, dtype=dtype)


def linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: Variable,
    decay_steps: TensorLike,
    num_periods: TensorLike = 0.5,
    alpha: TensorLike = 0.0,
    beta: TensorLike = 0.001,
    name: str | None = None,
) -> Tensor:
    """Computes learning_rate * ((alpha + linear) * cosine + beta). Source: Bello et al. 2017."""
    with name_scope(name or "LinearCosineDecay"):
        rate, step, steps, periods, alpha, beta = _operands(
            learning_rate, global_step, decay_steps, num_periods, alpha, beta
        )
        linear, cosine = _linear_and_cosine(rate, step, steps, periods)
        return rate * ((alpha + linear) * cosine + beta)


def _linear_and_cosine(
    rate: Tensor, step: Tensor, steps: Tensor, periods: Tensor
) -> tuple[Tensor, Tensor]:
    """Returns the linear decay and the cosine."""
    step = op("Minimum", step, steps)
    half, pi = _half_and_pi(rate)
    one, two = op("OnesLike", rate), constant(2.0, dtype=rate.dtype.base_dtype)
    cosine = half * (one + op("Cos", pi * two * periods * step / steps))
    return (steps - step) / steps, cosine


def noisy_linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: Variable,
    decay_steps: TensorLike,
    initial_variance: TensorLike = 1.0,
    variance_decay: TensorLike = 0.55,
    num_periods: TensorLike = 0.5,
    alpha: TensorLike = 0.0,
    beta: TensorLike = 0.001,
    name: str | None = None,
) -> Tensor:
    """Computes linear_cosine_decay with normal noise on the linear part.

    The variance of the noise is initial_variance / (1 + global_step)^variance_decay.
    Source: Bello et al. 2017.
    """
    from headrace.graph.ops.random.random import random_normal

    with name_scope(name or "NoisyLinearCosineDecay"):
        rate, step, steps, variance, decay, periods, alpha, beta = _operands(
            learning_rate,
            global_step,
            decay_steps,
            initial_variance,
            variance_decay,
            num_periods,
            alpha,
            beta,
        )
        step = op("Minimum", step, steps)
        linear, cosine = _linear_and_cosine(rate, step, steps, periods)
        spread = variance / op("Pow", op("OnesLike", step) + step, decay)
        noise = random_normal(op("Shape", linear), dtype=rate.dtype.base_dtype)
        return rate * ((alpha + linear + noise * op("Sqrt", spread)) * cosine + beta)

"""Learning rates that change with the step: tensors of the global step."""

from __future__ import annotations

import math
from typing import Any

from headrace.graph.conversion import constant, convert_to_tensor
from headrace.graph.op_builder import op
from headrace.graph.operation import Tensor
from headrace.graph.scopes import name_scope


def _operands(rate: Any, step: Any, *others: Any) -> list[Tensor]:
    """The rate, then the others, as tensors of the rate's dtype."""
    rate = convert_to_tensor(rate, name="learning_rate")
    dtype = rate.dtype.base_dtype
    if step is None:
        raise ValueError("global_step is required")
    step = convert_to_tensor(step)
    made = [rate, op("Cast", step, DstT=dtype)]
    for value in others:
        value = convert_to_tensor(value)
        made.append(value if value.dtype.base_dtype is dtype else op("Cast", value, DstT=dtype))
    return made


def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """learning_rate * decay_rate ^ (global_step / decay_steps); staircase: of whole quotients."""
    with name_scope(name or "ExponentialDecay"):
        rate, step, steps, decay = _operands(learning_rate, global_step, decay_steps, decay_rate)
        passed = step / steps
        return rate * op("Pow", decay, op("Floor", passed) if staircase else passed)


def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """learning_rate * exp(-decay_rate * global_step / decay_steps)."""
    with name_scope(name or "NaturalExpDecay"):
        rate, step, steps, decay = _operands(learning_rate, global_step, decay_steps, decay_rate)
        passed = step / steps
        return rate * op("Exp", -decay * (op("Floor", passed) if staircase else passed))


def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """learning_rate / (1 + decay_rate * global_step / decay_steps)."""
    with name_scope(name or "InverseTimeDecay"):
        rate, step, steps, decay = _operands(learning_rate, global_step, decay_steps, decay_rate)
        passed = step / steps
        return rate / (
            op("OnesLike", rate) + decay * (op("Floor", passed) if staircase else passed)
        )


def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """From learning_rate to end_learning_rate over decay_steps, along (1 - t)^power."""
    with name_scope(name or "PolynomialDecay"):
        rate, step, steps, end, power = _operands(
            learning_rate, global_step, decay_steps, end_learning_rate, power
        )
        if cycle:
            rounds = op("Maximum", op("Ceil", step / steps), op("OnesLike", step))
            steps = steps * rounds
        else:
            step = op("Minimum", step, steps)
        return (rate - end) * op("Pow", op("OnesLike", rate) - step / steps, power) + end


def cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """Down half a cosine to alpha * learning_rate. Source: Loshchilov and Hutter 2016."""
    with name_scope(name or "CosineDecay"):
        rate, step, steps, alpha = _operands(learning_rate, global_step, decay_steps, alpha)
        dtype = rate.dtype.base_dtype
        half, pi = constant(0.5, dtype=dtype), constant(math.pi, dtype=dtype)
        one = constant(1.0, dtype=dtype)
        cosine = half * (one + op("Cos", pi * op("Minimum", step, steps) / steps))
        return rate * ((one - alpha) * cosine + alpha)


def piecewise_constant(x: Any, boundaries: Any, values: Any, name: str | None = None) -> Tensor:
    """values[0] while x <= boundaries[0], then values[1] while x <= boundaries[1], ...

    Raises: ValueError where there is not one value more than boundaries.
    """
    if len(values) != len(boundaries) + 1:
        raise ValueError(
            f"piecewise_constant: {len(boundaries)} boundaries need "
            f"{len(boundaries) + 1} values, got {len(values)}"
        )
    with name_scope(name or "PiecewiseConstant"):
        x = convert_to_tensor(x)
        made = convert_to_tensor(values[-1])
        for boundary, value in reversed(list(zip(boundaries, values[:-1], strict=True))):
            limit = convert_to_tensor(boundary, dtype=x.dtype.base_dtype)
            made = op(
                "SelectV2",
                op("LessEqual", x, limit),
                convert_to_tensor(value, dtype=made.dtype.base_dtype),
                made,
            )
        return made

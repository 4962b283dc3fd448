"""Xavier and variance scaling initializers of contrib.layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.ops.random.random import random_uniform, truncated_normal
from headrace.graph.typing.aliases import DTypeLike
from headrace.graph.variables.initializers import fans


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: DTypeLike = "float32",
) -> Callable[..., Any]:
    """Returns an initializer whose variance depends on the size of a weight.

    The variance is factor / n, with n = fan in, fan out or their mean.

    Args:
      factor: a positive number.
      mode: "FAN_IN", "FAN_OUT" or "FAN_AVG".
      uniform: sample from a uniform distribution instead of a truncated normal one.
      seed: seed of the values.
      dtype: default dtype, floating point.
    Raises: TypeError for another dtype or mode.
    Source: He et al. 2015 (2, FAN_IN), Glorot and Bengio 2010 (1, FAN_AVG, uniform).
    """
    if not as_dtype(dtype).is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")

    def initializer(shape: Any, dtype: DTypeLike | None = dtype, partition_info: Any = None) -> Any:
        if dtype is None or not as_dtype(dtype).is_floating:
            raise TypeError("Cannot create initializer for non-floating point type.")
        fan_in, fan_out = fans(shape)  # of the part, where the variable is partitioned
        n = {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2.0}[mode]
        if uniform:
            limit = math.sqrt(3.0 * factor / n)
            return random_uniform(shape, -limit, limit, dtype, seed=seed)
        # a truncated normal distribution has a smaller deviation than its parameter
        return truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / n), dtype, seed=seed)

    return initializer


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: DTypeLike = "float32"
) -> Callable[..., Any]:
    """Returns an initializer with variance 2 / (fan in + fan out).

    Args: as in variance_scaling_initializer. Source: Glorot and Bengio 2010.
    """
    return variance_scaling_initializer(
        factor=1.0, mode="FAN_AVG", uniform=uniform, seed=seed, dtype=dtype
    )


xavier_initializer_conv2d = xavier_initializer

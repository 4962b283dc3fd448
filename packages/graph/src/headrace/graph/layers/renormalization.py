"""Batch renormalisation: corrects batch statistics towards the moving averages in training."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import identity
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import control_dependencies
from headrace.graph.layers.smart_cond import smart_cond
from headrace.graph.typing.aliases import TensorLike

_KEYS = ("rmax", "rmin", "dmax")


class Renormalization:
    """Moving averages of batch renormalisation, and the correction of a batch.

    Args:
      clipping: bounds of the correction, a dict with the keys "rmax", "rmin" and "dmax"; or None.
      momentum: decay of the moving averages.
      epsilon: epsilon of the layer.
    Raises: ValueError for other keys.
    Source: Ioffe 2017.
    """

    def __init__(self, clipping: Any, momentum: float, epsilon: float) -> None:
        self.clipping = dict(clipping or {})
        if set(self.clipping) - set(_KEYS):
            raise ValueError(
                f"Received invalid keys for `renorm_clipping` argument: {self.clipping}. "
                f"Supported values: {_KEYS}."
            )
        self.momentum = momentum
        self.epsilon = epsilon
        self.moving_stddev: Any = None
        self.mean: Any = None
        self.stddev: Any = None

    def build(
        self, average: Callable[..., Any], shape: list[int], of_mean: Any, of_variance: Any
    ) -> None:
        """Creates the moving averages by `average(name, shape, initializer)`."""

        def of_stddev(shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
            return op("Sqrt", of_variance(shape, dtype=dtype))

        self.moving_stddev = average("moving_stddev", shape, of_stddev)
        self.mean = average("renorm_mean", shape, of_mean)
        self.stddev = average("renorm_stddev", shape, of_stddev)

    def correction(
        self, mean: Tensor, variance: Tensor, training: bool | TensorLike, move: Callable[..., Any]
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Returns factor and term that correct a normalised batch; 1 and 0 without training.

        Args:
          mean, variance: statistics of the batch.
          training: bool or scalar bool tensor.
          move: `f(variable, value, momentum)`, which updates a moving average.
        Returns: (factor, term, mean, variance); mean and variance depend on the updates.
        """
        kind = mean.dtype.base_dtype
        small = constant(math.sqrt(self.epsilon), dtype=kind)
        stddev = op("Sqrt", variance + constant(self.epsilon, dtype=kind))
        known = op("Maximum", self.stddev, small)
        factor = stddev / known
        term = (mean - self.mean) / known
        # the correction uses the averages before the update
        with control_dependencies([factor, term]):
            now_mean, now_stddev = identity(mean), identity(stddev)
        bound = {k: constant(float(v), dtype=kind) if isinstance(v, (int, float)) else v
                 for k, v in self.clipping.items()}  # fmt: skip
        if "rmin" in bound:
            factor = op("Maximum", factor, bound["rmin"])
        if "rmax" in bound:
            factor = op("Minimum", factor, bound["rmax"])
        if "dmax" in bound:
            term = op("Minimum", op("Maximum", term, -bound["dmax"]), bound["dmax"])
        factor = smart_cond(training, lambda: factor, lambda: op("OnesLike", factor))
        term = smart_cond(training, lambda: term, lambda: op("ZerosLike", term))

        def moved(variable: Any, value: Tensor) -> Any:
            return smart_cond(
                training,
                lambda: move(variable, value, self.momentum),
                lambda: identity(variable.value()),
            )

        moves = [moved(self.mean, now_mean), moved(self.stddev, now_stddev)]
        with control_dependencies(moves):
            after = identity(mean), identity(variance)
        return op("StopGradient", factor), op("StopGradient", term), *after

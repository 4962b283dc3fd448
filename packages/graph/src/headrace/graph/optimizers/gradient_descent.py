"""Gradient descent with and without momentum."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.optimizers.optimizer import Optimizer, _is_resource, _reference, hyper
from headrace.graph.typing.aliases import TensorLike


class GradientDescentOptimizer(Optimizer):
    """Gradient descent: var -= learning_rate * gradient."""

    _update_op = "ApplyGradientDescent"

    def __init__(
        self, learning_rate: TensorLike, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _prepare(self) -> None:
        self._rate = hyper(self._learning_rate, "learning_rate")

    def _arguments(self, var: Any, grad: Tensor, sparse: bool) -> list[Any]:
        return [self._rate, grad]

    def _apply(self, var: Any, grad: Tensor, indices: Tensor | None) -> Operation:
        if indices is None:
            return super()._apply(var, grad, None)
        rate = self._rate
        if rate.dtype.base_dtype is not grad.dtype.base_dtype:
            rate = op("Cast", rate, DstT=grad.dtype.base_dtype)
        if _is_resource(var):
            return op("ResourceScatterAdd", var.handle, indices, -grad * rate)
        return op(
            "ScatterSub", _reference(var), indices, grad * rate, use_locking=self._use_locking
        ).op


class MomentumOptimizer(Optimizer):
    """Momentum: accum = momentum * accum + gradient; var -= learning_rate * accum.

    With use_nesterov=True the step is learning_rate * (gradient + momentum * accum).

    Source: Sutskever et al. 2013.
    """

    _update_op = "ApplyMomentum"
    _slot_names = ("momentum",)

    def __init__(
        self,
        learning_rate: TensorLike,
        momentum: TensorLike,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._rate = hyper(self._learning_rate, "learning_rate")
        self._momentum_tensor = hyper(self._momentum, "momentum")

    def _arguments(self, var: Any, grad: Tensor, sparse: bool) -> list[Any]:
        return [self._rate, grad, self._momentum_tensor]

    def _attributes(self) -> dict[str, Any]:
        return {"use_nesterov": self._use_nesterov}

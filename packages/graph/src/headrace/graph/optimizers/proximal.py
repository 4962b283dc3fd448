"""Optimizers with proximal steps or dual averaging, for L1 and L2 regularisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import colocate_with
from headrace.graph.optimizers.optimizer import Optimizer, _is_resource, _reference, hyper
from headrace.graph.typing.aliases import TensorLike

if TYPE_CHECKING:
    from headrace.graph.variables.variable import Variable


class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent followed by a proximal L1/L2 step. Source: Duchi and Singer 2009."""

    _update_op = "ApplyProximalGradientDescent"

    def __init__(
        self,
        learning_rate: TensorLike,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._given = (learning_rate, l1_regularization_strength, l2_regularization_strength)

    def _prepare(self) -> None:
        names = ("learning_rate", "l1_regularization_strength", "l2_regularization_strength")
        self._hyper = [hyper(v, n) for v, n in zip(self._given, names, strict=True)]

    def _arguments(self, var: Any, grad: Tensor, sparse: bool) -> list[Any]:
        return [*self._hyper, grad]


class ProximalAdagradOptimizer(Optimizer):
    """Adagrad followed by a proximal L1/L2 step. Source: Duchi and Singer 2009."""

    _update_op = "ApplyProximalAdagrad"
    _slot_names = ("accumulator",)

    def __init__(
        self,
        learning_rate: TensorLike,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        if initial_accumulator_value <= 0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._given = (learning_rate, l1_regularization_strength, l2_regularization_strength)
        self._initial = initial_accumulator_value

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._slot(var, "accumulator", self._name, self._initial)

    def _prepare(self) -> None:
        names = ("learning_rate", "l1_regularization_strength", "l2_regularization_strength")
        self._hyper = [hyper(v, n) for v, n in zip(self._given, names, strict=True)]

    def _arguments(self, var: Any, grad: Tensor, sparse: bool) -> list[Any]:
        return [*self._hyper, grad]


class AdagradDAOptimizer(Optimizer):
    """Adagrad with dual averaging, for sparse weights. Source: Duchi et al. 2011, section 1.

    Args:
      global_step: variable that counts steps from 0.
    """

    _update_op = "ApplyAdagradDA"
    _slot_names = ("gradient_accumulator", "gradient_squared_accumulator")

    def __init__(
        self,
        learning_rate: TensorLike,
        global_step: Variable,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        if initial_gradient_squared_accumulator_value <= 0:
            raise ValueError(
                "initial_gradient_squared_accumulator_value must be positive: "
                f"{initial_gradient_squared_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._given = (learning_rate, l1_regularization_strength, l2_regularization_strength)
        self._initial = initial_gradient_squared_accumulator_value
        self._global_step = global_step

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._slot(var, "gradient_accumulator", self._name, 0.0)
            self._slot(var, "gradient_squared_accumulator", self._name, self._initial)

    def _prepare(self) -> None:
        names = ("learning_rate", "l1_regularization_strength", "l2_regularization_strength")
        self._hyper = [hyper(v, n) for v, n in zip(self._given, names, strict=True)]
        with colocate_with(self._global_step.op):
            self._count = op("Cast", self._global_step, DstT="int64") + 1

    def _apply(self, var: Any, grad: Tensor, indices: Tensor | None) -> Operation:
        # the global step is an integer for every dtype of the variable
        places = [var, *[self.get_slot(var, name) for name in self._slot_names]]
        dtype = var.dtype.base_dtype
        rates = [h if h.dtype.base_dtype is dtype else op("Cast", h, DstT=dtype)
                 for h in self._hyper]  # fmt: skip
        operands = [grad] if indices is None else [grad, indices]
        kind = self._update_op if indices is None else f"Sparse{self._update_op}"
        if _is_resource(var):
            kind, places = f"Resource{kind}", [v.handle for v in places]
        else:
            places = [_reference(v) for v in places]
        result = op(kind, *places, *operands, *rates, self._count, use_locking=self._use_locking)
        return result.op if isinstance(result, Tensor) else result

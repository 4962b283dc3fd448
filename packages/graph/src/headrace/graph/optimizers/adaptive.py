"""Adaptive optimizers: the step of each element depends on its past gradients."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import group
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import colocate_with, control_dependencies
from headrace.graph.optimizers.optimizer import Optimizer, _is_resource, _reference, hyper
from headrace.graph.typing.aliases import TensorLike


class AdagradOptimizer(Optimizer):
    """Divides steps by the root of the sum of squared gradients. Source: Duchi et al. 2011."""

    _update_op = "ApplyAdagrad"
    _slot_names = ("accumulator",)

    def __init__(
        self,
        learning_rate: TensorLike,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial = initial_accumulator_value

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._slot(var, "accumulator", self._name, self._initial)

    def _prepare(self) -> None:
        self._rate = hyper(self._learning_rate, "learning_rate")

    def _arguments(self, var: Any, grad: Tensor, sparse: bool) -> list[Any]:
        return [self._rate, grad]


class AdadeltaOptimizer(Optimizer):
    """Scales steps by running averages of squared steps and gradients. Source: Zeiler 2012."""

    _update_op = "ApplyAdadelta"
    _slot_names = ("accum", "accum_update")

    def __init__(
        self,
        learning_rate: TensorLike = 0.001,
        rho: TensorLike = 0.95,
        epsilon: TensorLike = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._given = (learning_rate, rho, epsilon)

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "accum", self._name)
            self._zeros_slot(var, "accum_update", self._name)

    def _prepare(self) -> None:
        names = ("lr", "rho", "epsilon")
        self._hyper = [hyper(v, n) for v, n in zip(self._given, names, strict=True)]

    def _arguments(self, var: Any, grad: Tensor, sparse: bool) -> list[Any]:
        return [*self._hyper, grad]


class AdamOptimizer(Optimizer):
    """Adaptive moment estimation.

    The step is learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon).
    Source: Kingma and Ba 2014, with epsilon as in the last paragraph of section 2.
    """

    _update_op = "ApplyAdam"
    _slot_names = ("m", "v")

    def __init__(
        self,
        learning_rate: TensorLike = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: TensorLike = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._given = (learning_rate, beta1, beta2, epsilon)

    def _create_slots(self, var_list: list[Any]) -> None:
        first = min(var_list, key=lambda v: v.name)
        _, beta1, beta2, _ = (v() if callable(v) else v for v in self._given)
        self._powers = (
            self._shared("beta1_power", beta1, first),
            self._shared("beta2_power", beta2, first),
        )
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _prepare(self) -> None:
        names = ("learning_rate", "beta1", "beta2", "epsilon")
        self._hyper = [hyper(v, n) for v, n in zip(self._given, names, strict=True)]

    def _arguments(self, var: Any, grad: Tensor, sparse: bool) -> list[Any]:
        # Not colocated with var: all variables share them.
        powers = [p.value() for p in self._powers]
        return [*powers, *self._hyper, grad]

    def _apply(self, var: Any, grad: Tensor, indices: Tensor | None) -> Operation:
        if indices is None:
            return super()._apply(var, grad, None)
        return self._apply_rows(var, grad, indices)

    def _apply_rows(self, var: Any, grad: Tensor, indices: Tensor) -> Operation:
        """Applies sparse gradients; both moments decay in all rows, as in TF 1.x."""
        dtype = var.dtype.base_dtype
        power1, power2, rate, beta1, beta2, epsilon = (
            t if t.dtype.base_dtype is dtype else op("Cast", t, DstT=dtype)
            for t in self._arguments(var, grad, True)[:6]
        )
        one = op("OnesLike", beta1)
        scaled = rate * op("Sqrt", one - power2) / (one - power1)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        means = []
        for slot, beta, rows in (
            (m, beta1, grad * (one - beta1)),
            (v, beta2, grad * grad * (one - beta2)),
        ):
            decayed = slot.assign(slot.value() * beta, use_locking=self._use_locking)
            with control_dependencies([decayed]):
                means.append(_scatter_add(slot, indices, rows))
        step = var.assign_sub(
            scaled * means[0] / (op("Sqrt", means[1]) + epsilon), use_locking=self._use_locking
        )
        return group(step, *means)

    def _finish(self, updates: list[Any], name: str) -> Operation:
        """Updates the powers of beta1 and beta2 after all updates have read them."""
        with control_dependencies(updates), colocate_with(self._powers[0].op):
            grown = []
            for power, beta in zip(self._powers, self._hyper[1:3], strict=True):
                value = power.read_value() * beta
                grown.append(power.assign(value, use_locking=self._use_locking))
        return group(*updates, *grown, name=name)


def _scatter_add(slot: Any, indices: Tensor, rows: Tensor) -> Tensor:
    if not _is_resource(slot):
        return op("ScatterAdd", _reference(slot), indices, rows)
    with control_dependencies([op("ResourceScatterAdd", slot.handle, indices, rows)]):
        return slot.read_value()


class RMSPropOptimizer(Optimizer):
    """Divides steps by the root of a running average of squared gradients.

    With centered=True the divisor is the root of their variance.

    Source: Tieleman and Hinton, Coursera lecture 6.5."""

    def __init__(
        self,
        learning_rate: TensorLike,
        decay: TensorLike = 0.9,
        momentum: TensorLike = 0.0,
        epsilon: TensorLike = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._given = (learning_rate, decay, momentum, epsilon)
        self._update_op = "ApplyCenteredRMSProp" if centered else "ApplyRMSProp"
        self._slot_names = ("mg", "rms", "momentum") if centered else ("rms", "momentum")

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            # the order matters: slots of one name are numbered, and checkpoints contain the numbers
            self._slot(var, "rms", self._name, 1.0)
            if "mg" in self._slot_names:
                self._zeros_slot(var, "mg", self._name)
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        names = ("learning_rate", "decay", "momentum", "epsilon")
        self._hyper = [hyper(v, n) for v, n in zip(self._given, names, strict=True)]

    def _arguments(self, var: Any, grad: Tensor, sparse: bool) -> list[Any]:
        return [*self._hyper, grad]


class FtrlOptimizer(Optimizer):
    """Follow the regularised leader, with L1 and L2 regularisation. Source: McMahan et al. 2013."""

    _slot_names = ("accum", "linear")

    def __init__(
        self,
        learning_rate: TensorLike,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ) -> None:
        if initial_accumulator_value < 0:
            raise ValueError(
                f"initial_accumulator_value {initial_accumulator_value} needs to be "
                "positive or zero"
            )
        if learning_rate_power > 0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power} needs to be negative or zero"
            )
        for strength in (
            l1_regularization_strength,
            l2_regularization_strength,
            l2_shrinkage_regularization_strength,
        ):
            if strength < 0:
                raise ValueError(f"regularization strength {strength} needs to be positive or zero")
        super().__init__(use_locking, name)
        self._given = [learning_rate, l1_regularization_strength, l2_regularization_strength]
        if l2_shrinkage_regularization_strength > 0:
            self._given.append(l2_shrinkage_regularization_strength)
        self._given.append(learning_rate_power)
        self._update_op = "ApplyFtrlV2" if len(self._given) == 5 else "ApplyFtrl"
        self._initial = initial_accumulator_value
        self._names = (accum_name or name, linear_name or f"{name}_1")

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._slot(var, "accum", self._names[0], self._initial)
            self._zeros_slot(var, "linear", self._names[1])

    def _prepare(self) -> None:
        self._hyper = [hyper(v, "hyper") for v in self._given]

    def _arguments(self, var: Any, grad: Tensor, sparse: bool) -> list[Any]:
        return [grad, *self._hyper]

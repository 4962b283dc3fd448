"""Exponential moving averages of variables and tensors, for evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import group
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import (
    colocate_with,
    control_dependencies,
    init_scope,
    name_scope,
)
from headrace.graph.typing.aliases import TensorLike, VariableLike
from headrace.graph.variables.get_variable import get_variable
from headrace.graph.variables.initializers import zeros_initializer
from headrace.graph.variables.save_slice_info import share_slice
from headrace.graph.variables.variable import Variable
from headrace.graph.variables.variable_collections import (
    moving_average_variables,
    trainable_variables,
)
from headrace.graph.variables.variable_scope import get_variable_scope, variable_scope


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """Updates a moving average: variable -= (variable - value) * (1 - decay).

    Args:
      variable: the average.
      value: the new value.
      decay: from 0 to 1.
      zero_debias: correct the bias of an average that starts at zero.
    Returns: the new average.
    Source: Kingma and Ba 2014, section 3 (zero_debias).
    """
    with name_scope(name or "AssignMovingAvg") as scope:
        dtype = variable.dtype.base_dtype
        decay = convert_to_tensor(1.0 - decay, name="decay")
        if decay.dtype.base_dtype != dtype:
            decay = op("Cast", decay, DstT=dtype)
        value = convert_to_tensor(value, dtype=dtype)
        if zero_debias:
            return _zero_debiased_average(variable, value, decay)
        step = (convert_to_tensor(variable) - value) * decay
        return variable.assign_sub(step, name=scope)


def _zero_debiased_average(variable: Any, value: Tensor, decay: Tensor) -> Any:
    """Keeps a biased average in an extra variable, and assigns the corrected one to `variable`."""
    dtype = variable.dtype.base_dtype
    with variable_scope(variable.op.name), init_scope(), colocate_with(variable.op):
        biased = get_variable("biased", variable.get_shape(), dtype, zeros_initializer(),
                              trainable=False)  # fmt: skip
        count = get_variable("local_step", [], dtype, zeros_initializer(), trainable=False)
    moved = biased.assign_sub((convert_to_tensor(biased) - value) * decay)
    counted = count.assign_add(op("Cast", 1, DstT=dtype))
    one = op("Cast", 1, DstT=dtype)
    with control_dependencies([moved, counted]):
        # the values after the updates
        corrected = biased.read_value() / (one - op("Pow", one - decay, count.read_value()))
        return variable.assign_sub(convert_to_tensor(variable) - corrected)


class ExponentialMovingAverage:
    """Maintains moving averages: average = decay * average + (1 - decay) * value.

    Args:
      decay: close to 1, such as 0.999.
      num_updates: number n of updates; limits the decay to (1 + n) / (10 + n), so that averages
        change faster at the start.
      zero_debias: correct the bias of averages of tensors, which start at zero.
      name: suffix of the names of the averages.
    """

    def __init__(
        self,
        decay: TensorLike,
        num_updates: TensorLike | None = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        """The suffix of the names of the averages."""
        return self._name

    def apply(self, var_list: Sequence[VariableLike] | None = None) -> Operation:
        """Creates the averages, and an operation that updates them.

        Args:
          var_list: variables, whose averages start at their initial values, and tensors, whose
            averages start at zero; None means all trainable variables.
        Returns: the operation.
        Raises: TypeError for values that are not floating-point.
        """
        values = trainable_variables() if var_list is None else list(var_list)
        debiased: set[Any] = set()
        for value in values:
            if value.dtype.base_dtype.name not in ("float16", "bfloat16", "float32", "float64"):
                raise TypeError(f"The variables must be half, float, or double: {value.name}")
            if _key(value) not in self._averages:
                self._averages[_key(value)] = self._make(value, debiased)
        with name_scope(self._name) as scope:
            decay = convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                updates = op("Cast", convert_to_tensor(self._num_updates), DstT="float32")
                decay = op("Minimum", decay, (1.0 + updates) / (10.0 + updates))
            moved = [
                assign_moving_average(
                    self._averages[_key(v)], v, decay, zero_debias=_key(v) in debiased
                )
                for v in values
            ]
            return group(*moved, name=scope)

    def _make(self, value: Any, debiased: set[Any]) -> Any:
        outer = get_variable_scope().name  # as slots in TensorFlow: below the active variable scope
        full = "/".join([*([outer] if outer else []), value.op.name, self._name])
        with init_scope():
            if hasattr(value, "initializer"):
                with name_scope(None), colocate_with(value.op):
                    average = Variable(
                        value.initialized_value(),
                        trainable=False,
                        name=full,
                        validate_shape=value.get_shape().is_fully_defined(),
                        collections=[GraphKeys.GLOBAL_VARIABLES],
                    )
                share_slice(value, average)
                collection = get_default_graph().get_collection_ref(
                    GraphKeys.MOVING_AVERAGE_VARIABLES
                )
                if not any(v is value for v in collection):
                    collection.append(value)
                return average
            with name_scope(None):
                zero = op("Cast", 0, DstT=value.dtype.base_dtype)
                zeros = op("Fill", value.get_shape().as_list(), zero)
                average = Variable(
                    zeros,
                    trainable=False,
                    name=full,
                    collections=[GraphKeys.GLOBAL_VARIABLES],
                )
            if self._zero_debias:
                debiased.add(_key(value))
            return average

    def average(self, var: VariableLike) -> Any:
        """Returns the average of a variable, or None before `apply`."""
        return self._averages.get(_key(var))

    def average_name(self, var: Any) -> str:
        """Returns the name of the average of a variable."""
        if _key(var) in self._averages:
            return self._averages[_key(var)].op.name
        return get_default_graph().unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(
        self, moving_avg_variables: Sequence[VariableLike] | None = None
    ) -> dict[str, Any]:
        """Returns a dict for Saver, from names in a checkpoint to variables, to restore averages.

        Args:
          moving_avg_variables: variables with averages; None means the trainable variables and
            those of the collection.
        """
        if moving_avg_variables is None:
            chosen = [*trainable_variables(), *moving_average_variables()]
        else:
            chosen = list(moving_avg_variables)
        names = {self.average_name(v): v for v in {_key(v): v for v in chosen}.values()}
        averaged = {_key(v) for v in chosen}
        for v in get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES):
            if _key(v) not in averaged:
                names.setdefault(v.op.name, v)
        return names


def _key(value: Any) -> Any:
    return (value.graph, value.name)

"""UGRNNCell: a recurrent cell with one gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.ops.arrays.joining import concat, split
from headrace.graph.ops.elementwise.elementwise import tanh
from headrace.graph.rnn_cells.cell import RNNCell
from headrace.graph.rnn_cells.linear import Linear
from headrace.graph.typing.aliases import Initializer, TensorLike
from headrace.graph.variables.variable_scope import get_variable_scope, variable_scope


class UGRNNCell(RNNCell):
    """Update gate cell: state = g * state + (1 - g) * activation(c).

    Args:
      num_units: size of the state.
      initializer: of the weights.
      forget_bias: added to the gate.
      activation: activation function.
      reuse: reuse the variables of the scope.
    Source: Collins et al. 2017.
    """

    def __init__(
        self,
        num_units: int,
        initializer: Initializer | None = None,
        forget_bias: float = 1.0,
        activation: Callable[..., Any] = tanh,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._activation = activation
        self._linear: Linear | None = None

    state_size = property(lambda self: self._num_units, doc="num_units.")
    output_size = property(lambda self: self._num_units, doc="num_units.")

    def call(self, inputs: TensorLike, state: Any) -> tuple[Tensor, Any]:
        """Maps [batch, in] and a state to (output, new state), which are one tensor."""
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            joint = concat([inputs, state], 1)
            self._linear = self._linear or Linear(joint, 2 * self._num_units, True)
            gate, candidate = split(self._linear(joint), 2, 1)
            new = self._activation(candidate)
            kept = op("Sigmoid", gate + self._forget_bias)
            new_state = kept * state + (1.0 - kept) * new
        return new_state, new_state

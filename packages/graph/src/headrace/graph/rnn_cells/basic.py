"""BasicRNNCell and GRUCell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.layers.layer import activation_of
from headrace.graph.ops.arrays.joining import split
from headrace.graph.ops.convolution.bias import bias_add
from headrace.graph.ops.elementwise.elementwise import tanh
from headrace.graph.rnn_cells.cell import LayerRNNCell, checked_depth
from headrace.graph.typing.aliases import DTypeLike, Initializer, ShapeLike, TensorLike
from headrace.graph.variables.initializers import Constant, Zeros


class BasicRNNCell(LayerRNNCell):
    """Basic RNN cell: output = new_state = activation([inputs, state] @ kernel + bias).

    Args:
      num_units: size of the state.
      activation: activation function; tanh by default.
      reuse: reuse the variables of the scope.
    """

    def __init__(
        self,
        num_units: int,
        activation: Callable[..., Any] | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = None
        self._num_units = num_units
        self._activation = activation_of(activation) or tanh

    state_size = property(lambda self: self._num_units, doc="Size of the state.")
    output_size = property(lambda self: self._num_units, doc="Size of the output.")

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the kernel [in + num_units, num_units] and the bias [num_units]."""
        depth = checked_depth(input_shape)
        self._kernel = self.add_weight("kernel", shape=[depth + self._num_units, self._num_units])
        self._bias = self.add_weight("bias", shape=[self._num_units], initializer=Zeros())
        self.built = True

    def call(self, inputs: TensorLike, state: Any) -> tuple[Tensor, Tensor]:
        """Maps [batch, in] and [batch, num_units] to (output, new state)."""
        joint = op("ConcatV2", [inputs, state], 1)
        result = self._activation(bias_add(op("MatMul", joint, self._kernel), self._bias))
        return result, result


class GRUCell(LayerRNNCell):
    """Gated recurrent unit.

    Args:
      num_units: size of the state.
      activation: activation function of the candidate; tanh by default.
      reuse: reuse the variables of the scope.
      kernel_initializer: by default that of the scope.
      bias_initializer: by default ones for the gates, zeros for the candidate.
    Source: Cho et al. 2014.
    """

    def __init__(
        self,
        num_units: int,
        activation: Callable[..., Any] | None = None,
        reuse: bool | None = None,
        kernel_initializer: Initializer | None = None,
        bias_initializer: Initializer | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = None
        self._num_units = num_units
        self._activation = activation_of(activation) or tanh
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    state_size = property(lambda self: self._num_units, doc="Size of the state.")
    output_size = property(lambda self: self._num_units, doc="Size of the output.")

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the kernels and biases of the gates and of the candidate."""
        rows = checked_depth(input_shape) + self._num_units
        for part, width, start in (("gates", 2, Constant(1.0)), ("candidate", 1, Zeros())):
            kernel = self.add_weight(
                f"{part}/kernel",
                shape=[rows, width * self._num_units],
                initializer=self._kernel_initializer,
            )
            bias = self.add_weight(
                f"{part}/bias",
                shape=[width * self._num_units],
                initializer=self._bias_initializer or start,
            )
            setattr(self, f"_{part}", (kernel, bias))
        self.built = True

    def _through(self, part: tuple[Any, Any], inputs: Any, state: Any) -> Tensor:
        joint = op("ConcatV2", [inputs, state], 1)
        return bias_add(op("MatMul", joint, part[0]), part[1])

    def call(self, inputs: TensorLike, state: Any) -> tuple[Tensor, Tensor]:
        """Maps [batch, in] and [batch, num_units] to (output, new state)."""
        gates = op("Sigmoid", self._through(self._gates, inputs, state))  # type: ignore[attr-defined]
        reset, update = split(gates, 2, 1)
        candidate = self._activation(
            self._through(self._candidate, inputs, reset * state)  # type: ignore[attr-defined]
        )
        one = constant(1, dtype=update.dtype.base_dtype)
        result = update * state + (one - update) * candidate
        return result, result

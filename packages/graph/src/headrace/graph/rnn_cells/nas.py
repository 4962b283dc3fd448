"""NASCell: the cell that Neural Architecture Search found."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.ops.arrays.joining import split
from headrace.graph.ops.convolution.bias import bias_add
from headrace.graph.rnn_cells.cell import LayerRNNCell, LSTMStateTuple, checked_depth
from headrace.graph.typing.aliases import ShapeLike, TensorLike
from headrace.graph.variables.initializers import Zeros

_PARTS = 8


class NASCell(LayerRNNCell):
    """Neural Architecture Search cell.

    Args:
      num_units: size of c.
      num_proj: size of the projection of h; None for no projection.
      use_bias: whether there is a bias.
      reuse: reuse the variables of the scope.
    Source: Zoph and Le 2017.
    """

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_bias: bool = False,
        reuse: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units = num_units
        self._num_proj = num_proj
        self._use_bias = use_bias

    @property
    def output_size(self) -> int:
        """Size of h."""
        return self._num_units if self._num_proj is None else self._num_proj

    state_size = property(
        lambda self: LSTMStateTuple(self._num_units, self.output_size), doc="The sizes of c and h."
    )

    def build(self, input_shape: ShapeLike) -> None:
        """Creates recurrent_kernel, kernel, and the bias and projection that are requested."""
        columns = _PARTS * self._num_units
        depth = checked_depth(input_shape)
        self._recurrent = self.add_weight("recurrent_kernel", [self.output_size, columns])
        self._kernel = self.add_weight("kernel", [depth, columns])
        if self._use_bias:
            self._bias = self.add_weight("bias", shape=[columns], initializer=Zeros())
        if self._num_proj is not None:
            shape = [self._num_units, self._num_proj]
            self._projection = self.add_weight("projection_weights", shape)
        self.built = True

    def call(self, inputs: TensorLike, state: Any) -> tuple[Tensor, Any]:
        """Maps [batch, in] and a state to (h, new state)."""
        c, h = state
        recurrent = op("MatMul", h, self._recurrent)
        joint = op("MatMul", inputs, self._kernel)
        if self._use_bias:
            recurrent = bias_add(recurrent, self._bias)
        m = split(recurrent, _PARTS, 1)
        x = split(joint, _PARTS, 1)
        first = [
            op("Sigmoid", x[0] + m[0]),
            op("Relu", x[1] + m[1]),
            op("Sigmoid", x[2] + m[2]),
            op("Relu", x[3] * m[3]),
            op("Tanh", x[4] + m[4]),
            op("Sigmoid", x[5] + m[5]),
            op("Tanh", x[6] + m[6]),
            op("Sigmoid", x[7] + m[7]),
        ]
        second = [
            op("Tanh", first[0] * first[1]),
            op("Tanh", first[2] + first[3]),
            op("Tanh", first[4] * first[5]),
            op("Sigmoid", first[6] + first[7]),
        ]
        new_c = op("Tanh", second[0] + c) * second[1]
        new_h = op("Tanh", new_c * op("Tanh", second[2] + second[3]))
        if self._num_proj is not None:
            new_h = op("MatMul", new_h, self._projection)
        return new_h, LSTMStateTuple(new_c, new_h)

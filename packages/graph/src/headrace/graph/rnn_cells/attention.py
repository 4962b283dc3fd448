"""AttentionCellWrapper: a cell that attends to its last outputs."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework import nest
from headrace.graph.framework.operation import Tensor
from headrace.graph.ops.activations import softmax
from headrace.graph.ops.arrays.joining import concat
from headrace.graph.ops.arrays.shapes import reshape
from headrace.graph.ops.convolution.convolution import conv2d
from headrace.graph.ops.reduction import reduce_sum
from headrace.graph.rnn_cells.cell import RNNCell, checked_depth
from headrace.graph.rnn_cells.linear import Linear
from headrace.graph.rnn_cells.rnn_step import check_cell
from headrace.graph.typing.aliases import TensorLike
from headrace.graph.variables.get_variable import get_variable
from headrace.graph.variables.variable_scope import variable_scope


class AttentionCellWrapper(RNNCell):
    """Adds attention to the last outputs of a cell to its inputs and outputs.

    Args:
      cell: the cell.
      attn_length: number of outputs that it attends to.
      attn_size: size of the output; by default that of the cell.
      attn_vec_size: size of the attention's features; attn_size by default.
      input_size: size of what the cell reads; by default that of the inputs.
      state_is_tuple: the state is a tuple instead of a concatenation.
      reuse: reuse the variables of the scope.
    Raises: TypeError if cell is not an RNNCell; ValueError if attn_length is not positive, or for a
      cell whose state is a tuple without state_is_tuple.
    Source: Cheng et al. 2016.
    """

    def __init__(
        self,
        cell: RNNCell,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        check_cell("cell", cell)
        if nest.is_nested(cell.state_size) and not state_is_tuple:
            raise ValueError(
                "Cell returns tuple of states, but the flag state_is_tuple is not set. State "
                f"size is: {cell.state_size}"
            )
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        self._cell = cell
        self._length = attn_length
        self._size = cell.output_size if attn_size is None else attn_size
        self._features = self._size if attn_vec_size is None else attn_vec_size
        self._input_size = input_size
        self._state_is_tuple = state_is_tuple
        self._linears: dict[str, Linear] = {}

    @property
    def state_size(self) -> Any:
        """Sizes of the cell's state, of the attention and of the kept outputs; or their sum."""
        sizes = (self._cell.state_size, self._size, self._size * self._length)
        return sizes if self._state_is_tuple else sum(sizes)

    output_size = property(lambda self: self._size, doc="attn_size.")

    def _linear(self, role: str, args: Any, size: int) -> Tensor:
        if role not in self._linears:
            self._linears[role] = Linear(args, size, True)
        return self._linears[role](args)

    def call(self, inputs: TensorLike, state: Any) -> tuple[Tensor, Any]:
        """Maps [batch, in] and a state to (output, new state)."""
        if self._state_is_tuple:
            state, attention, kept = state
        else:
            own, size = self._cell.state_size, self._size
            parts = [own, size, size * self._length]
            starts = [0, own, own + size]
            state, attention, kept = (
                op("Slice", state, [0, start], [-1, part])
                for start, part in zip(starts, parts, strict=True)
            )
        kept = reshape(kept, [-1, self._length, self._size])
        width = self._input_size or checked_depth(convert_to_tensor(inputs).get_shape())
        inputs = self._linear("inputs", [inputs, attention], width)
        output, new_state = self._cell(inputs, state)
        query = concat(nest.flatten(new_state), 1) if self._state_is_tuple else new_state
        new_attention, rest = self._attend(query, kept)
        with variable_scope("attn_output_projection"):
            output = self._linear("output", [output, new_attention], self._size)
        kept = concat([rest, op("ExpandDims", output, 1)], 1)
        kept = reshape(kept, [-1, self._length * self._size])
        new_states = (new_state, new_attention, kept)
        if self._state_is_tuple:
            return output, new_states
        return output, concat(list(new_states), 1)

    def _attend(self, query: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the weighted sum of the kept outputs, and all of them but the oldest."""
        with variable_scope("attention"):
            weights = get_variable("attn_w", [1, 1, self._size, self._features])
            scale = get_variable("attn_v", [self._features])
            hidden = reshape(kept, [-1, self._length, 1, self._size])
            features = conv2d(hidden, weights, [1, 1, 1, 1], "SAME")
            asked = self._linear("query", query, self._features)
            asked = reshape(asked, [-1, 1, 1, self._features])
            scores = reduce_sum(scale * op("Tanh", features + asked), [2, 3])
            shares = reshape(softmax(scores), [-1, self._length, 1, 1])
            total = reduce_sum(shares * hidden, [1, 2])
            return reshape(total, [-1, self._size]), op("Slice", kept, [0, 1, 0], [-1, -1, -1])

"""Cells that are one op: LSTMBlockCell, GRUBlockCell; LSTMBlockFusedCell for all time steps."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import as_shape
from headrace.graph.layers.layer import Layer
from headrace.graph.ops.arrays.creation import range as range_op
from headrace.graph.ops.arrays.creation import sequence_mask, zeros
from headrace.graph.ops.arrays.joining import stack, unstack
from headrace.graph.ops.arrays.shapes import transpose
from headrace.graph.ops.gather import gather_nd
from headrace.graph.ops.reduction import reduce_max
from headrace.graph.rnn_cells.cell import LayerRNNCell, LSTMStateTuple, checked_depth
from headrace.graph.typing.aliases import DTypeLike, ShapeLike, TensorLike
from headrace.graph.variables.initializers import Constant

_PEEPHOLES = ("w_i_diag", "w_f_diag", "w_o_diag")


class _LSTMWeights:
    """The variables of an LSTM in one op, and its last arguments."""

    def __init__(self, layer: Layer, depth: int, units: int, use_peephole: bool) -> None:
        self._kernel = layer.add_weight("kernel", [depth + units, 4 * units])
        self._bias = layer.add_weight("bias", [4 * units], initializer=Constant(0.0))
        self._peepholes = None
        if use_peephole:
            self._peepholes = [layer.add_weight(name, [units]) for name in _PEEPHOLES]
        self._units = units

    def arguments(self, dtype: Any) -> list[Any]:
        """Returns w, wci, wcf, wco and b."""
        peepholes = self._peepholes or [zeros([self._units], dtype=dtype)] * 3
        return [self._kernel, *peepholes, self._bias]


class LSTMBlockCell(LayerRNNCell):
    """LSTM cell in one op, with the variables of LSTMCell.

    Args:
      num_units: size of c and h.
      forget_bias: added to the forget gate.
      cell_clip: bound of the absolute value of c; None for no bound.
      use_peephole: connect c to the gates.
      dtype: dtype of the variables.
      reuse: reuse the variables of the scope.
      name: name of the variable scope.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: DTypeLike | None = None,
        reuse: bool | None = None,
        name: str = "lstm_cell",
    ) -> None:
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._num_units = num_units
        self._use_peephole = use_peephole
        self._attrs: dict[str, Any] = {
            "forget_bias": forget_bias,
            "cell_clip": -1 if cell_clip is None else cell_clip,
            "use_peephole": use_peephole,
        }

    state_size = property(
        lambda self: LSTMStateTuple(self._num_units, self._num_units), doc="The sizes of c and h."
    )
    output_size = property(lambda self: self._num_units, doc="Size of h.")

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the kernel, the bias and the peephole weights."""
        depth = checked_depth(input_shape)
        self._weights = _LSTMWeights(self, depth, self._num_units, self._use_peephole)
        self.built = True

    def call(self, inputs: TensorLike, state: Any) -> tuple[Tensor, Any]:
        """Maps [batch, in] and a state to (h, new state)."""
        if len(state) != 2:
            raise ValueError("Expecting state to be a tuple with length 2.")
        c, h = state
        result = op(
            "LSTMBlockCell", inputs, c, h, *self._weights.arguments(self.dtype), **self._attrs
        )
        for part in (result.cs, result.h):
            part.set_shape(h.get_shape())
        return result.h, LSTMStateTuple(result.cs, result.h)


class LSTMBlockFusedCell(Layer):
    """LSTM for all time steps in one op, with the variables of LSTMCell.

    Args: as LSTMBlockCell.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: bool | None = None,
        dtype: DTypeLike | None = None,
        name: str = "lstm_fused_cell",
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units = num_units
        self._use_peephole = use_peephole
        self._attrs: dict[str, Any] = {
            "forget_bias": forget_bias,
            "cell_clip": -1 if cell_clip is None else cell_clip,
            "use_peephole": use_peephole,
        }

    num_units = property(lambda self: self._num_units, doc="Size of c and h.")

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the kernel, the bias and the peephole weights."""
        # Steps in a list have no time dimension here.
        shape = input_shape[0] if isinstance(input_shape, (list, tuple)) else input_shape
        depth = checked_depth(shape)
        self._weights = _LSTMWeights(self, depth, self._num_units, self._use_peephole)
        self.built = True

    def call(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: TensorLike | None = None,
    ) -> tuple[Any, Any]:
        """Runs the LSTM over all time steps.

        Args:
          inputs: [time, batch, in], or a list of [batch, in].
          initial_state: (c, h); zeros by default.
          dtype: dtype of the initial state; required without one.
          sequence_length: [batch] ints; beyond it outputs are zero.
        Returns: (outputs as the inputs, final state).
        Raises: ValueError without initial_state and dtype, or for another number of states.
        """
        is_list = isinstance(inputs, (list, tuple))
        x = stack(list(inputs)) if is_list else convert_to_tensor(inputs)
        steps, batch, _ = x.get_shape().with_rank(3).as_list()
        rows = op("Shape", x)[1] if batch is None else batch
        count = op("Shape", x)[0] if steps is None else steps
        if initial_state is None:
            if dtype is None:
                raise ValueError("Either initial_state or dtype needs to be specified")
            zero = zeros(stack([rows, self._num_units]), dtype=dtype)
            initial_state = zero, zero
        elif len(initial_state) != 2:
            raise ValueError("Expecting initial_state to be a tuple with length 2 or None")
        c, h = (convert_to_tensor(part) for part in initial_state)
        kind = c.dtype.base_dtype
        longest = count
        if sequence_length is not None:
            sequence_length = op("Cast", sequence_length, DstT="int32")
            longest = reduce_max(sequence_length)
        result = op(
            "BlockLSTM",
            op("Cast", longest, DstT="int64"),
            x,
            c,
            h,
            *self._weights.arguments(kind),
            **self._attrs,
        )
        states, outputs = result.cs, result.h
        shape = as_shape([steps, batch, self._num_units])
        for part in (states, outputs):
            part.set_shape(shape)
        if sequence_length is None:
            final = LSTMStateTuple(states[-1], outputs[-1])
        else:
            mask = transpose(sequence_mask(sequence_length, count, dtype=kind), [1, 0])
            outputs = outputs * op("ExpandDims", mask, -1)
            final = LSTMStateTuple(
                _at_lengths(c, states, sequence_length, rows),
                _at_lengths(h, outputs, sequence_length, rows),
            )
        return (unstack(outputs, num=steps) if is_list else outputs), final


def _at_lengths(first: Tensor, states: Tensor, lengths: Any, rows: Any) -> Tensor:
    """Returns the state of each row after its last step; after no step, the first state."""
    every = op("ConcatV2", [op("ExpandDims", first, 0), states], 0)
    return gather_nd(every, stack([lengths, range_op(rows)], axis=1))


class GRUBlockCell(LayerRNNCell):
    """Gated recurrent unit in one op.

    Args:
      num_units: size of the state.
      cell_size: old name of num_units.
      reuse: reuse the variables of the scope.
      name: name of the variable scope.
    Raises: ValueError unless exactly one of num_units and cell_size is given.
    """

    _names = ("w_ru", "b_ru", "w_c", "b_c")

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: bool | None = None,
        name: str = "gru_cell",
    ) -> None:
        super().__init__(_reuse=reuse, name=name)
        if (cell_size is None) == (num_units is None):
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        self._size: int = num_units or cell_size or 0

    state_size = property(lambda self: self._size, doc="Size of the state.")
    output_size = property(lambda self: self._size, doc="Size of the output.")

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the kernels and biases of the gates and of the candidate."""
        rows, n = checked_depth(input_shape) + self._size, self._size
        kernel, bias, candidate, candidate_bias = self._names
        self._weights = [
            self.add_weight(kernel, [rows, 2 * n]),
            self.add_weight(bias, [2 * n], initializer=Constant(1.0)),
            self.add_weight(candidate, [rows, n]),
            self.add_weight(candidate_bias, [n], initializer=Constant(0.0)),
        ]
        self.built = True

    def call(self, inputs: TensorLike, state: Any) -> tuple[Tensor, Tensor]:
        """Maps [batch, in] and [batch, num_units] to (output, new state)."""
        kernel, bias, candidate, candidate_bias = self._weights
        result = op("GRUBlockCell", inputs, state, kernel, candidate, bias, candidate_bias).h
        result.set_shape(state.get_shape())
        return result, result


class GRUBlockCellV2(GRUBlockCell):
    """GRUBlockCell with the variable names of GRUCell."""

    _names = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")

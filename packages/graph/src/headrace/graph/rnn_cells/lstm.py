"""Long short-term memory cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.layers.layer import activation_of
from headrace.graph.ops.arrays.joining import split
from headrace.graph.ops.convolution.bias import bias_add
from headrace.graph.ops.elementwise.elementwise import clip_by_value, tanh
from headrace.graph.rnn_cells.cell import LayerRNNCell, LSTMStateTuple, checked_depth
from headrace.graph.typing.aliases import DTypeLike, Initializer, ShapeLike, TensorLike
from headrace.graph.variables.initializers import Zeros
from headrace.graph.variables.partitioners import fixed_size_partitioner


class BasicLSTMCell(LayerRNNCell):
    """LSTM cell without peepholes, clipping or projection.

    Args:
      num_units: size of c and h.
      forget_bias: added to the forget gate.
      state_is_tuple: the state is an LSTMStateTuple instead of the concatenation of c and h.
      activation: activation function; tanh by default.
      reuse: reuse the variables of the scope.
    Source: Zaremba et al. 2014.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Callable[..., Any] | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation_of(activation) or tanh

    @property
    def state_size(self) -> Any:
        """The sizes of c and h, or the size of their concatenation."""
        n = self._num_units
        return LSTMStateTuple(n, n) if self._state_is_tuple else 2 * n

    output_size = property(lambda self: self._num_units, doc="Size of h.")

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the kernel [in + num_units, 4 * num_units] and the bias [4 * num_units]."""
        n = self._num_units
        depth = checked_depth(input_shape)
        self._kernel = self.add_weight("kernel", shape=[depth + n, 4 * n])
        self._bias = self.add_weight("bias", shape=[4 * n], initializer=Zeros())
        self.built = True

    def call(self, inputs: TensorLike, state: Any) -> tuple[Tensor, Any]:
        """Maps [batch, in] and a state to (h, new state)."""
        c, h = state if self._state_is_tuple else split(state, 2, 1)
        gates = bias_add(op("MatMul", op("ConcatV2", [inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = split(gates, 4, 1)
        forget = op("Sigmoid", f + constant(self._forget_bias, dtype=f.dtype.base_dtype))
        new_c = c * forget + op("Sigmoid", i) * self._activation(j)
        new_h = self._activation(new_c) * op("Sigmoid", o)
        if self._state_is_tuple:
            return new_h, LSTMStateTuple(new_c, new_h)
        return new_h, op("ConcatV2", [new_c, new_h], 1)


class LSTMCell(LayerRNNCell):
    """LSTM cell with optional peepholes, clipping and projection.

    Args:
      num_units: size of c.
      use_peepholes: connect c to the gates.
      cell_clip: bound of the absolute value of c; None for no bound.
      initializer: initializer of the kernels.
      num_proj: size of the projection of h; None for no projection.
      proj_clip: bound of the absolute value of the projection.
      num_unit_shards, num_proj_shards: numbers of partitions of the kernels.
      forget_bias: added to the forget gate.
      state_is_tuple: as in BasicLSTMCell.
      activation: activation function; tanh by default.
      reuse: reuse the variables of the scope.
    Source: Hochreiter and Schmidhuber 1997; Sak et al. 2014.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Initializer | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Callable[..., Any] | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._shards = (num_unit_shards, num_proj_shards)
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation_of(activation) or tanh

    @property
    def output_size(self) -> int:
        """The size of h."""
        return self._num_proj or self._num_units

    @property
    def state_size(self) -> Any:
        """The sizes of c and h, or the size of their concatenation."""
        sizes = (self._num_units, self.output_size)
        return LSTMStateTuple(*sizes) if self._state_is_tuple else sum(sizes)

    def build(self, input_shape: ShapeLike) -> None:
        """Creates kernel, bias, peephole weights and projection kernel."""
        n = self._num_units
        depth = checked_depth(input_shape)
        self._kernel = self._matrix("kernel", [depth + self.output_size, 4 * n], self._shards[0])
        self._bias = self.add_weight("bias", shape=[4 * n], initializer=Zeros())
        if self._use_peepholes:
            self._peepholes = [
                self.add_weight(f"w_{gate}_diag", shape=[n], initializer=self._initializer)
                for gate in "fio"
            ]
        if self._num_proj is not None:
            self._projection = self._matrix(
                "projection/kernel", [n, self._num_proj], self._shards[1]
            )
        self.built = True

    def _matrix(self, name: str, shape: list[int], parts: int | None) -> Any:
        return self.add_weight(
            name,
            shape=shape,
            initializer=self._initializer,
            partitioner=fixed_size_partitioner(parts) if parts is not None else None,
        )

    def call(self, inputs: TensorLike, state: Any) -> tuple[Tensor, Any]:
        """Maps [batch, in] and a state to (h, new state)."""
        c, h = state if self._state_is_tuple else self._split_state(state)
        gates = bias_add(op("MatMul", op("ConcatV2", [inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = split(gates, 4, 1)
        f = f + constant(self._forget_bias, dtype=f.dtype.base_dtype)
        if self._use_peepholes:
            of_f, of_i, of_o = self._peepholes
            f, i = f + of_f * c, i + of_i * c
        new_c = op("Sigmoid", f) * c + op("Sigmoid", i) * self._activation(j)
        if self._cell_clip is not None:
            new_c = clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            o = o + of_o * new_c
        new_h = op("Sigmoid", o) * self._activation(new_c)
        if self._num_proj is not None:
            new_h = op("MatMul", new_h, self._projection)
            if self._proj_clip is not None:
                new_h = clip_by_value(new_h, -self._proj_clip, self._proj_clip)
        if self._state_is_tuple:
            return new_h, LSTMStateTuple(new_c, new_h)
        return new_h, op("ConcatV2", [new_c, new_h], 1)

    def _split_state(self, state: Any) -> tuple[Tensor, Tensor]:
        n = self._num_units
        first = op("Slice", state, [0, 0], [-1, n])
        return first, op("Slice", state, [0, n], [-1, self.output_size])

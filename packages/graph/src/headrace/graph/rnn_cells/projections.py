"""Cells that embed or project what another cell reads or writes."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework import nest
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import device, name_scope
from headrace.graph.ops.arrays.shapes import reshape
from headrace.graph.ops.convolution.bias import xw_plus_b
from headrace.graph.ops.embedding import embedding_lookup
from headrace.graph.rnn_cells.cell import RNNCell, checked_depth
from headrace.graph.rnn_cells.linear import Linear
from headrace.graph.typing.aliases import Initializer, TensorLike
from headrace.graph.variables.get_variable import get_variable
from headrace.graph.variables.initializers import Constant, RandomUniform
from headrace.graph.variables.variable_scope import get_variable_scope


class _Projection(RNNCell):
    """Base: the sizes and the zero state of the cell inside."""

    def __init__(self, cell: Any, reuse: bool | None) -> None:
        super().__init__(_reuse=reuse)
        if not isinstance(cell, RNNCell):
            raise TypeError(f"The argument 'cell' ({cell!r}) is not an RNNCell")
        self._cell = cell

    state_size = property(lambda self: self._cell.state_size, doc="Of the cell inside.")
    output_size = property(lambda self: self._cell.output_size, doc="Of the cell inside.")

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Returns the zero state of the cell."""
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)


class EmbeddingWrapper(_Projection):
    """Cell that reads numbers of symbols, of which it looks up an embedding.

    Args:
      cell: RNNCell that reads the embedding.
      embedding_classes: number of symbols.
      embedding_size: size of an embedding.
      initializer: of the variable `embedding`; by default the scope's, or uniform of variance 1.
      reuse: reuse the variables of the scope.
    Raises: TypeError if cell is no RNNCell; ValueError for sizes that are not positive.
    """

    def __init__(
        self,
        cell: RNNCell,
        embedding_classes: int,
        embedding_size: int,
        initializer: Initializer | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}."
            )
        self._shape = [embedding_classes, embedding_size]
        self._initializer = initializer

    def call(self, inputs: TensorLike, state: Any) -> tuple[Tensor, Any]:
        """Maps symbols [batch] or [batch, 1] and a state to (output, new state)."""
        with device("/cpu:0"):
            initializer = self._initializer or get_variable_scope().initializer
            first = state[0] if isinstance(state, tuple) else state
            embedding = get_variable(
                "embedding",
                self._shape,
                initializer=initializer or RandomUniform(-sqrt(3), sqrt(3)),
                dtype=first.dtype,
            )
            embedded = embedding_lookup(embedding, reshape(inputs, [-1]))
            result: tuple[Tensor, Any] = self._cell(embedded, state)
        return result


class InputProjectionWrapper(_Projection):
    """Cell whose inputs are projected first.

    Args:
      cell: RNNCell that reads the projection.
      num_proj: size of the projection.
      activation: applied to the projection.
      input_size: not used.
      reuse: reuse the variables of the scope.
    Raises: TypeError if cell is no RNNCell.
    """

    def __init__(
        self,
        cell: RNNCell,
        num_proj: int,
        activation: Callable[..., Any] | None = None,
        input_size: int | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._size = num_proj
        self._activation = activation
        self._linear: Linear | None = None

    def call(self, inputs: TensorLike, state: Any) -> tuple[Tensor, Any]:
        """Maps [batch, in] and a state to (output, new state)."""
        self._linear = self._linear or Linear(inputs, self._size, True)
        projected = self._linear(inputs)
        if self._activation:
            projected = self._activation(projected)
        result: tuple[Tensor, Any] = self._cell(projected, state)
        return result


class OutputProjectionWrapper(_Projection):
    """Cell whose output is projected.

    Args:
      cell: RNNCell.
      output_size: size of the projection.
      activation: applied to the projection.
      reuse: reuse the variables of the scope.
    Raises: TypeError if cell is no RNNCell; ValueError if output_size < 1.
    """

    def __init__(
        self,
        cell: RNNCell,
        output_size: int,
        activation: Callable[..., Any] | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._size = output_size
        self._activation = activation
        self._linear: Linear | None = None

    output_size = property(lambda self: self._size, doc="Size of the projection.")

    def call(self, inputs: TensorLike, state: Any) -> tuple[Tensor, Any]:
        """Maps [batch, in] and a state to (projected output, new state)."""
        output, new_state = self._cell(inputs, state)
        self._linear = self._linear or Linear(output, self._size, True)
        projected = self._linear(output)
        return (self._activation(projected) if self._activation else projected), new_state


class HighwayWrapper(RNNCell):
    """Cell whose output is mixed with its input by gates that are learned.

    Args:
      cell: RNNCell whose output is shaped like its input.
      couple_carry_transform_gates: the output's share is 1 minus the input's.
      carry_bias_init: initial bias of the input's share; minus this for the output's.
    Source: Srivastava et al. 2015.
    """

    def __init__(
        self, cell: RNNCell, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0
    ) -> None:
        super().__init__()
        self._cell = cell
        self._coupled = couple_carry_transform_gates
        self._bias = carry_bias_init

    state_size = property(lambda self: self._cell.state_size, doc="Of the cell inside.")
    output_size = property(lambda self: self._cell.output_size, doc="Of the cell inside.")

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Returns the zero state of the cell."""
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)

    def _share(self, x: Tensor, role: str, bias: float) -> Tensor:
        depth = checked_depth(x.get_shape())
        weights = get_variable(f"{role}_w", [depth, depth])
        offset = get_variable(f"{role}_b", [depth], initializer=Constant(bias))
        result: Tensor = op("Sigmoid", xw_plus_b(x, weights, offset))
        return result

    def _mixed(self, x: Tensor, output: Tensor) -> Tensor:
        x.get_shape().assert_is_compatible_with(output.get_shape())
        carry = self._share(x, "carry", self._bias)
        if self._coupled:
            transform = 1 - carry
        else:
            transform = self._share(x, "transform", -self._bias)
        return x * carry + output * transform

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """Maps [batch, n] and a state to (mixed output, new state)."""
        output, new_state = self._cell(inputs, state, scope=scope)
        nest.assert_same_structure(inputs, output)
        return nest.map_structure(self._mixed, inputs, output), new_state

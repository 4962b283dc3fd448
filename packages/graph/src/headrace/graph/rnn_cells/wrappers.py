"""Cells that wrap other cells: stacking, dropout, residual connections, devices."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework import nest
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import device, name_scope
from headrace.graph.framework.tensor_shape import as_shape
from headrace.graph.ops.random.random import dropout, random_uniform
from headrace.graph.rnn_cells.cell import LSTMStateTuple, RNNCell
from headrace.graph.typing.aliases import Device, DTypeLike, TensorLike
from headrace.graph.variables.variable_scope import variable_scope


class MultiRNNCell(RNNCell):
    """Stacked cells: the output of each cell is the input of the next.

    Args:
      cells: list of RNNCells, lowest first.
      state_is_tuple: the state is a tuple of the cells' states instead of their concatenation.
    Raises: ValueError without cells; TypeError if cells is not a list.
    """

    def __init__(self, cells: Sequence[RNNCell], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, (list, tuple)):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        self._cells = list(cells)
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(nest.is_nested(c.state_size) for c in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set."
            )

    @property
    def cells(self) -> list[Any]:
        """The cells, lowest first."""
        return list(self._cells)

    @property
    def state_size(self) -> Any:
        """The state sizes of the cells, or their sum."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    output_size = property(lambda self: self._cells[-1].output_size, doc="Of the last cell.")

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable variables of the cells."""
        return [w for cell in self._cells for w in cell.trainable_weights] * self.trainable

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The non-trainable variables of the cells."""
        if self.trainable:
            return [w for cell in self._cells for w in cell.non_trainable_weights]
        return [w for cell in self._cells for w in cell.weights]

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns the zero states of the cells."""
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: TensorLike, state: Any) -> tuple[Any, Any]:
        """Maps [batch, in] and states to (output of the last cell, new states)."""
        if self._state_is_tuple and len(state) != len(self._cells):
            raise ValueError(
                f"Expected state to be a tuple of length {len(self._cells)}, but received: {state}"
            )
        new_states = []
        start = 0
        for number, cell in enumerate(self._cells):
            with variable_scope(f"cell_{number}"):
                if self._state_is_tuple:
                    own = state[number]
                else:
                    own = op("Slice", state, [0, start], [-1, cell.state_size])
                    start += cell.state_size
                inputs, new = cell(inputs, own)
                new_states.append(new)
        if self._state_is_tuple:
            return inputs, tuple(new_states)
        return inputs, op("ConcatV2", new_states, 1)


class _Wrapper(RNNCell):
    """Base class of wrappers, with the scope and sizes of the wrapped cell."""

    def __init__(self, cell: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._cell = cell

    state_size = property(lambda self: self._cell.state_size, doc="Of the cell inside.")
    output_size = property(lambda self: self._cell.output_size, doc="Of the cell inside.")
    wrapped_cell = property(lambda self: self._cell, doc="The cell inside.")
    trainable_weights = property(lambda self: self._cell.trainable_weights, doc="Of the cell.")
    non_trainable_weights = property(
        lambda self: self._cell.non_trainable_weights, doc="Of the cell."
    )

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Returns the zero state of the cell."""
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """Returns (output, new state), without an additional variable scope."""
        return self._wrapped(inputs, state, scope)

    def _wrapped(self, inputs: Any, state: Any, scope: Any) -> Any:
        raise NotImplementedError


def _default_state_filter(part: Any) -> Any:
    """The default dropout_state_filter_visitor: no dropout for c of an LSTM."""
    if isinstance(part, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return True


class DropoutWrapper(_Wrapper):
    """Applies dropout to the inputs, outputs and states of a cell.

    Args:
      cell: the cell.
      input_keep_prob, output_keep_prob, state_keep_prob: probabilities of keeping an element.
      variational_recurrent: use the same mask at all time steps; requires dtype, and input_size for
        inputs.
      input_size: size of the inputs.
      dtype: dtype of the masks.
      seed: seed of the masks.
      dropout_state_filter_visitor: function from a state to True, False or a structure of bools:
        the parts to which dropout applies; by default all except c of an LSTM.
    Raises: ValueError for probabilities outside of [0, 1], or missing dtype or input_size;
      TypeError for a visitor that is not callable.
    Source: Gal and Ghahramani 2016 (variational_recurrent).
    """

    def __init__(
        self,
        cell: RNNCell,
        input_keep_prob: TensorLike = 1.0,
        output_keep_prob: TensorLike = 1.0,
        state_keep_prob: TensorLike = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: DTypeLike | None = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError(
                "dropout_state_filter_visitor must be callable. Received: "
                f"{dropout_state_filter_visitor}"
            )
        self._filter = dropout_state_filter_visitor or _default_state_filter
        self._keep = {
            "input": _probability(input_keep_prob, "input_keep_prob"),
            "state": _probability(state_keep_prob, "state_keep_prob"),
            "output": _probability(output_keep_prob, "output_keep_prob"),
        }
        self._seed = seed
        self._variational = variational_recurrent
        self._noise: dict[str, Any] = {}
        if variational_recurrent:
            if dtype is None:
                raise ValueError("When variational_recurrent=True, dtype must be provided")
            self._draw(input_size, as_dtype(dtype))

    def _draw(self, input_size: Any, dtype: Any) -> None:
        """Creates the noise for all steps: one row, shared by the batch."""

        def drawn(sizes: Any, what: str) -> Any:
            flat = []
            for number, size in enumerate(nest.flatten(sizes)):
                count_nodes(3)  # TensorFlow concatenates the shape
                rest = [int(size)] if isinstance(size, int) else as_shape(size).as_list()
                seed = self._seed_of(what, number)
                flat.append(random_uniform([1, *rest], dtype=dtype, seed=seed))
            return nest.pack_sequence_as(sizes, flat)

        if not _is_one(self._keep["input"]):
            if input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                    "input_size must be provided"
                )
            self._noise["input"] = drawn(input_size, "input")
        self._noise["state"] = drawn(self._cell.state_size, "state")
        self._noise["output"] = drawn(self._cell.output_size, "output")

    def _seed_of(self, what: str, number: int) -> int | None:
        if self._seed is None:
            return None
        text = f"{self._seed}{what}_{number}".encode()
        return int(hashlib.md5(text, usedforsecurity=False).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _wrapped(self, inputs: Any, state: Any, scope: Any) -> Any:
        inputs = self._dropped("input", inputs)
        output, new_state = self._cell(inputs, state, scope=scope)
        new_state = self._dropped("state", new_state, self._filter)
        return self._dropped("output", output), new_state

    def _dropped(self, what: str, values: Any, visitor: Any = None) -> Any:
        if _is_one(self._keep[what]):
            return values
        chosen = _choices(values, visitor) if visitor else [True] * len(nest.flatten(values))
        noise = nest.flatten(self._noise[what]) if what in self._noise else None
        result = [
            self._dropped_one(what, number, value, None if noise is None else noise[number])
            if drop
            else value
            for number, (value, drop) in enumerate(zip(nest.flatten(values), chosen, strict=True))
        ]
        return nest.pack_sequence_as(values, result)

    def _dropped_one(self, what: str, number: int, value: Tensor, noise: Any) -> Tensor:
        keep = self._keep[what]
        if noise is None:
            return dropout(value, keep_prob=keep, seed=self._seed_of(what, number))
        share = convert_to_tensor(keep, dtype=value.dtype.base_dtype)
        count_nodes(not isinstance(keep, Tensor))  # TensorFlow converts it twice
        result = value / share * op("Floor", share + noise)
        result.set_shape(value.get_shape())
        return result


def _choices(state: Any, visitor: Callable[[Any], Any]) -> list[bool]:
    """Returns for each tensor of a state whether dropout applies, by the visitor."""
    if isinstance(state, (list, tuple)) and not isinstance(state, LSTMStateTuple):
        return [c for part in state for c in _choices(part, visitor)]
    choice = visitor(state)
    if nest.is_nested(choice):
        return [bool(c) for c in nest.flatten(choice)]
    return [bool(choice)] * len(nest.flatten(state))


def _probability(value: Any, what: str) -> Any:
    tensor = convert_to_tensor(value) if isinstance(value, Tensor) else constant(float(value))
    known = constant_value(tensor)
    if known is None:
        return tensor
    if not 0 <= float(known) <= 1:
        raise ValueError(f"Parameter {what} must be between 0 and 1: {float(known)}")
    return float(value) if not isinstance(value, Tensor) else float(known)


def _is_one(keep: Any) -> bool:
    return isinstance(keep, float) and keep == 1.0


class ResidualWrapper(_Wrapper):
    """Adds the inputs of a cell to its outputs.

    Args:
      cell: the cell.
      residual_fn: `f(inputs, outputs) -> outputs`, instead of the sum.
    """

    def __init__(
        self, cell: RNNCell, residual_fn: Callable[..., Any] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def _wrapped(self, inputs: Any, state: Any, scope: Any) -> Any:
        outputs, new_state = self._cell(inputs, state, scope=scope)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, outputs), new_state
        nest.assert_same_structure(inputs, outputs)
        for x, y in zip(nest.flatten(inputs), nest.flatten(outputs), strict=True):
            x.get_shape().assert_is_compatible_with(y.get_shape())
        return nest.map_structure(lambda x, y: x + y, inputs, outputs), new_state


class DeviceWrapper(_Wrapper):
    """Places the operations of a cell on a device."""

    def __init__(self, cell: RNNCell, device: Device, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns the zero state of the cell, on the device."""
        with device(self._device):
            return super().zero_state(batch_size, dtype)

    def _wrapped(self, inputs: Any, state: Any, scope: Any) -> Any:
        with device(self._device):
            return self._cell(inputs, state, scope=scope)

"""Fused cells, which map whole sequences: other cells as such, and such cells turned in time."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.ops.arrays.joining import stack, unstack
from headrace.graph.rnn_cells.cell import RNNCell
from headrace.graph.rnn_cells.dynamic_rnn import dynamic_rnn
from headrace.graph.rnn_cells.static_rnn import static_rnn


class FusedRNNCell(metaclass=ABCMeta):
    """Maps [time, batch, n], or a list of [batch, n], to outputs of that kind and a state."""

    @abstractmethod
    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Returns (outputs, final state)."""


class FusedRNNCellAdaptor(FusedRNNCell):
    """An RNNCell as a fused cell.

    Args:
      cell: RNNCell.
      use_dynamic_rnn: whether dynamic_rnn runs it, and not static_rnn.
    """

    def __init__(self, cell: RNNCell, use_dynamic_rnn: bool = False) -> None:
        self._cell = cell
        self._dynamic = use_dynamic_rnn

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Returns (outputs, final state)."""
        listed = isinstance(inputs, list)
        options = {
            "initial_state": initial_state,
            "dtype": dtype,
            "sequence_length": sequence_length,
            "scope": scope,
        }
        if self._dynamic:
            x = stack(inputs) if listed else inputs
            outputs, state = dynamic_rnn(self._cell, x, time_major=True, **options)
            return (unstack(outputs) if listed else outputs), state
        steps, state = static_rnn(self._cell, inputs if listed else unstack(inputs), **options)
        return (steps if listed else stack(steps)), state


class TimeReversedFusedRNN(FusedRNNCell):
    """A fused cell that reads its inputs from the last to the first.

    Args:
      cell: fused cell.
    """

    def __init__(self, cell: FusedRNNCell) -> None:
        self._cell = cell

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Returns (outputs in the order of the inputs, final state)."""
        outputs, state = self._cell(
            _reversed(inputs, sequence_length),
            initial_state=initial_state,
            dtype=dtype,
            sequence_length=sequence_length,
            scope=scope,
        )
        return _reversed(outputs, sequence_length), state


def _reversed(x: Any, lengths: Any) -> Any:
    """Returns x with its first dimension turned; a list ignores the lengths, as in TensorFlow."""
    if isinstance(x, list):
        return x[::-1]
    if lengths is None:
        return op("ReverseV2", x, [0])
    return op("ReverseSequence", x, lengths, seq_dim=0, batch_dim=1)

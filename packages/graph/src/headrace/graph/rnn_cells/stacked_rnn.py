"""Stacks of bidirectional recurrent networks, each of which reads both directions of the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph.framework.operation import Tensor
from headrace.graph.ops.arrays.joining import concat
from headrace.graph.rnn_cells.cell import RNNCell
from headrace.graph.rnn_cells.dynamic_rnn import bidirectional_dynamic_rnn
from headrace.graph.rnn_cells.static_rnn import static_bidirectional_rnn
from headrace.graph.typing.aliases import DTypeLike, TensorLike, TensorStructure
from headrace.graph.variables.variable_scope import VariableScope, variable_scope


def stack_bidirectional_rnn(
    cells_fw: list[RNNCell],
    cells_bw: list[RNNCell],
    inputs: Sequence[TensorStructure],
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], tuple[Any, ...], tuple[Any, ...]]:
    """Runs several static bidirectional networks, one on top of the other.

    Args:
      cells_fw, cells_bw: lists of RNNCells, one per layer.
      inputs: list of tensors [batch, n], one per time step.
      initial_states_fw, initial_states_bw: lists of initial states, one per layer.
      dtype: dtype of the initial states; required without them.
      sequence_length: [batch], lengths of the sequences.
      scope: variable scope; by default "stack_bidirectional_rnn".
    Returns: (outputs, states_fw, states_bw): the outputs of both directions of the last layer
      joined, and the final states of the layers.
    Raises: ValueError for cells or states that are not lists of one length.
    """
    first, second = _states(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    ends = []
    layer: Any = inputs
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, cells in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with variable_scope(f"cell_{i}") as inner:
                layer, *end = static_bidirectional_rnn(
                    *cells,
                    layer,
                    initial_state_fw=first[i],
                    initial_state_bw=second[i],
                    sequence_length=sequence_length,
                    dtype=dtype,
                    scope=inner,
                )
            ends.append(end)
    return layer, tuple(end[0] for end in ends), tuple(end[1] for end in ends)


def stack_bidirectional_dynamic_rnn(
    cells_fw: list[RNNCell],
    cells_bw: list[RNNCell],
    inputs: TensorStructure,
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
    swap_memory: bool = False,
) -> tuple[Tensor, tuple[Any, ...], tuple[Any, ...]]:
    """Runs several dynamic bidirectional networks, one on top of the other.

    Args:
      cells_fw, cells_bw: lists of RNNCells, one per layer.
      inputs: [batch, time, n], or [time, batch, n] if time_major.
      initial_states_fw, initial_states_bw: lists of initial states, one per layer.
      dtype: dtype of the initial states; required without them.
      sequence_length: [batch], lengths of the sequences.
      parallel_iterations: iterations of the loops that may run at once.
      time_major: whether the first dimension of inputs and outputs is time.
      scope: variable scope; by default "stack_bidirectional_rnn".
      swap_memory: not used.
    Returns: (outputs, states_fw, states_bw): the outputs of both directions of the last layer
      joined, and the final states of the layers.
    Raises: ValueError for cells or states that are not lists of one length.
    """
    first, second = _states(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    ends = []
    layer: Any = inputs
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, cells in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with variable_scope(f"cell_{i}"):
                outputs, end = bidirectional_dynamic_rnn(
                    *cells,
                    layer,
                    initial_state_fw=first[i],
                    initial_state_bw=second[i],
                    sequence_length=sequence_length,
                    parallel_iterations=parallel_iterations,
                    dtype=dtype,
                    swap_memory=swap_memory,
                    time_major=time_major,
                )
                layer = concat(list(outputs), 2)
            ends.append(end)
    return layer, tuple(end[0] for end in ends), tuple(end[1] for end in ends)


def _states(cells_fw: Any, cells_bw: Any, states_fw: Any, states_bw: Any) -> list[list[Any]]:
    """Returns an initial state for each layer and direction, None where none is given."""
    for way, cells in (("fw", cells_fw), ("bw", cells_bw)):
        if not cells:
            raise ValueError(f"Must specify at least one {way} cell for BidirectionalRNN.")
        if not isinstance(cells, list):
            raise ValueError(f"cells_{way} must be a list of RNNCells (one per layer).")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for way, states in (("fw", states_fw), ("bw", states_bw)):
        if states is not None and (not isinstance(states, list) or len(states) != len(cells_fw)):
            raise ValueError(
                f"initial_states_{way} must be a list of state tensors (one per layer)."
            )
    return [states or [None] * len(cells_fw) for states in (states_fw, states_bw)]

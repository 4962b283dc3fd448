"""static_rnn and its relatives: recurrent networks unrolled in the graph."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework import nest
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import control_dependencies
from headrace.graph.rnn_cells.rnn_step import (
    check_cell,
    first_state,
    network_scope,
    state_dtype,
    step_with_lengths,
    zero_outputs,
)
from headrace.graph.typing.aliases import DTypeLike, TensorLike, TensorStructure
from headrace.graph.variables.variable_scope import variable_scope

if TYPE_CHECKING:
    from headrace.graph.rnn_cells.cell import RNNCell
    from headrace.graph.variables.variable_scope import VariableScope


def static_rnn(
    cell: RNNCell,
    inputs: Sequence[TensorStructure],
    initial_state: TensorStructure | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """Applies a cell to a list of inputs, one per time step.

    Args:
      cell: RNNCell.
      inputs: list of tensors [batch, n] or of structures of tensors, one per time step.
      initial_state: zeros by default.
      dtype: dtype of the initial state; required without initial_state.
      sequence_length: [batch] int32; beyond it outputs are zero and the state is unchanged.
      scope: variable scope, "rnn" by default.
    Returns: (list of outputs, final state).
    Raises: TypeError if inputs is not a list; ValueError for an empty list, a missing dtype, or a
      sequence_length that is not a vector.
    """
    check_cell("cell", cell)
    _check_steps(inputs)
    outputs = []
    with network_scope(scope, "rnn") as entered:
        steps = [nest.map_structure(convert_to_tensor, step) for step in inputs]
        batch = _batch(nest.flatten(steps[0])[0])
        if initial_state is None and not dtype:
            raise ValueError("If no initial_state is provided, dtype must be specified")
        state = first_state(cell, batch, dtype, initial_state)
        lengths = None
        if sequence_length is not None:
            lengths = op("Cast", sequence_length, DstT="int32", name="sequence_length")
            if lengths.get_shape().ndims not in (None, 1):
                raise ValueError(
                    "sequence_length must be a vector of length batch_size, got shape "
                    f"{lengths.get_shape()}"
                )
            nothing = zero_outputs(cell, batch, state_dtype(dtype, state))
        for time, step in enumerate(steps):
            if time > 0:
                entered.reuse_variables()
            if lengths is None:
                output, state = cell(step, state)
            else:
                output, state = step_with_lengths(
                    time, lengths, nothing, state, functools.partial(cell, step, state)
                )
            outputs.append(output)
    return outputs, state


def _check_steps(inputs: Any) -> None:
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")


def _batch(x: Tensor) -> Any:
    known = x.get_shape().as_list()[0] if x.get_shape().ndims is not None else None
    return op("Shape", x)[0] if known is None else known


def static_state_saving_rnn(
    cell: RNNCell,
    inputs: Sequence[TensorStructure],
    state_saver: Any,
    state_name: str | Sequence[str],
    sequence_length: TensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """Applies static_rnn from a saved state, and saves the final state.

    Args:
      cell: RNNCell.
      inputs: list of tensors [batch, n], one per time step.
      state_saver: object with the methods `state(name)`, which returns a tensor, and
        `save_state(name, value)`, which returns an operation.
      state_name: name of the state, or a structure of names as cell.state_size.
      the others: as in static_rnn.
    Returns: (list of outputs, final state); they depend on the operations that save the state.
    Raises: ValueError if state_name does not have the structure of cell.state_size; as static_rnn.
    """
    sizes = cell.state_size
    if nest.is_nested(sizes) != nest.is_nested(state_name):
        raise ValueError(
            "state_name should be the same type as cell.state_size.  "
            f"state_name: {state_name}, cell.state_size: {sizes}"
        )
    names = nest.flatten(state_name)
    if len(names) != len(nest.flatten(sizes)):
        raise ValueError(
            f"#elems(state_name) != #elems(state_size): {len(names)} vs. {len(nest.flatten(sizes))}"
        )
    start = nest.pack_sequence_as(sizes, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(
        cell, inputs, initial_state=start, sequence_length=sequence_length, scope=scope
    )
    saved = [
        state_saver.save_state(name, part)
        for name, part in zip(names, nest.flatten(state), strict=True)
    ]
    with control_dependencies(saved):
        outputs[-1] = nest.map_structure(lambda t: op("Identity", t), outputs[-1])
        state = nest.map_structure(lambda t: op("Identity", t), state)
    return outputs, state


def static_bidirectional_rnn(
    cell_fw: RNNCell,
    cell_bw: RNNCell,
    inputs: Sequence[TensorStructure],
    initial_state_fw: TensorStructure | None = None,
    initial_state_bw: TensorStructure | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any, Any]:
    """Applies static_rnn forwards and, with another cell, backwards.

    Args:
      cell_fw, cell_bw: RNNCells.
      initial_state_fw, initial_state_bw: their initial states.
      the others: as in static_rnn.
    Returns: (list of concatenated outputs, final forward state, final backward state).
    Raises: as static_rnn.
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    _check_steps(inputs)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            outputs_fw, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=forward
            )
        with variable_scope("bw") as backward:
            turned, state_bw = static_rnn(
                cell_bw,
                _reversed(list(inputs), sequence_length),
                initial_state_bw,
                dtype,
                sequence_length,
                scope=backward,
            )
    outputs_bw = _reversed(turned, sequence_length)
    outputs = [
        nest.map_structure(lambda a, b: op("ConcatV2", [a, b], 1), fw, bw)
        for fw, bw in zip(outputs_fw, outputs_bw, strict=True)
    ]
    return outputs, state_fw, state_bw


def _reversed(steps: list[Any], lengths: Any) -> list[Any]:
    """Reverses the steps; with lengths each row is reversed up to its length."""
    if lengths is None:
        return steps[::-1]
    columns = zip(*[nest.flatten(step) for step in steps], strict=True)
    turned = []
    for column in columns:
        joint = op("Pack", list(column))
        back = op("ReverseSequence", joint, lengths, seq_dim=0, batch_dim=1)
        parts = op("Unpack", back, num=len(steps))
        for part, like in zip(parts, column, strict=True):
            part.set_shape(convert_to_tensor(like).get_shape())
        turned.append(parts)
    return [
        nest.pack_sequence_as(step, [parts[i] for parts in turned]) for i, step in enumerate(steps)
    ]

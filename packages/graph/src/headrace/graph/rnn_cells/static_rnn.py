"""static_rnn: recurrent networks unrolled in the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework import nest
from headrace.graph.framework.operation import Tensor
from headrace.graph.rnn_cells.cell import zero_states
from headrace.graph.typing.aliases import DTypeLike, TensorLike
from headrace.graph.variables.variable_scope import variable_scope

if TYPE_CHECKING:
    from headrace.graph.rnn_cells.cell import RNNCell
    from headrace.graph.variables.variable_scope import VariableScope


def static_rnn(
    cell: RNNCell,
    inputs: TensorLike,
    initial_state: Any = None,
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
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    outputs = []
    with variable_scope(scope or "rnn") as entered:
        inputs = [nest.map_structure(convert_to_tensor, step) for step in inputs]
        batch = _batch(nest.flatten(inputs[0])[0])
        if initial_state is not None:
            state = initial_state
        elif dtype is None:
            raise ValueError("If no initial_state is provided, dtype must be specified")
        else:
            state = cell.zero_state(batch, dtype)
        lengths = None
        if sequence_length is not None:
            lengths = convert_to_tensor(sequence_length, dtype="int32", name="sequence_length")
            if lengths.get_shape().ndims not in (None, 1):
                raise ValueError(
                    "sequence_length must be a vector of length batch_size, got shape "
                    f"{lengths.get_shape()}"
                )
        for time, step in enumerate(inputs):
            if time > 0:
                entered.reuse_variables()
            output, new_state = cell(step, state)
            if lengths is not None:
                nothing = zero_states(cell.output_size, batch, nest.flatten(output)[0].dtype)
                over = op("GreaterEqual", time, lengths)
                output = _where(over, nothing, output)
                new_state = _where(over, state, new_state)
            outputs.append(output)
            state = new_state
    return outputs, state


def _batch(x: Tensor) -> Any:
    known = x.get_shape().as_list()[0] if x.get_shape().ndims is not None else None
    return op("Shape", x)[0] if known is None else known


def _where(over: Tensor, old: Any, new: Any) -> Any:
    """Selects old values for finished rows, new values for the others."""

    def chosen(a: Tensor, b: Tensor) -> Tensor:
        flags = over
        for _ in range((b.get_shape().ndims or 1) - 1):
            flags = op("ExpandDims", flags, -1)
        result: Tensor = op("SelectV2", flags, a, b)
        result.set_shape(b.get_shape())
        return result

    return nest.map_structure(chosen, old, new)


def static_bidirectional_rnn(
    cell_fw: RNNCell,
    cell_bw: RNNCell,
    inputs: TensorLike,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
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
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
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

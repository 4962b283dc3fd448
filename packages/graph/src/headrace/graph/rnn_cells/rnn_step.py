"""What dynamic, static and raw recurrent networks have in common."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace.formats.dtypes import DType
from headrace.graph.builder.op_builder import op
from headrace.graph.framework import nest
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import colocate_with
from headrace.graph.ops.arrays.creation import zeros
from headrace.graph.ops.elementwise.elementwise import where
from headrace.graph.ops.tensor_arrays.tensor_array import TensorArray
from headrace.graph.rnn_cells.cell import batched_shape
from headrace.graph.variables.variable_scope import VariableScope, variable_scope

_CELL_PARTS = ("output_size", "state_size", "zero_state")


def check_cell(name: str, cell: Any) -> None:
    """Raises: TypeError if a cell lacks what networks need of it."""
    missing = [f"'{part}' property is missing" for part in _CELL_PARTS if not _has(cell, part)]
    if not callable(cell):
        missing.append("is not callable")
    if missing:
        raise TypeError(f"The argument {name!r} ({cell}) is not an RNNCell: {', '.join(missing)}.")


def _has(cell: Any, part: str) -> bool:
    try:
        getattr(cell, part)
    except AttributeError:
        return False
    return True


@contextlib.contextmanager
def network_scope(scope: str | VariableScope | None, default: str) -> Iterator[VariableScope]:
    """Enters the variable scope of a network, whose loop reads its variables once."""
    with variable_scope(scope or default) as entered:
        context = get_default_graph()._get_control_flow_context()
        in_loop = context is not None and context.while_context is not None
        if not in_loop and entered.caching_device is None:
            entered.set_caching_device(lambda operation: operation.device)
        yield entered


def state_dtype(dtype: Any, state: Any) -> DType:
    """Returns the given dtype, or that of the tensors of a state.

    Raises: ValueError for no tensors, or tensors of several dtypes.
    """
    if dtype is not None:
        return dtype
    dtypes = [part.dtype for part in nest.flatten(state)]
    if not dtypes:
        raise ValueError("Unable to infer dtype from empty state.")
    if any(other != dtypes[0] for other in dtypes):
        raise ValueError(
            "State has tensors of different inferred_dtypes. Unable to infer a single "
            "representative dtype."
        )
    return dtypes[0]


def batch_size_of(inputs: Sequence[Tensor]) -> Any:
    """Returns the size of dimension 1 of inputs [time, batch, ...]: an int if it is known.

    Raises: ValueError for inputs with fewer than two dimensions.
    """
    for tensor in inputs:
        shape = tensor.get_shape()
        if shape.ndims is None:
            continue
        if shape.ndims < 2:
            raise ValueError(f"Expected input tensor {tensor.name} to have rank at least 2")
        if shape.as_list()[1] is not None:
            return shape.as_list()[1]
    return op("Shape", inputs[0])[1]


def first_state(cell: Any, batch_size: Any, dtype: Any, initial_state: Any) -> Any:
    """Returns initial_state, or the cell's state of zeros.

    Raises: ValueError without initial_state and dtype.
    """
    if initial_state is not None:
        return initial_state
    if not dtype:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def zero_outputs(cell: Any, batch_size: Any, dtype: Any) -> Any:
    """Returns zeros in the structure of a cell's output."""

    def created(size: Any) -> Tensor:
        shape, known = batched_shape(batch_size, size)
        zero = zeros(shape, dtype)
        zero.set_shape(known)
        return zero

    return nest.map_structure(created, cell.output_size)


def kept_rows(finished: Tensor, old: Any, new: Any) -> Any:
    """Returns new values, with the old ones in the rows that are finished.

    Args:
      finished: [batch] bool.
      old, new: structures of tensors [batch, ...]; scalars and TensorArrays are all new.
    """

    def chosen(before: Any, after: Any) -> Any:
        if isinstance(before, TensorArray) or before.get_shape().ndims == 0:
            return after
        with colocate_with(after):
            return where(finished, before, after)

    return nest.map_structure(chosen, old, new)


def step_with_lengths(
    time: Any,
    lengths: Tensor,
    nothing: Any,
    state: Any,
    call_cell: Callable[[], tuple[Any, Any]],
) -> tuple[Any, Any]:
    """Runs one step of a network, in which rows beyond their length do not change.

    Args:
      time: int or int32 scalar.
      lengths: [batch] int32.
      nothing: outputs of finished rows.
      state: the state before the step.
      call_cell: returns the output and the next state of the cell.
    Returns: (output, next state).
    """
    finished = op("GreaterEqual", time, lengths)
    output, following = call_cell()
    nest.assert_same_structure(nothing, output)
    nest.assert_same_structure(state, following)
    output = kept_rows(finished, nothing, output)
    following = kept_rows(finished, state, following)
    for result, like in (*_pairs(output, nothing), *_pairs(following, state)):
        if not isinstance(result, TensorArray):
            result.set_shape(like.get_shape())
    return output, following


def _pairs(results: Any, likes: Any) -> list[tuple[Any, Any]]:
    return list(zip(nest.flatten(results), nest.flatten(likes), strict=True))

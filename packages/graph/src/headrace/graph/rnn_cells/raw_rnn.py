"""raw_rnn: a recurrent network whose inputs, outputs and end a function determines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.while_loop import while_loop
from headrace.graph.framework import nest
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import as_shape
from headrace.graph.ops.arrays.creation import zeros
from headrace.graph.ops.reduction import reduce_all
from headrace.graph.ops.tensor_arrays.tensor_array import TensorArray
from headrace.graph.rnn_cells.cell import batched_shape
from headrace.graph.rnn_cells.rnn_step import check_cell, kept_rows, network_scope

if TYPE_CHECKING:
    from headrace.graph.rnn_cells.cell import RNNCell
    from headrace.graph.variables.variable_scope import VariableScope


def raw_rnn(
    cell: RNNCell,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any, Any]:
    """Applies a cell until a function says that all rows are finished.

    Args:
      cell: RNNCell.
      loop_fn: function from (time, cell_output, cell_state, loop_state) to (finished, next_input,
        next_cell_state, emit_output, next_loop_state). The first call has time 0 and None for the
        others; it returns the first input and state, and an example of emit_output or None for
        cell.output_size. finished is [batch] bool; next_loop_state may contain TensorArrays.
      parallel_iterations: number of iterations that may run in parallel; 32 by default.
      swap_memory: whether tensors kept for gradients may be moved to host memory.
      scope: variable scope, "rnn" by default.
    Returns: (a structure of TensorArrays with emit_output of each step, final state, final
      loop_state). Finished rows emit zeros and keep their state.
    Raises: TypeError if cell is not an RNNCell or loop_fn is not callable; ValueError for values of
      other structures.
    """
    check_cell("cell", cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with network_scope(scope, "rnn"):
        time = constant(0, "int32")
        finished, first_input, first_state, emitted, first_loop_state = loop_fn(
            time, None, None, None
        )
        loop_state = constant(0, "int32") if first_loop_state is None else first_loop_state
        flat_input = nest.flatten(first_input)
        rows = flat_input[0].get_shape()[0]
        for x in flat_input:
            rows.assert_is_compatible_with(x.get_shape()[0])
        batch = rows.value if rows.value is not None else op("Shape", flat_input[0])[0]
        nest.assert_same_structure(first_state, cell.state_size)
        state = nest.map_structure(convert_to_tensor, first_state)
        arrays, nothing = _emissions(cell, emitted, state, rows.value, batch)

        def step(
            time: Tensor, finished: Tensor, x: Any, arrays: Any, state: Any, loop_state: Any
        ) -> Any:
            output, cell_state = cell(x, state)
            nest.assert_same_structure(state, cell_state)
            nest.assert_same_structure(cell.output_size, output)
            following = time + 1
            now, next_input, next_state, emit, next_loop_state = loop_fn(
                following, output, cell_state, loop_state
            )
            nest.assert_same_structure(state, next_state)
            nest.assert_same_structure(x, next_input)
            nest.assert_same_structure(arrays, emit)
            emit = kept_rows(finished, nothing, emit)
            next_state = kept_rows(finished, state, next_state)
            arrays = nest.map_structure(lambda array, e: array.write(time, e), arrays, emit)
            return (
                following,
                op("LogicalOr", finished, now),
                next_input,
                arrays,
                next_state,
                loop_state if next_loop_state is None else next_loop_state,
            )

        result = while_loop(
            lambda time, finished, *_: op("LogicalNot", reduce_all(finished)),
            step,
            (time, finished, first_input, arrays, state, loop_state),
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        arrays, state, loop_state = result[-3:]
        return arrays, state, None if first_loop_state is None else loop_state


def _emissions(cell: Any, emitted: Any, state: Any, rows: int | None, batch: Any) -> Any:
    """Returns TensorArrays for what is emitted, and zeros of its shape, in its structure."""
    if emitted is None:
        structure = cell.output_size
        sizes = nest.flatten(structure)
        dtypes = [nest.flatten(state)[0].dtype.base_dtype] * len(sizes)
    else:
        structure = emitted
        values = [convert_to_tensor(value) for value in nest.flatten(emitted)]
        sizes = [
            v.get_shape() if v.get_shape().is_fully_defined() else op("Shape", v) for v in values
        ]
        dtypes = [v.dtype.base_dtype for v in values]
    arrays, nothing = [], []
    for i, (size, dtype) in enumerate(zip(sizes, dtypes, strict=True)):
        shape, known = batched_shape(batch, size)
        known = [rows, *known[1:]]
        arrays.append(
            TensorArray(
                dtype,
                size=0,
                dynamic_size=True,
                element_shape=None if isinstance(size, Tensor) else as_shape(known),
                name=f"rnn_output_{i}",
            )
        )
        nothing.append(zeros(shape, dtype))
    return nest.pack_sequence_as(structure, arrays), nest.pack_sequence_as(structure, nothing)

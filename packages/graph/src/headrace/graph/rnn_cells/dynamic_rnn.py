"""Recurrent networks as loops: dynamic_rnn and bidirectional_dynamic_rnn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.assertion import Assert
from headrace.graph.control_flow.while_loop import while_loop
from headrace.graph.framework import nest
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import control_dependencies, name_scope
from headrace.graph.framework.tensor_shape import as_shape
from headrace.graph.ops.arrays.arrays import reverse, reverse_sequence
from headrace.graph.ops.arrays.creation import range as range_op
from headrace.graph.ops.arrays.joining import concat, stack
from headrace.graph.ops.arrays.shapes import rank, transpose
from headrace.graph.ops.elementwise.elementwise import cast
from headrace.graph.ops.reduction import reduce_all, reduce_max, reduce_min
from headrace.graph.ops.tensor_arrays.tensor_array import TensorArray
from headrace.graph.rnn_cells.rnn_step import (
    batch_size_of,
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


def dynamic_rnn(
    cell: RNNCell,
    inputs: TensorStructure,
    sequence_length: TensorLike | None = None,
    initial_state: TensorStructure | None = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any]:
    """Applies a cell to the time steps of inputs, in a loop.

    Args:
      cell: RNNCell.
      inputs: [batch, time, ...], or [time, batch, ...] if time_major; or a structure of such
        tensors.
      sequence_length: [batch] int32 or int64; beyond it outputs are zero and the state is
        unchanged.
      initial_state: in the structure of cell.state_size; zeros by default.
      dtype: dtype of the initial state and the output; required without initial_state.
      parallel_iterations: number of iterations that may run in parallel; 32 by default.
      swap_memory: whether tensors kept for gradients may be moved to host memory.
      time_major: time is the first dimension of inputs and outputs.
      scope: variable scope, "rnn" by default.
    Returns: (outputs, final state): outputs [batch, time, *cell.output_size], or [time, batch, ...]
      if time_major.
    Raises: TypeError if cell is not an RNNCell; ValueError for inputs of fewer than three
      dimensions or unknown depth, a missing dtype, or a sequence_length that is not a vector.

    >>> cell = hr.nn.rnn_cell.GRUCell(2)
    >>> outputs, state = hr.nn.dynamic_rnn(cell, hr.zeros([4, 7, 3]), dtype=hr.float32)
    >>> print(outputs.shape, state.shape)
    (4, 7, 2) (4, 2)
    """
    check_cell("cell", cell)
    with network_scope(scope, "rnn"):
        flat = nest.flatten(inputs)
        if not time_major:
            flat = [convert_to_tensor(x) for x in flat]
            flat = [_with_time_swapped(x) for x in flat]
        else:
            flat = [convert_to_tensor(x) for x in flat]
        lengths: Any = None
        if sequence_length is not None:
            lengths = cast(sequence_length, "int32")
            if lengths.get_shape().ndims not in (None, 1):
                raise ValueError(
                    "sequence_length must be a vector of length batch_size, but saw shape: "
                    f"{lengths.get_shape()}"
                )
            lengths = op("Identity", lengths, name="sequence_length")
        batch_size = batch_size_of(flat)
        state = first_state(cell, batch_size, dtype, initial_state)
        if lengths is not None:
            with control_dependencies([_has_shape(lengths, [batch_size])]):
                lengths = op("Identity", lengths, name="CheckSeqLen")
        outputs, final = _loop(
            cell,
            nest.pack_sequence_as(inputs, flat),
            state,
            batch_size,
            parallel_iterations or 32,
            swap_memory,
            lengths,
            dtype,
        )
        if not time_major:
            outputs = nest.map_structure(_with_time_swapped, outputs)
        return outputs, final


def _with_time_swapped(x: Tensor) -> Tensor:
    """Exchanges the first two dimensions."""
    shape = x.get_shape()
    if shape.ndims is not None and shape.ndims < 2:
        return x
    swapped = transpose(x, concat([[1, 0], range_op(2, rank(x))], 0))
    if shape.ndims is not None:
        batch, time, *rest = shape.as_list()
        swapped.set_shape([time, batch, *rest])
    return swapped


def _has_shape(x: Tensor, shape: list[Any]) -> Any:
    actual, expected = op("Shape", x), stack(shape)
    return Assert(
        reduce_all(op("Equal", actual, expected)),
        [f"Expected shape for Tensor {x.name} is ", expected, " but saw shape: ", actual],
    )


def _check_inputs(flat: list[Tensor]) -> tuple[int | None, int | None]:
    """Returns the known numbers of time steps and rows."""
    shapes = [x.get_shape().with_rank_at_least(3).as_list() for x in flat]
    steps, rows = shapes[0][:2]
    for shape in shapes:
        if None in shape[2:]:
            raise ValueError(
                "Input size (depth of inputs) must be accessible via shape inference, but saw "
                "value None."
            )
        if shape[0] != steps:
            raise ValueError(
                "Time steps is not the same for all the elements in the input in a batch."
            )
        if shape[1] != rows:
            raise ValueError("Batch_size is not the same for all the elements in the input.")
    return steps, rows


def _loop(
    cell: Any,
    inputs: Any,
    state: Any,
    batch_size: Any,
    parallel_iterations: int,
    swap_memory: bool,
    lengths: Tensor | None,
    dtype: Any,
) -> tuple[Any, Any]:
    """Runs the loop over inputs [time, batch, ...]. Returns: (outputs, final state)."""
    flat = nest.flatten(inputs)
    count = op("Shape", flat[0])[0]
    steps, rows = _check_inputs(flat)
    out_dtype = state_dtype(dtype, state)
    nothing = zero_outputs(cell, batch_size, out_dtype)
    longest = count
    count_nodes(5 if rows is None else 0)  # the size of the batch
    if lengths is not None:
        reduce_min(lengths)  # as in TensorFlow, whose graphs have the same number of operations
        longest = reduce_max(lengths)
    time = constant(0, "int32", name="time")
    with name_scope("dynamic_rnn") as base:
        pass
    sizes = nest.flatten(cell.output_size)
    output_arrays = [
        TensorArray(
            out_dtype,
            size=count,
            element_shape=as_shape([rows]).concatenate(_static(size)),
            tensor_array_name=f"{base}output_{i}",
        )
        for i, size in enumerate(sizes)
    ]
    input_arrays = [
        TensorArray(
            x.dtype.base_dtype,
            size=count,
            element_shape=x.get_shape()[1:],
            tensor_array_name=f"{base}input_{i}",
        )
        for i, x in enumerate(flat)
    ]
    input_arrays = [array.unstack(x) for array, x in zip(input_arrays, flat, strict=True)]

    def step(time: Tensor, arrays: list[TensorArray], state: Any) -> Any:
        parts = [array.read(time) for array in input_arrays]
        for part, x in zip(parts, flat, strict=True):
            part.set_shape(x.get_shape()[1:])
        now = nest.pack_sequence_as(inputs, parts)
        if lengths is None:
            output, following = cell(now, state)
        else:
            output, following = step_with_lengths(
                time, lengths, nothing, state, lambda: cell(now, state)
            )
        values = nest.flatten(output)
        written = [array.write(time, value) for array, value in zip(arrays, values, strict=True)]
        return time + 1, written, following

    # At least one step, so that the arrays get the shape of the outputs.
    bound = op("Minimum", count, op("Maximum", 1, longest))
    _, filled, final = while_loop(
        lambda time, *_: time < bound,
        step,
        (time, output_arrays, state),
        parallel_iterations=parallel_iterations,
        maximum_iterations=count,
        swap_memory=swap_memory,
    )
    outputs = [array.stack() for array in filled]
    for output, size in zip(outputs, sizes, strict=True):
        output.set_shape(as_shape([steps, rows]).concatenate(_static(size)))
        count_nodes(1 + (steps is not None and rows is not None))  # this shape
    return nest.pack_sequence_as(cell.output_size, outputs), final


def _static(size: Any) -> Any:
    """Returns a size as a TensorShape, as far as it is known."""
    if isinstance(size, Tensor):
        from headrace.graph.framework.constant_value import value_as_shape

        return as_shape(value_as_shape(size))
    return as_shape([size] if isinstance(size, int) else size)


def bidirectional_dynamic_rnn(
    cell_fw: RNNCell,
    cell_bw: RNNCell,
    inputs: TensorStructure,
    sequence_length: TensorLike | None = None,
    initial_state_fw: TensorStructure | None = None,
    initial_state_bw: TensorStructure | None = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any]:
    """Applies dynamic_rnn forwards and, with another cell, backwards.

    Args:
      cell_fw, cell_bw: RNNCells.
      initial_state_fw, initial_state_bw: their initial states.
      scope: variable scope, "bidirectional_rnn" by default.
      the others: as in dynamic_rnn. Each row is reversed up to its length.
    Returns: ((forward outputs, backward outputs), (final forward state, final backward state));
      the outputs are in the order of the inputs.
    Raises: as dynamic_rnn.
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    options: dict[str, Any] = {
        "sequence_length": sequence_length,
        "dtype": dtype,
        "parallel_iterations": parallel_iterations,
        "swap_memory": swap_memory,
        "time_major": time_major,
    }

    def turned(x: Any) -> Tensor:
        time, batch = (0, 1) if time_major else (1, 0)
        if sequence_length is not None:
            return reverse_sequence(
                input=x, seq_lengths=sequence_length, seq_axis=time, batch_axis=batch
            )
        return reverse(x, axis=[time])

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            outputs_fw, state_fw = dynamic_rnn(
                cell_fw, inputs, initial_state=initial_state_fw, scope=forward, **options
            )
        with variable_scope("bw") as backward:
            outputs_bw, state_bw = dynamic_rnn(
                cell_bw,
                nest.map_structure(turned, inputs),
                initial_state=initial_state_bw,
                scope=backward,
                **options,
            )
    outputs_bw = nest.map_structure(turned, outputs_bw)
    return (outputs_fw, outputs_bw), (state_fw, state_bw)

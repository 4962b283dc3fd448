"""Decoder, and the loop that runs it."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.while_loop import while_loop
from headrace.graph.framework import nest
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import TensorShape, as_shape
from headrace.graph.ops.arrays.creation import zeros_like
from headrace.graph.ops.reduction import reduce_all
from headrace.graph.ops.tensor_arrays.tensor_array import TensorArray
from headrace.graph.rnn_cells.cell import zero_states
from headrace.graph.typing.aliases import Structure, TensorLike
from headrace.graph.variables.variable_scope import VariableScope, variable_scope


class Decoder:
    """Makes the steps of a sequence; subclasses implement the properties and methods.

    At each step it takes inputs and a state, which are structures of tensors and TensorArrays, and
    returns outputs, the next state, the next inputs, and which sequences are finished.
    """

    @property
    def batch_size(self) -> Any:
        """Number of sequences: int, or int32 scalar."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """Structure of the sizes of the outputs: ints or TensorShapes."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """Structure of the dtypes of the outputs."""
        raise NotImplementedError

    def initialize(self, name: str | None = None) -> Any:
        """Returns (finished, first inputs, first state); finished is [batch] bool."""
        raise NotImplementedError

    def step(
        self, time: TensorLike, inputs: Structure, state: Structure, name: str | None = None
    ) -> Any:
        """Returns (outputs, next state, next inputs, finished).

        Args:
          time: int32 scalar, number of the step from 0.
          inputs, state: those that the step before returned.
        """
        raise NotImplementedError

    def finalize(self, outputs: Structure, final_state: Structure, sequence_lengths: Tensor) -> Any:
        """Returns (outputs, state) after the last step.

        Args:
          outputs: the outputs of all steps, [steps, batch, ...].
          sequence_lengths: [batch] int32.
        """
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether a step's `finished` replaces that of the steps before, instead of joining it."""
        return False


def dynamic_decode(
    decoder: Decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: TensorLike | None = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: str | VariableScope | None = None,
    **kwargs: Any,
) -> tuple[Any, Any, Tensor]:
    """Runs a decoder until all sequences are finished.

    Args:
      decoder: the decoder.
      output_time_major: return outputs as [steps, batch, ...] instead of [batch, steps, ...].
      impute_finished: copy the state of finished sequences, and set their outputs to zero.
      maximum_iterations: greatest number of steps; None for no bound.
      parallel_iterations, swap_memory: as in hr.while_loop.
      scope: variable scope.
      kwargs: not supported: arguments of Keras decoders.
    Returns: (outputs, final state, lengths of the sequences, [batch] int32).
    Raises: TypeError for another decoder or keyword; ValueError if maximum_iterations is not a
      scalar.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    if kwargs:
        raise TypeError(f"dynamic_decode: unexpected arguments {', '.join(sorted(kwargs))}")
    with variable_scope(scope, "decoder"):
        most = None
        if maximum_iterations is not None:
            most = convert_to_tensor(maximum_iterations, dtype="int32", name="maximum_iterations")
            if most.get_shape().ndims != 0:
                raise ValueError("maximum_iterations must be a scalar")
        finished, inputs, state = decoder.initialize()
        sizes, dtypes = decoder.output_size, decoder.output_dtype
        zero_outputs = nest.map_structure(
            lambda size, dtype: zero_states(size, decoder.batch_size, dtype), sizes, dtypes
        )
        if most is not None:
            finished = op("LogicalOr", finished, op("LessEqual", most, 0))
        arrays = nest.map_structure(
            lambda size, dtype: TensorArray(
                dtype=as_dtype(dtype),
                size=0,
                dynamic_size=True,
                element_shape=_element_shape(decoder.batch_size, size),
            ),
            sizes,
            dtypes,
        )

        def body(
            time: Tensor, arrays: Any, state: Any, inputs: Any, done: Any, lengths: Any
        ) -> Any:
            outputs, next_state, next_inputs, now_done = decoder.step(time, inputs, state)
            count_nodes(1)
            next_done = now_done
            if not decoder.tracks_own_finished:
                next_done = op("LogicalOr", now_done, done)
            steps = op("Fill", op("Shape", lengths), time + 1)
            next_lengths = op("Select", done, lengths, steps)
            nest.assert_same_structure(state, next_state)
            nest.assert_same_structure(inputs, next_inputs)
            nest.assert_same_structure(arrays, outputs)
            if impute_finished:
                outputs = nest.map_structure(
                    lambda out, zero: op("Select", done, zero, out), outputs, zero_outputs
                )
                next_state = nest.map_structure(
                    lambda new, old: _kept(done, new, old), next_state, state
                )
            written = nest.map_structure(lambda array, out: array.write(time, out), arrays, outputs)
            return time + 1, written, next_state, next_inputs, next_done, next_lengths

        lengths = zeros_like(finished, "int32")
        result = while_loop(
            lambda time, arrays, state, inputs, done, lengths: op("LogicalNot", reduce_all(done)),
            body,
            (constant(0), arrays, state, inputs, finished, lengths),
            parallel_iterations=parallel_iterations,
            maximum_iterations=most,
            swap_memory=swap_memory,
        )
        outputs = nest.map_structure(lambda array: array.stack(), result[1])
        final_state, final_lengths = result[2], result[5]
        try:
            outputs, final_state = decoder.finalize(outputs, final_state, final_lengths)
        except NotImplementedError:
            pass
        if not output_time_major:
            outputs = nest.map_structure(with_time_swapped, outputs)
        return outputs, final_state, final_lengths


def _element_shape(batch_size: Any, size: Any) -> TensorShape | None:
    if not isinstance(size, TensorShape) or size.ndims == 0:
        return None
    known = constant_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
    return TensorShape([known]).concatenate(size)


def _kept(done: Tensor, new: Any, old: Any) -> Any:
    """Returns the old state of finished sequences and the new one of the others."""
    if isinstance(old, TensorArray):
        return new
    new.set_shape(old.get_shape())
    return new if new.get_shape().ndims == 0 else op("Select", done, old, new)


def with_time_swapped(x: Any) -> Any:
    """Exchanges the first two dimensions of a tensor; others are unchanged."""
    if not isinstance(x, Tensor):
        return x
    shape = x.get_shape()
    if shape.ndims is not None and shape.ndims < 2:
        return x
    rest = op("Range", 2, op("Rank", x), 1)
    result = op("Transpose", x, op("ConcatV2", [[1, 0], rest], 0))
    if shape.ndims is not None:
        first, second, *others = shape.as_list()
        result.set_shape(as_shape([second, first, *others]))
    return result

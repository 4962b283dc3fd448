"""BeamSearchDecoder: keeps the best sequences at each step."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.contrib.seq2seq.attention_wrapper import AttentionWrapperState
from headrace.graph.contrib.seq2seq.basic_decoder import rnn_output_size
from headrace.graph.contrib.seq2seq.beam_paths import gather_tree, gather_tree_from_array
from headrace.graph.contrib.seq2seq.beam_scores import beam_scores, length_increase, masked_scores
from headrace.graph.contrib.seq2seq.decoder import Decoder
from headrace.graph.contrib.seq2seq.sampling import checked_tokens, embedding_function
from headrace.graph.control_flow.cond import cond
from headrace.graph.framework import nest
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.layers.layer import Layer
from headrace.graph.ops.activations import log_softmax
from headrace.graph.ops.arrays.creation import one_hot
from headrace.graph.ops.arrays.creation import range as _range
from headrace.graph.ops.gather import gather
from headrace.graph.ops.reduction import reduce_all, reduce_max, reduce_mean, top_k
from headrace.graph.ops.tensor_arrays.tensor_array import TensorArray
from headrace.graph.rnn_cells.cell import RNNCell
from headrace.graph.rnn_cells.rnn_step import check_cell
from headrace.graph.typing.aliases import TensorLike

_INT32 = as_dtype("int32")


class BeamSearchDecoderState(
    collections.namedtuple(
        "BeamSearchDecoderState",
        ("cell_state", "log_probs", "finished", "lengths", "accumulated_attention_probs"),
    )
):
    """State of the cell; log probability, end and length of each beam, [batch, beams]."""

    __slots__ = ()


class BeamSearchDecoderOutput(
    collections.namedtuple("BeamSearchDecoderOutput", ("scores", "predicted_ids", "parent_ids"))
):
    """Score, id, and beam of the step before, of each beam: [batch, beams]."""

    __slots__ = ()


class FinalBeamSearchDecoderOutput(
    collections.namedtuple(
        "FinalBeamSearchDecoderOutput", ("predicted_ids", "beam_search_decoder_output")
    )
):
    """The sequences, best first: [batch, steps, beams]; and the outputs of all steps."""

    __slots__ = ()


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Repeats each example of a batch, for the beams of a BeamSearchDecoder.

    Args:
      t: structure of [batch, ...] of known rank.
      multiplier: how often.
    Returns: [batch * multiplier, ...]: the copies of an example follow each other.
    Raises: ValueError for an unknown rank, or rank 0.
    """
    with name_scope(name, "tile_batch", nest.flatten(t)):
        return nest.map_structure(lambda x: _tiled(x, multiplier), t)


def _tiled(value: Any, multiplier: int) -> Tensor:
    x = convert_to_tensor(value, name="t")
    static = x.get_shape()
    if not static.ndims:
        raise ValueError("t must have statically known rank")
    shape = op("Shape", x)
    wide = op("Tile", op("ExpandDims", x, 1), [1, multiplier] + [1] * (static.ndims - 1))
    flat = op("ConcatV2", [op("Pack", [shape[0] * multiplier]), shape[1:]], 0)
    result: Tensor = op("Reshape", wide, flat)
    batch, *rest = static.as_list()
    result.set_shape([None if batch is None else batch * multiplier, *rest])
    return result


class BeamSearchDecoder(Decoder):
    """Decodes by beam search.

    With an AttentionWrapper, memory, lengths and final state of the encoder are repeated by
    tile_batch before, and the state is made by zero_state for batch * beam_width.

    Args:
      cell: the cell.
      embedding: function of ids, or the table of embedding_lookup.
      start_tokens: [batch] int32.
      end_token: int32 scalar that ends a sequence.
      initial_state: state for batch * beam_width sequences.
      beam_width: number of beams.
      output_layer: layer such as hr.layers.Dense, which makes logits of the outputs.
      length_penalty_weight: exponent of the length by which log probabilities are divided.
      coverage_penalty_weight: weight of the penalty for parts of the memory without attention.
      reorder_tensor_arrays: order the TensorArrays of the state, such as the alignment history, by
        the paths of the beams; they are returned stacked.
    Raises: TypeError for a cell or layer of another type; ValueError for another rank of
      start_tokens or end_token.
    Source: Wu et al. 2016 (penalties).
    """

    def __init__(
        self,
        cell: RNNCell,
        embedding: Any,
        start_tokens: TensorLike,
        end_token: TensorLike,
        initial_state: Any,
        beam_width: int,
        output_layer: Layer | None = None,
        length_penalty_weight: float = 0.0,
        coverage_penalty_weight: float = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        check_cell("cell", cell)
        if output_layer is not None and not isinstance(output_layer, Layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell = cell
        self._output_layer = output_layer
        self._reorder_tensor_arrays = reorder_tensor_arrays
        self._beam_width = beam_width
        self._length_penalty_weight = length_penalty_weight
        self._coverage_penalty_weight = coverage_penalty_weight
        self._embedding_fn = embedding_function(embedding)
        start, self._end_token = checked_tokens(start_tokens, end_token)
        self._batch_size = op("Size", start)
        self._static_batch_size = constant_value(self._batch_size)
        if self._static_batch_size is None:
            self._static_batch_size = start.get_shape()[0].value
        self._initial_cell_state = nest.map_structure(self._split_state, initial_state)
        wide = op("Tile", op("ExpandDims", start, 1), [1, beam_width])
        self._start_inputs = self._embedding_fn(wide)
        first = op("Fill", op("Pack", [self._batch_size]), 0)
        self._first = first
        self._finished = one_hot(first, beam_width, on_value=False, off_value=True, dtype="bool")

    batch_size = property(lambda self: self._batch_size)
    tracks_own_finished = property(lambda self: True)

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        """[beams] for scores, ids and parents."""
        size = TensorShape([self._beam_width])
        return BeamSearchDecoderOutput(size, size, size)

    @property
    def output_dtype(self) -> BeamSearchDecoderOutput:
        """The dtype of the state for scores, int32 for ids and parents."""
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        size = rnn_output_size(self._cell, self._output_layer)
        return BeamSearchDecoderOutput(nest.map_structure(lambda _: dtype, size), _INT32, _INT32)

    def initialize(self, name: str | None = None) -> Any:
        """Returns (finished, first inputs, first state); at first only one beam is open."""
        dtype = nest.flatten(self._initial_cell_state)[0].dtype.base_dtype
        attention = self._attention(self._initial_cell_state)
        state = BeamSearchDecoderState(
            cell_state=self._initial_cell_state,
            log_probs=one_hot(self._first, self._beam_width, on_value=constant(0.0, dtype),
                              off_value=constant(-np.inf, dtype), dtype=dtype),
            finished=self._finished,
            lengths=op("Fill", op("Pack", [self._batch_size, self._beam_width]),
                       constant(0, "int64")),
            accumulated_attention_probs=() if attention is None else attention,
        )  # fmt: skip
        return self._finished, self._start_inputs, state

    # ---- beams of a batch --------------------------------------------------------------------

    def _split(self, t: Tensor) -> Tensor:
        """Converts [batch * beams, ...] to [batch, beams, ...]."""
        shape, static = op("Shape", t), t.get_shape()
        rows, *rest = static.as_list()
        known = self._static_batch_size
        if rows is not None and known is not None and rows != known * self._beam_width:
            raise ValueError(
                "Unexpected behavior when reshaping between beam width and batch size.  The "
                f"tensor has shape: {static}.  We expected its first dimension to be batch_size * "
                f"beam_width == {known * self._beam_width}.  Perhaps you forgot to create a "
                "zero_state with batch_size=encoder_batch_size * beam_width?"
            )
        sizes = op("ConcatV2", [op("Pack", [self._batch_size, self._beam_width]), shape[1:]], 0)
        result: Tensor = op("Reshape", t, sizes)
        result.set_shape([known, self._beam_width, *rest])
        return result

    def _merge(self, t: Tensor) -> Tensor:
        """Converts [batch, beams, ...] to [batch * beams, ...]."""
        rest = op("Shape", t)[2:]
        sizes = op("ConcatV2", [op("Pack", [self._batch_size * self._beam_width]), rest], 0)
        result: Tensor = op("Reshape", t, sizes)
        known = self._static_batch_size
        rows = None if known is None else known * self._beam_width
        result.set_shape([rows, *t.get_shape().as_list()[2:]])
        return result

    def _split_state(self, t: Any) -> Any:
        if isinstance(t, TensorArray):
            return t
        return self._split(t) if _rank(t) >= 1 else t

    def _merge_state(self, t: Any) -> Any:
        if isinstance(t, TensorArray):
            return t
        return self._merge(t) if _rank(t) >= 2 else t

    def _of_parents(self, t: Any, parents: Tensor) -> Any:
        """Returns the values [batch, beams, ...] of the beams that each beam continues."""
        if isinstance(t, TensorArray) or _rank(t) < 2:
            return t
        offsets = op("ExpandDims", _range(self._batch_size) * self._beam_width, 1)
        rows = op("Reshape", parents + offsets, [-1])
        result: Tensor = op("Reshape", gather(self._merge(t), rows), op("Shape", t))
        result.set_shape(t.get_shape())
        return result

    # ---- a step ------------------------------------------------------------------------------

    def step(self, time: TensorLike, inputs: Any, state: Any, name: str | None = None) -> Any:
        """Returns (outputs, next state, next inputs, finished)."""
        with name_scope(name, "BeamSearchDecoderStep", [time]):
            cell_state = nest.map_structure(self._merge_state, state.cell_state)
            outputs, cell_state = self._cell(nest.map_structure(self._merge, inputs), cell_state)
            outputs = nest.map_structure(self._split, outputs)
            cell_state = nest.map_structure(self._split_state, cell_state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            found, next_state = self._chosen(outputs, cell_state, state)
            next_inputs = cond(
                reduce_all(next_state.finished),
                lambda: self._start_inputs,  # the loop ends: the values do not matter
                lambda: self._embedding_fn(found.predicted_ids),
            )
        return found, next_state, next_inputs, next_state.finished

    def _chosen(self, logits: Tensor, cell_state: Any, state: BeamSearchDecoderState) -> Any:
        """Returns the best continuations, and their state."""
        width = self._beam_width
        symbols: Any = logits.get_shape()[-1].value
        if symbols is None:
            symbols = op("Shape", logits)[-1]
        step_scores = masked_scores(log_softmax(logits), self._end_token, state.finished)
        total = op("ExpandDims", state.log_probs, 2) + step_scores
        lengths = op("ExpandDims", state.lengths, 2) + length_increase(
            state.finished, self._end_token, symbols
        )
        attention = self._attention(cell_state)
        coverage = None
        if attention is not None:
            is_open = op("Cast", op("LogicalNot", state.finished), DstT=attention.dtype)
            coverage = state.accumulated_attention_probs + attention * op("ExpandDims", is_open, 2)
        scores = beam_scores(
            total, lengths, self._length_penalty_weight, self._coverage_penalty_weight,
            state.finished, coverage,
        )  # fmt: skip
        flat = op("Pack", [self._batch_size, -1])
        best, index = top_k(op("Reshape", scores, flat), k=width)
        for t in (best, index):
            t.set_shape([self._static_batch_size, width])
        parents = op("Cast", op("FloorDiv", index, symbols), DstT=_INT32)
        ids = op("Cast", op("FloorMod", index, symbols), DstT=_INT32)
        offsets = op("ExpandDims", _range(self._batch_size) * (symbols * width), 1)
        log_probs = op("Reshape", gather(op("Reshape", total, [-1]), index + offsets),
                       op("Shape", best))  # fmt: skip
        log_probs.set_shape(best.get_shape())
        was_finished = self._of_parents(state.finished, parents)
        more = op("Cast", op("LogicalNot", was_finished), DstT="int64")
        next_state = BeamSearchDecoderState(
            cell_state=nest.map_structure(lambda t: self._of_parents(t, parents), cell_state),
            log_probs=log_probs,
            lengths=self._of_parents(state.lengths, parents) + more,
            finished=op("LogicalOr", was_finished, op("Equal", ids, self._end_token)),
            accumulated_attention_probs=(
                () if coverage is None else self._of_parents(coverage, parents)
            ),
        )
        return BeamSearchDecoderOutput(best, ids, parents), next_state

    def _attention(self, cell_state: Any) -> Any:
        """Returns the alignments, [batch, beams, time]; None without a coverage penalty.

        Raises: ValueError if no cell has attention.
        """
        if self._coverage_penalty_weight == 0.0:
            return None
        states = [cell_state]
        if not isinstance(cell_state, AttentionWrapperState):
            states = list(cell_state) if isinstance(cell_state, tuple) else []
        found = [_mean(s.alignments) for s in states if isinstance(s, AttentionWrapperState)]
        if not found:
            raise ValueError("coverage_penalty_weight must be 0.0 if no cell is attentional.")
        return _mean(tuple(found))

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Tensor) -> Any:
        """Returns (FinalBeamSearchDecoderOutput, state): the sequences follow their beams."""
        longest = op("Cast", reduce_max(final_state.lengths, axis=1), DstT=_INT32)
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        if self._reorder_tensor_arrays:
            final_state = final_state._replace(
                cell_state=nest.map_structure(
                    lambda t: self._ordered(t, outputs.parent_ids, final_state.lengths),
                    final_state.cell_state,
                )
            )
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state

    def _ordered(self, t: Any, parent_ids: Tensor, lengths: Tensor) -> Any:
        if not isinstance(t, TensorArray):
            return t
        return gather_tree_from_array(t.stack(), parent_ids, lengths)


def _rank(t: Any) -> int:
    rank = t.get_shape().ndims
    if rank is None:
        raise ValueError(f"Expected tensor ({t}) to have known rank, but ndims == None.")
    return int(rank)


def _mean(values: Any) -> Any:
    """Returns a tensor, or the mean of a tuple of tensors."""
    if not isinstance(values, tuple):
        return values
    return values[0] if len(values) == 1 else reduce_mean(op("Pack", list(values)), 0)

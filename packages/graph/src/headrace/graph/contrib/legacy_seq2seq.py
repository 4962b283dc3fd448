"""contrib.legacy_seq2seq: sequences as Python lists of [batch, ...] tensors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops.arrays.placeholders import stop_gradient
from headrace.graph.ops.convolution.bias import xw_plus_b
from headrace.graph.ops.elementwise.elementwise import add_n
from headrace.graph.ops.embedding import embedding_lookup
from headrace.graph.ops.losses import sparse_softmax_cross_entropy_with_logits
from headrace.graph.ops.reduction import argmax, reduce_sum
from headrace.graph.rnn_cells.cell import RNNCell
from headrace.graph.rnn_cells.static_rnn import static_rnn
from headrace.graph.typing.aliases import DTypeLike, TensorLike
from headrace.graph.variables.get_variable import get_variable
from headrace.graph.variables.variable_scope import (
    VariableScope,
    get_variable_scope,
    variable_scope,
)

_Loop = Callable[[Any, int], Any]


def rnn_decoder(
    decoder_inputs: Iterable[TensorLike],
    initial_state: Any,
    cell: RNNCell,
    loop_function: _Loop | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Tensor], Any]:
    """Applies a cell to a list of inputs.

    Args:
      decoder_inputs: the inputs, each [batch, n].
      initial_state: state before the first step.
      loop_function: `f(output, step)`, which makes the next input instead of the given one.
      scope: variable scope.
    Returns: (outputs, final state).
    """
    with variable_scope(scope or "rnn_decoder"):
        state, outputs, last = initial_state, [], None
        for step, given in enumerate(decoder_inputs):
            if loop_function is not None and last is not None:
                with variable_scope("loop_function", reuse=True):
                    given = loop_function(last, step)
            if step > 0:
                get_variable_scope().reuse_variables()
            output, state = cell(given, state)
            outputs.append(output)
            last = output
    return outputs, state


def basic_rnn_seq2seq(
    encoder_inputs: Sequence[TensorLike],
    decoder_inputs: Iterable[TensorLike],
    cell: RNNCell,
    dtype: DTypeLike = "float32",
    scope: str | VariableScope | None = None,
) -> tuple[list[Tensor], Any]:
    """Encodes inputs by a copy of a cell, and decodes from its final state by the cell.

    Args:
      dtype: dtype of the first state.
      the others: as in rnn_decoder.
    Returns: (outputs of the decoder, final state).
    """
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: Sequence[TensorLike],
    decoder_inputs: Iterable[TensorLike],
    cell: RNNCell,
    loop_function: _Loop | None = None,
    dtype: DTypeLike = "float32",
    scope: str | VariableScope | None = None,
) -> tuple[list[Tensor], Any]:
    """Same as basic_rnn_seq2seq, with the same variables for encoder and decoder."""
    with variable_scope("combined_tied_rnn_seq2seq"):
        inner = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=inner)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=inner)


def embedding_rnn_decoder(
    decoder_inputs: Sequence[TensorLike],
    initial_state: Any,
    cell: RNNCell,
    num_symbols: int,
    embedding_size: int,
    output_projection: tuple[Any, Any] | None = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: str | VariableScope | None = None,
) -> tuple[list[Tensor], Any]:
    """Same as rnn_decoder, for ids.

    Args:
      decoder_inputs: ids, each [batch] int32.
      num_symbols, embedding_size: size of the table of embeddings.
      output_projection: (weights, biases) that make logits of the outputs.
      feed_previous: the next input is the embedding of the largest logit; only the first of the
        inputs is used.
      update_embedding_for_previous: pass gradients to embeddings that were fed so.
    Raises: ValueError for an output_projection of another shape.
    """
    with variable_scope(scope or "embedding_rnn_decoder") as entered:
        if output_projection is not None:
            weights = convert_to_tensor(output_projection[0], dtype=entered.dtype)
            weights.get_shape().assert_is_compatible_with(TensorShape([None, num_symbols]))
            biases = convert_to_tensor(output_projection[1], dtype=entered.dtype)
            biases.get_shape().assert_is_compatible_with(TensorShape([num_symbols]))
        embedding = get_variable("embedding", [num_symbols, embedding_size])

        def fed(output: Any, step: int) -> Tensor:
            if output_projection is not None:
                output = xw_plus_b(output, output_projection[0], output_projection[1])
            found = embedding_lookup(embedding, argmax(output, 1))
            return found if update_embedding_for_previous else stop_gradient(found)

        inputs = (embedding_lookup(embedding, ids) for ids in decoder_inputs)
        return rnn_decoder(
            inputs, initial_state, cell, loop_function=fed if feed_previous else None
        )


def sequence_loss_by_example(
    logits: Sequence[TensorLike],
    targets: Sequence[TensorLike],
    weights: Sequence[TensorLike],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the weighted cross-entropy of each sequence of a batch.

    Args:
      logits: for each step [batch, symbols].
      targets: for each step [batch] ids.
      weights: for each step [batch].
      average_across_timesteps: divide by the sum of the weights.
      softmax_loss_function: `f(labels=, logits=)` instead of the cross-entropy.
    Returns: [batch].
    Raises: ValueError for lists of different lengths.
    """
    if not len(targets) == len(logits) == len(weights):
        raise ValueError(
            "Lengths of logits, weights, and targets must be the same "
            f"{len(logits)}, {len(weights)}, {len(targets)}."
        )
    with name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        terms = []
        for logit, target, weight in zip(logits, targets, weights):
            if softmax_loss_function is None:
                labels = op("Reshape", target, [-1])
                loss = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logit)
            else:
                loss = softmax_loss_function(labels=target, logits=logit)
            terms.append(op("Mul", loss, weight))
        total: Tensor = add_n(terms)
        if average_across_timesteps:
            total = total / (add_n(list(weights)) + 1e-12)
        return total


def sequence_loss(
    logits: Sequence[TensorLike],
    targets: Sequence[TensorLike],
    weights: Sequence[TensorLike],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the sum of sequence_loss_by_example, [].

    Args:
      average_across_batch: divide by the size of the batch.
      the others: as in sequence_loss_by_example.
    Raises: ValueError for lists of different lengths.
    """
    with name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        cost: Tensor = reduce_sum(
            sequence_loss_by_example(
                logits,
                targets,
                weights,
                average_across_timesteps=average_across_timesteps,
                softmax_loss_function=softmax_loss_function,
            )
        )
        if average_across_batch:
            cost = cost / op("Cast", op("Shape", targets[0])[0], DstT=cost.dtype.base_dtype)
        return cost


def model_with_buckets(
    encoder_inputs: Sequence[TensorLike],
    decoder_inputs: Sequence[TensorLike],
    targets: Sequence[TensorLike],
    weights: Sequence[TensorLike],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[..., Any],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Tensor]]:
    """Builds a model for several lengths, with the same variables.

    Args:
      encoder_inputs, decoder_inputs, targets, weights: lists as long as the longest bucket.
      buckets: (length of the encoder, length of the decoder) of each bucket.
      seq2seq: `f(encoder inputs, decoder inputs) -> outputs, states`.
      softmax_loss_function: as in sequence_loss_by_example.
      per_example_loss: return a loss for each example, [batch].
    Returns: (outputs, loss) of each bucket, as two lists.
    Raises: ValueError for lists that are too short.
    """
    longest = buckets[-1]
    for what, given, least in (
        ("encoder_inputs", encoder_inputs, longest[0]),
        ("targets", targets, longest[1]),
        ("weights", weights, longest[1]),
    ):
        if len(given) < least:
            raise ValueError(
                f"Length of {what} ({len(given)}) must be at least that of last bucket ({least})."
            )
    outputs, losses = [], []
    with name_scope(name, "model_with_buckets", [*encoder_inputs, *decoder_inputs]):
        for number, (encoded, decoded) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if number else None):
                found, _ = seq2seq(encoder_inputs[:encoded], decoder_inputs[:decoded])
                outputs.append(found)
                loss = sequence_loss_by_example if per_example_loss else sequence_loss
                losses.append(
                    loss(
                        found,
                        targets[:decoded],
                        weights[:decoded],
                        softmax_loss_function=softmax_loss_function,
                    )
                )
    return outputs, losses

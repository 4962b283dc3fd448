"""Linear-chain conditional random fields: scores, likelihoods and the best tags."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.functional.folds import foldl, scan
from headrace.graph.ops.arrays.creation import one_hot, sequence_mask
from headrace.graph.ops.gather import batch_gather, gather_nd
from headrace.graph.ops.reduction import argmax, reduce_logsumexp, reduce_max, reduce_sum
from headrace.graph.typing.aliases import TensorLike
from headrace.graph.variables.get_variable import get_variable

_INT32 = as_dtype("int32")


def _mask(inputs: Tensor, sequence_lengths: TensorLike) -> Tensor:
    """Returns which steps are inside of the sequences, [batch, time] of the dtype of inputs."""
    steps = op("Shape", inputs)[1]
    return sequence_mask(sequence_lengths, maxlen=steps, dtype=inputs.dtype.base_dtype)


def crf_unary_score(
    tag_indices: TensorLike, sequence_lengths: TensorLike, inputs: TensorLike
) -> Tensor:
    """Returns the sum of the potentials of given tags, [batch].

    Args:
      tag_indices: [batch, time] int32.
      sequence_lengths: [batch].
      inputs: potentials [batch, time, tags].
    """
    x = convert_to_tensor(inputs)
    chosen = one_hot(tag_indices, op("Shape", x)[2], dtype=x.dtype.base_dtype)
    result: Tensor = reduce_sum(reduce_sum(x * chosen, 2) * _mask(x, sequence_lengths), 1)
    return result


def crf_binary_score(
    tag_indices: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike
) -> Tensor:
    """Returns the sum of the transitions between given tags, [batch].

    Args:
      tag_indices, sequence_lengths: as in crf_unary_score.
      transition_params: [tags, tags]: from row to column.
    """
    tags = convert_to_tensor(tag_indices)
    transitions = convert_to_tensor(transition_params)
    pairs = op("Pack", [tags[:, :-1], tags[:, 1:]], axis=-1)
    scores = gather_nd(transitions, pairs)
    inside = sequence_mask(
        sequence_lengths, maxlen=op("Shape", tags)[1], dtype=transitions.dtype.base_dtype
    )
    result: Tensor = reduce_sum(scores * inside[:, 1:], 1)
    return result


def crf_sequence_score(
    inputs: TensorLike,
    tag_indices: TensorLike,
    sequence_lengths: TensorLike,
    transition_params: TensorLike,
) -> Tensor:
    """Returns the unnormalised score of given tags, [batch]; 0 for empty sequences.

    Args: as in crf_unary_score and crf_binary_score.
    """
    unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
    result: Tensor = unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)
    return result


def crf_log_norm(
    inputs: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike
) -> Tensor:
    """Returns the logarithm of the sum of exp(score) over all tags, [batch].

    Args: as in crf_sequence_score.
    """
    x = convert_to_tensor(inputs)
    transitions = op("ExpandDims", convert_to_tensor(transition_params), 0)
    steps = op("Transpose", x, [1, 0, 2])
    inside = op("Greater", op("Transpose", _mask(x, sequence_lengths), [1, 0]), 0.0)

    def forward(alphas: Tensor, step: Any) -> Tensor:
        potentials, is_inside = step
        scores = reduce_logsumexp(op("ExpandDims", alphas, 2) + transitions, 1)
        found: Tensor = op("Select", is_inside, scores + potentials, alphas)
        return found

    last = foldl(forward, (steps[1:], inside[1:]), steps[0])
    result = reduce_logsumexp(last, 1)
    lengths = convert_to_tensor(sequence_lengths)
    empty = op("LessEqual", lengths, op("ZerosLike", lengths))
    final: Tensor = op("Select", empty, op("ZerosLike", result), result)
    return final


def crf_log_likelihood(
    inputs: TensorLike,
    tag_indices: TensorLike,
    sequence_lengths: TensorLike,
    transition_params: TensorLike | None = None,
) -> tuple[Tensor, Any]:
    """Returns the log likelihood of tags, and the transitions.

    Args:
      inputs: potentials [batch, time, tags] of known last dimension.
      tag_indices: [batch, time] int32.
      sequence_lengths: [batch].
      transition_params: [tags, tags]; by default the variable "transitions".
    Returns: ([batch], [tags, tags]).
    """
    x = convert_to_tensor(inputs)
    if transition_params is None:
        tags = x.get_shape()[2].value
        transition_params = get_variable("transitions", [tags, tags])
    score = crf_sequence_score(x, tag_indices, sequence_lengths, transition_params)
    likelihood: Tensor = score - crf_log_norm(x, sequence_lengths, transition_params)
    return likelihood, transition_params


def viterbi_decode(score: np.ndarray, transition_params: np.ndarray) -> tuple[list[int], Any]:
    """Returns the best tags of one sequence and their score, by NumPy.

    Args:
      score: potentials [time, tags].
      transition_params: [tags, tags].
    """
    trellis = np.array(score[0])
    pointers = []
    for potentials in score[1:]:
        scores = trellis[:, np.newaxis] + transition_params
        pointers.append(scores.argmax(0))
        trellis = potentials + scores.max(0)
    tags = [int(trellis.argmax())]
    for pointer in reversed(pointers):
        tags.append(int(pointer[tags[-1]]))
    return tags[::-1], trellis.max()


def crf_decode(
    potentials: TensorLike, transition_params: TensorLike, sequence_length: TensorLike
) -> tuple[Tensor, Tensor]:
    """Returns the best tags of each sequence and their scores.

    Args:
      potentials: [batch, time, tags].
      transition_params: [tags, tags].
      sequence_length: [batch].
    Returns: ([batch, time] int32, 0 behind the end; [batch]).
    """
    x = convert_to_tensor(potentials)
    transitions = op("ExpandDims", convert_to_tensor(transition_params), 0)
    steps = op("Transpose", x, [1, 0, 2])
    mask = _mask(x, sequence_length)
    inside = op("Greater", op("Transpose", mask, [1, 0]), 0.0)
    shape = op("Shape", steps[0])
    own = op("BroadcastTo", op("Range", 0, shape[1], 1), shape)

    def forward(state: Any, step: Any) -> Any:
        alphas, _ = state
        scores = op("ExpandDims", alphas, 2) + transitions
        best = reduce_max(scores, 1) + step[0]
        pointers = argmax(scores, 1, output_type=_INT32)
        # behind the end, each tag points to itself
        return op("Select", step[1], best, alphas), op("Select", step[1], pointers, own)

    alphas, pointers = scan(forward, (steps[1:], inside[1:]), (steps[0], own))
    last = op("ConcatV2", [steps[:1], alphas], 0)[-1]
    end = argmax(last, 1, output_type=_INT32)

    def back(tag: Tensor, pointer: Tensor) -> Tensor:
        chosen = batch_gather(pointer, op("ExpandDims", tag, 1))
        before: Tensor = op("Squeeze", chosen, squeeze_dims=[1])
        return before

    earlier = scan(back, op("ReverseV2", pointers, [0]), end)
    reverse = op("ConcatV2", [op("ExpandDims", end, 0), earlier], 0)
    tags = op("Transpose", op("ReverseV2", reverse, [0]), [1, 0])
    result: Tensor = tags * op("Cast", mask, DstT=_INT32)
    result.set_shape(x.get_shape()[:2])
    return result, reduce_max(last, 1)

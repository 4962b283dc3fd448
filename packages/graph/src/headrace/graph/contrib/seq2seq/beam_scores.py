"""Scores of the continuations of beams."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.operation import Tensor
from headrace.graph.ops.arrays.creation import one_hot
from headrace.graph.ops.reduction import reduce_sum


def masked_scores(log_probs: Tensor, end_token: Any, finished: Tensor) -> Tensor:
    """Returns log probabilities by which a finished beam continues only with end_token.

    Args:
      log_probs: [batch, beams, symbols].
      finished: [batch, beams] bool.
    """
    dtype = log_probs.dtype.base_dtype
    shape = op("Shape", log_probs)
    row = one_hot(
        end_token,
        shape[2],
        dtype=dtype,
        on_value=constant(0.0, dtype),
        off_value=constant(dtype.min, dtype),
    )
    rows = op("BroadcastTo", row, shape)
    done = op("BroadcastTo", op("ExpandDims", finished, 2), shape)
    result: Tensor = op("Select", done, rows, log_probs)
    result.set_shape(log_probs.get_shape())
    return result


def length_increase(finished: Tensor, end_token: Any, symbols: Any) -> Tensor:
    """Returns by how much each continuation makes a beam longer, [batch, beams, symbols] int64.

    The end token counts nothing, and a finished beam is not made longer.
    """
    is_end = one_hot(end_token, symbols, on_value=constant(0, "int64"),
                     off_value=constant(1, "int64"), dtype="int64")  # fmt: skip
    is_open = op("Cast", op("LogicalNot", finished), DstT="int64")
    result: Tensor = op("Mul", op("ExpandDims", is_open, 2), is_end)
    return result


def beam_scores(
    log_probs: Tensor,
    lengths: Tensor,
    length_penalty_weight: Any,
    coverage_penalty_weight: Any,
    finished: Tensor,
    attention: Tensor | None,
) -> Tensor:
    """Returns log probabilities, divided by a power of the length, with a penalty for coverage.

    Args:
      log_probs, lengths: [batch, beams, symbols].
      attention: sum of the alignments so far, [batch, beams, time]; None without a penalty.
    Source: Wu et al. 2016, section 7.
    """
    dtype = log_probs.dtype.base_dtype
    scores = log_probs
    weight = convert_to_tensor(length_penalty_weight, name="penalty_factor")
    if constant_value(weight) != 0.0:
        weight = op("Cast", weight, DstT=dtype)
        grown = op("Pow", 5.0 + op("Cast", lengths, DstT=dtype), weight)
        scores = scores / (grown / op("Pow", constant(6.0, dtype), weight))
    if attention is None:
        return scores
    # positions behind the end of the memory have no attention, and no penalty
    seen = op("Select", op("Equal", attention, 0.0), op("OnesLike", attention), attention)
    penalty = reduce_sum(op("Log", op("Minimum", seen, 1.0)), 2)
    penalty = penalty * op("Cast", finished, DstT=penalty.dtype.base_dtype)
    result: Tensor = scores + op(
        "ExpandDims", op("Cast", penalty, DstT=dtype) * coverage_penalty_weight, 2
    )
    return result

"""The cross-entropy of sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.elementwise.elementwise import cast
from headrace.graph.ops.losses import sparse_softmax_cross_entropy_with_logits
from headrace.graph.ops.reduction import count_nonzero, reduce_sum
from headrace.graph.typing.aliases import TensorLike


def sequence_loss(
    logits: TensorLike,
    targets: TensorLike,
    weights: TensorLike,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the weighted cross-entropy of a batch of sequences.

    Args:
      logits: [batch, time, symbols].
      targets: [batch, time] ids.
      weights: [batch, time].
      average_across_timesteps, average_across_batch: divide by the sum of the weights.
      sum_over_timesteps, sum_over_batch: divide by the number of weights that are not zero.
      softmax_loss_function: `f(labels=, logits=)` of flat labels and logits, instead of the
        cross-entropy.
    Returns: [], [time], [batch] or [batch, time], without the dimensions averaged or summed over.
    Raises: ValueError for other ranks, or both an average and a sum of a dimension.
    """
    logits = convert_to_tensor(logits)
    targets, weights = convert_to_tensor(targets), convert_to_tensor(weights)
    for what, value, form in (
        ("Logits", logits, "[batch_size x sequence_length x logits]"),
        ("Targets", targets, "[batch_size x sequence_length]"),
        ("Weights", weights, "[batch_size x sequence_length]"),
    ):
        if value.get_shape().ndims != form.count(" x ") + 1:
            raise ValueError(f"{what} must be a {form} tensor, got shape {value.get_shape()}")
    for dimension, averaged, summed in (
        ("timesteps", average_across_timesteps, sum_over_timesteps),
        ("batch", average_across_batch, sum_over_batch),
    ):
        if averaged and summed:
            raise ValueError(
                f"average_across_{dimension} and sum_over_{dimension} cannot be set to True at "
                "same time."
            )
    with name_scope(name, "sequence_loss", [logits, targets, weights]):
        symbols = op("Shape", logits)[2]
        flat = op("Reshape", logits, op("Pack", [-1, symbols]))
        labels = op("Reshape", targets, [-1])
        compute = softmax_loss_function or sparse_softmax_cross_entropy_with_logits
        losses = compute(labels=labels, logits=flat) * op("Reshape", weights, [-1])
        if average_across_timesteps and average_across_batch:
            return _quotient(reduce_sum(losses), reduce_sum(weights))
        if sum_over_timesteps and sum_over_batch:
            return _quotient(reduce_sum(losses), _count(weights, None))
        grid = op("Reshape", losses, op("Shape", logits)[0:2])
        if average_across_timesteps or average_across_batch:
            axis = [1] if average_across_timesteps else [0]
            grid = _quotient(reduce_sum(grid, axis), reduce_sum(weights, axis))
        elif sum_over_timesteps or sum_over_batch:
            axis = [1] if sum_over_timesteps else [0]
            grid = _quotient(reduce_sum(grid, axis), _count(weights, axis))
        result: Tensor = grid
        return result


def _count(weights: Tensor, axis: Any) -> Any:
    return count_nonzero(weights, axis)


def _quotient(total: Any, size: Any) -> Tensor:
    result: Tensor = op("DivNoNan", total, cast(size, total.dtype.base_dtype))
    return result

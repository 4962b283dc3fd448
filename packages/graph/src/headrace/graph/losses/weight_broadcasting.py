"""Broadcasting of weights to values, and squeezing of labels, for losses and metrics."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.cond import cond
from headrace.graph.control_flow.control_flow_ops import identity
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import control_dependencies, name_scope
from headrace.graph.typing.aliases import TensorLike


def assert_broadcastable(weights: TensorLike, values: TensorLike) -> Operation | None:
    """Checks that weights are a scalar, or have the rank of values and sizes that are equal or 1.

    Returns: an operation that checks it at run time, or None if the static shapes suffice.
    Raises: ValueError if the static shapes violate it.
    """
    weights, values = convert_to_tensor(weights), convert_to_tensor(values)
    mine, theirs = weights.get_shape(), values.get_shape()
    if mine.ndims == 0:
        return None
    if mine.ndims is not None and theirs.ndims is not None:
        if mine.ndims != theirs.ndims:
            raise ValueError(
                f"weights can not be broadcast to values. values.rank={theirs.ndims}. "
                f"weights.rank={mine.ndims}. values.shape={theirs}. weights.shape={mine}."
            )
        pairs = list(zip(mine.as_list(), theirs.as_list(), strict=True))
        if any(None not in (a, b) and a not in (1, b) for a, b in pairs):
            raise ValueError(
                "weights can not be broadcast to values: sizes must be equal or 1. "
                f"values.shape={theirs}. weights.shape={mine}."
            )
        if all(a == 1 or None not in (a, b) for a, b in pairs):
            return None
    with name_scope("assert_broadcastable"):
        return _run_time_check(weights, values)


def _run_time_check(weights: Tensor, values: Tensor) -> Operation:
    shape, full = op("Shape", weights), op("Shape", values)
    rank = op("Rank", weights)

    def fits() -> Tensor:
        return op("All", op("LogicalOr", op("Equal", shape, 1), op("Equal", shape, full)), [0])

    def not_scalar() -> Tensor:
        return cond(op("Equal", rank, op("Rank", values)), fits, lambda: constant(False))

    good = cond(op("Equal", rank, 0), lambda: constant(True), not_scalar)
    message = [constant(b"weights can not be broadcast to values. weights.shape="), shape]
    result: Operation = op("Assert", good, [*message, constant(b"values.shape="), full])
    return result


def broadcast_weights(weights: TensorLike, values: TensorLike) -> Tensor:
    """Broadcasts weights to the shape of values. Raises: as assert_broadcastable."""
    with name_scope(None, "broadcast_weights", [weights, values]) as scope:
        values = convert_to_tensor(values, name="values")
        weights = convert_to_tensor(weights, dtype=values.dtype.base_dtype, name="weights")
        if weights.get_shape().is_fully_defined() and weights.get_shape().is_compatible_with(
            values.get_shape()
        ):
            if values.get_shape().is_fully_defined():
                return weights
        check = assert_broadcastable(weights, values)
        ones = op("OnesLike", values)
        if check is None:
            return op("Mul", weights, ones, name=scope)
        with control_dependencies([check]):
            return op("Mul", weights, ones, name=scope)


def after(check: Operation | None, value: Tensor) -> Tensor:
    """Returns value with a control dependency on a check; value itself without a check."""
    if check is None:
        return value
    with control_dependencies([check]):
        return identity(value)


def squeeze_to_match(
    labels: Any, predictions: Any, weights: Any = None, expected_rank_diff: int = 0
) -> tuple[Any, Any, Any]:
    """Squeezes a last dimension of 1 of labels, predictions or weights if the others lack it.

    Args:
      labels: tensor or None.
      predictions: tensor.
      weights: tensor or None.
      expected_rank_diff: expected rank of predictions minus rank of labels; for instance 1 for
        scores and class indices.
    Returns: (labels, predictions, weights); unchanged if a rank is unknown.
    """
    predictions = convert_to_tensor(predictions)
    if labels is not None:
        labels = convert_to_tensor(labels)
        mine, theirs = labels.get_shape().ndims, predictions.get_shape().ndims
        if mine is not None and theirs is not None:
            more = theirs - mine
            if more == expected_rank_diff + 1 and _ends_in_one(predictions):
                predictions = op("Squeeze", predictions, squeeze_dims=[-1])
            elif more == expected_rank_diff - 1 and _ends_in_one(labels):
                labels = op("Squeeze", labels, squeeze_dims=[-1])
    if weights is None:
        return labels, predictions, None
    weights = convert_to_tensor(weights)
    base = predictions if expected_rank_diff == 0 or labels is None else labels
    mine, theirs = weights.get_shape().ndims, base.get_shape().ndims
    if mine and theirs is not None:
        if mine - theirs == 1 and _ends_in_one(weights):
            weights = op("Squeeze", weights, squeeze_dims=[-1])
        elif theirs - mine == 1:
            weights = op("ExpandDims", weights, -1)
    return labels, predictions, weights


def _ends_in_one(t: Tensor) -> bool:
    return t.get_shape().as_list()[-1] in (1, None)

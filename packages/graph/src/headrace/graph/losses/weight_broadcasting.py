"""Broadcasting of weights to values, and squeezing of labels, for losses and metrics."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.cond import cond
from headrace.graph.control_flow.control_flow_ops import identity
from headrace.graph.framework.default_graph import count_nodes, counted_as
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
    known = mine.is_fully_defined() and theirs.is_fully_defined()
    with counted_as(5 if known or (mine.ndims == 0 and theirs.ndims is not None) else 63):
        return _check(weights, values)


def _check(weights: Tensor, values: Tensor) -> Operation | None:
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
        count_nodes(2)  # TensorFlow 1.15 fills the shape with ones
        if check is None:
            return op("Mul", weights, ones, name=scope)
        with control_dependencies([check]):
            return op("Mul", weights, ones, name=scope)


def after(check: Operation | None, value: Tensor) -> Tensor:
    """Returns value with a control dependency on a check; value itself without a check."""
    if check is None:
        return value
    count_nodes(-1)  # TensorFlow 1.15 has no node for it
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
    Returns: (labels, predictions, weights). Unknown ranks are compared at run time.
    """
    predictions = convert_to_tensor(predictions)
    if labels is not None:
        labels = convert_to_tensor(labels)
        labels, predictions = _squeezed_pair(labels, predictions, expected_rank_diff)
    if weights is None:
        return labels, predictions, None
    weights = convert_to_tensor(weights)
    if expected_rank_diff == 0 or labels is None:
        return labels, predictions, _fitted_weights(weights, predictions)
    return labels, predictions, _squeezed_weights(weights, labels)


def _squeezed_pair(labels: Tensor, predictions: Tensor, expected: int) -> tuple[Tensor, Tensor]:
    mine, theirs = labels.get_shape().ndims, predictions.get_shape().ndims
    if mine is not None and theirs is not None:
        more = theirs - mine
        if more == expected + 1 and _may_end_in_one(predictions):
            predictions = _without_last(predictions)
        elif more == expected - 1 and _may_end_in_one(labels):
            labels = _without_last(labels)
        return labels, predictions
    more_ranks = op("Rank", predictions) - op("Rank", labels)
    if _may_end_in_one(predictions):
        predictions = _squeezed_where(op("Equal", expected + 1, more_ranks), predictions)
    if _may_end_in_one(labels):
        labels = _squeezed_where(op("Equal", expected - 1, more_ranks), labels)
    return labels, predictions


def _squeezed_weights(weights: Tensor, labels: Tensor) -> Tensor:
    """Squeezes weights that have one dimension more than labels."""
    mine, theirs = weights.get_shape().ndims, labels.get_shape().ndims
    if mine is not None and theirs is not None:
        fits = mine - theirs == 1 and _may_end_in_one(weights)
        return _without_last(weights) if fits else weights
    more_ranks = op("Rank", weights) - op("Rank", labels)
    if mine == 0 or not _may_end_in_one(weights):
        return weights
    return _squeezed_where(op("Equal", 1, more_ranks), weights)


def _fitted_weights(weights: Tensor, values: Tensor) -> Tensor:
    """Squeezes or expands weights that have one dimension more or less than values."""
    mine, theirs = weights.get_shape().ndims, values.get_shape().ndims
    if mine == 0:
        return weights
    if mine is not None and theirs is not None:
        if mine - theirs == 1 and _may_end_in_one(weights):
            return _without_last(weights)
        return op("ExpandDims", weights, [-1]) if theirs - mine == 1 else weights
    rank = op("Rank", weights)
    more_ranks = rank - op("Rank", values)

    def squeezed() -> Tensor:
        return _without_last(weights) if _may_end_in_one(weights) else weights

    def expanded() -> Tensor:
        fewer = op("Equal", more_ranks, -1)
        return cond(fewer, lambda: op("ExpandDims", weights, [-1]), lambda: weights)

    def fitted() -> Tensor:
        return cond(op("Equal", more_ranks, 1), squeezed, expanded)

    return cond(op("Equal", rank, 0), lambda: weights, fitted)


def _squeezed_where(condition: Tensor, x: Tensor) -> Tensor:
    return cond(condition, lambda: _without_last(x), lambda: x)


def _without_last(x: Tensor) -> Tensor:
    return op("Squeeze", x, squeeze_dims=[-1])


def _may_end_in_one(t: Tensor) -> bool:
    """Whether the last dimension is 1 or unknown."""
    shape = t.get_shape()
    return shape.ndims is None or (shape.ndims > 0 and shape.as_list()[-1] in (1, None))

"""Weighted losses, reduced and added to the collection GraphKeys.LOSSES."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import float32
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.losses.weight_broadcasting import (
    after,
    assert_broadcastable,
    broadcast_weights,
    squeeze_to_match,
)
from headrace.graph.ops.elementwise.elementwise import add_n, cast
from headrace.graph.ops.losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from headrace.graph.ops.reduction import reduce_sum
from headrace.graph.typing.aliases import TensorLike

_LOSSES = GraphKeys.LOSSES


class Reduction:
    """Reductions of the losses of a batch, with TF 1.x's names."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Returns all reductions."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: str) -> None:
        """Checks a reduction. Raises: ValueError for an unknown one."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}: use one of {', '.join(cls.all())}.")


_MEAN = Reduction.SUM_BY_NONZERO_WEIGHTS


# ---- the losses of a graph -----------------------------------------------------------------


def add_loss(loss: TensorLike, loss_collection: str | None = _LOSSES) -> None:
    """Adds a loss to a collection."""
    if loss_collection:
        get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = _LOSSES) -> list[Any]:
    """Returns the losses of a collection whose names match a scope."""
    return get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Returns the regularization losses whose names match a scope."""
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Tensor:
    """Returns the sum of the regularization losses; 0 if there are none."""
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else constant(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """Returns the sum of all losses, by default including the regularization losses.

    Raises: ValueError if there are no losses.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope)
    return add_n(losses, name=name)


# ---- weights -------------------------------------------------------------------------------


def _count_nonzero_weights(losses: Tensor, weights: Any, per_batch: bool = False) -> Tensor:
    """Returns the number of losses with nonzero weights."""
    with name_scope(None, "num_present", [losses, weights]) as scope:
        weights = cast(weights, float32)
        some = op("NotEqual", weights, constant(0.0))
        count_nodes(4)  # TensorFlow 1.15 selects zeros and ones
        spread = broadcast_weights(op("Cast", some, DstT=float32), losses)
        if per_batch:
            axes = op("Range", 1, op("Rank", spread), 1)
            return op("Sum", spread, axes, keep_dims=True, name=scope)
        return reduce_sum(spread, name=scope)


def _mean(total: Tensor, count: Tensor) -> Tensor:
    count_nodes(2)  # TensorFlow 1.15 sums the total once more
    return op("DivNoNan", total, count, name="value")


def compute_weighted_loss(
    losses: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """Multiplies losses by weights, reduces them, and adds the result to a collection.

    Args:
      losses: [...] any real dtype.
      weights: scalar, or a tensor of the rank of losses whose sizes are equal or 1.
      scope: name scope of the operations.
      loss_collection: collection for the result; None for no collection.
      reduction: one of Reduction.
    Returns: a scalar, or [...] if reduction is NONE; dtype of losses.
    Raises: ValueError for an unknown reduction or weights of another shape.
    """
    Reduction.validate(reduction)
    with name_scope(scope, "weighted_loss", [losses, weights]):
        losses = convert_to_tensor(losses)
        check = assert_broadcastable(weights, losses)
        kind = losses.dtype.base_dtype
        values = after(check, cast(losses, float32))
        weights = cast(weights, float32)
        result = op("Mul", values, weights)
        if reduction != Reduction.NONE:
            total = reduce_sum(result)
            if reduction == Reduction.MEAN:
                count_nodes(2)  # the shape of the ones, and their value
                result = _mean(total, reduce_sum(op("OnesLike", values) * weights))
            elif reduction == _MEAN:
                result = _mean(total, _count_nonzero_weights(values, weights))
            elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                result = _mean(total, op("Cast", op("Size", values), DstT=float32))
            else:
                result = total
        result = cast(result, kind)
        add_loss(result, loss_collection)
        return result


def _given(labels: Any, other: Any, what: str) -> None:
    if labels is None:
        raise ValueError("Argument `labels` must not be None.")
    if other is None:
        raise ValueError(f"Argument `{what}` must not be None.")


def _pair(labels: Any, predictions: Any) -> tuple[Tensor, Tensor]:
    """Converts both to float32, and checks that their shapes are compatible."""
    predictions, labels = cast(predictions, float32), cast(labels, float32)
    predictions.get_shape().assert_is_compatible_with(labels.get_shape())
    return labels, predictions


# ---- the losses ----------------------------------------------------------------------------


def absolute_difference(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """Computes the weighted loss |predictions - labels|.

    Args:
      labels, predictions: [...] of equal shapes; cast to float32.
      the others: as in compute_weighted_loss.
    Returns: as compute_weighted_loss.
    Raises: ValueError for None or incompatible shapes; as compute_weighted_loss.
    """
    _given(labels, predictions, "predictions")
    with name_scope(scope, "absolute_difference", [predictions, labels, weights]) as scope:
        labels, predictions = _pair(labels, predictions)
        losses = op("Abs", op("Sub", predictions, labels))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


def cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
    dim: int | None = None,
) -> Tensor:
    """Computes the weighted loss 1 - sum(labels * predictions) along an axis.

    Args:
      labels, predictions: [...] with norm 1 along the axis, which is not checked.
      axis: axis of the vectors; dim: its old name.
      the others: as in compute_weighted_loss.
    Returns: as compute_weighted_loss.
    Raises: ValueError without axis; as absolute_difference.
    """
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify argument `axis`.")
    _given(labels, predictions, "predictions")
    with name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as scope:
        labels, predictions = _pair(labels, predictions)
        along = reduce_sum(op("Mul", predictions, labels), axis=[axis], keepdims=True)
        return compute_weighted_loss(
            constant(1.0) - along, weights, scope, loss_collection, reduction=reduction
        )


def hinge_loss(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """Computes the weighted hinge loss max(0, 1 - (2 labels - 1) logits).

    Args:
      labels: [...] of 0 and 1.
      logits: [...] of the shape of labels.
      the others: as in compute_weighted_loss.
    Returns: as compute_weighted_loss.
    Raises: as absolute_difference.
    """
    _given(labels, logits, "logits")
    with name_scope(scope, "hinge_loss", [logits, labels, weights]) as scope:
        labels, logits = _pair(labels, logits)
        sign = constant(2.0) * labels - constant(1.0)
        losses = op("Relu", constant(1.0) - sign * logits)
        count_nodes(1)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


def huber_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    delta: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """Computes the weighted Huber loss: quadratic for errors up to delta, linear beyond.

    Args:
      labels, predictions: [...] of equal shapes.
      delta: error at which the loss becomes linear.
      the others: as in compute_weighted_loss.
    Returns: as compute_weighted_loss.
    Raises: as absolute_difference.
    Source: Huber 1964.
    """
    _given(labels, predictions, "predictions")
    with name_scope(scope, "huber_loss", [predictions, labels, weights]) as scope:
        labels, predictions = _pair(labels, predictions)
        size = op("Abs", op("Sub", predictions, labels))
        bound = convert_to_tensor(delta, dtype=float32)
        inner = op("Minimum", size, bound)
        losses = constant(0.5) * (inner * inner) + bound * (size - inner)
        count_nodes(1)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


def log_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """Computes the weighted cross entropy of probabilities and labels.

    Args:
      labels: [...] of 0 and 1.
      predictions: [...] probabilities.
      epsilon: added to the arguments of logarithms.
      the others: as in compute_weighted_loss.
    Returns: as compute_weighted_loss.
    Raises: as absolute_difference.
    """
    _given(labels, predictions, "predictions")
    with name_scope(scope, "log_loss", [predictions, labels, weights]) as scope:
        labels, predictions = _pair(labels, predictions)
        small, one = constant(epsilon, dtype=float32), constant(1.0)
        of_ones = -labels * op("Log", predictions + small)
        losses = of_ones - (one - labels) * op("Log", one - predictions + small)
        count_nodes(2)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
) -> Tensor:
    """Computes the weighted mean of squared differences of errors, over pairs of elements.

    Args:
      labels, predictions: [batch, ...] of equal shapes.
      weights: scalar, [batch] or [batch, ...].
      the others: as in compute_weighted_loss.
    Returns: a scalar.
    Raises: as absolute_difference.
    """
    _given(labels, predictions, "predictions")
    with name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        weights = cast(weights, float32)
        labels, predictions = _pair(labels, predictions)
        errors = after(assert_broadcastable(weights, predictions), predictions - labels)
        axes = op("Range", 1, op("Rank", errors), 1)
        zero, one, two = constant(0.0), constant(1.0), constant(2.0)
        count = _count_nonzero_weights(errors, weights, per_batch=True)
        squares = op("Sum", op("Square", errors), axes, keep_dims=True)
        first = two * _mean(squares, op("Maximum", count - one, zero))
        total = op("Sum", errors, axes, keep_dims=True)
        count_nodes(2)
        pairs = op("Maximum", count * (count - one), zero)
        second = two * op("DivNoNan", op("Square", total), pairs)
        loss = reduce_sum((first - second) * weights)
        some = op("Greater", reduce_sum(count), zero)
        result = op("SelectV2", some, loss, op("ZerosLike", loss), name="value")
        add_loss(result, loss_collection)
        return result


def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """Computes the weighted loss (predictions - labels)^2.

    Args and errors: as in absolute_difference.
    """
    _given(labels, predictions, "predictions")
    with name_scope(scope, "mean_squared_error", [predictions, labels, weights]) as scope:
        labels, predictions = _pair(labels, predictions)
        losses = op("SquaredDifference", predictions, labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


def sigmoid_cross_entropy(
    multi_class_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """Computes the weighted cross entropy of sigmoid(logits) and labels.

    Args:
      multi_class_labels: [...] from 0 to 1.
      logits: [...] of the same shape.
      label_smoothing: from 0 to 1; 1 replaces all labels by 0.5.
      the others: as in compute_weighted_loss.
    Returns: as compute_weighted_loss.
    Raises: as absolute_difference.
    """
    _given(multi_class_labels, logits, "logits")
    with name_scope(
        scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels, weights]
    ) as scope:
        logits = convert_to_tensor(logits)
        labels = cast(multi_class_labels, logits.dtype.base_dtype)
        logits.get_shape().assert_is_compatible_with(labels.get_shape())
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


def softmax_cross_entropy(
    onehot_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """Computes the weighted cross entropy of softmax(logits) and distributions.

    Args:
      onehot_labels, logits: [batch, classes].
      weights: scalar or [batch].
      label_smoothing: from 0 to 1; 1 replaces the labels by the uniform distribution.
      the others: as in compute_weighted_loss.
    Returns: as compute_weighted_loss.
    Raises: as absolute_difference.
    """
    _given(onehot_labels, logits, "logits")
    with name_scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels, weights]) as scope:
        logits = convert_to_tensor(logits)
        kind = logits.dtype.base_dtype
        labels = cast(onehot_labels, kind)
        logits.get_shape().assert_is_compatible_with(labels.get_shape())
        if label_smoothing > 0:
            classes = op("Cast", op("Shape", labels)[-1], DstT=kind)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        labels = op("StopGradient", labels)
        losses = softmax_cross_entropy_with_logits_v2(labels, logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """Computes the weighted cross entropy of softmax(logits) and class indices.

    Args:
      labels: [batch] or [batch, 1] int32 or int64.
      logits: [batch, classes].
      weights: scalar, [batch] or [batch, 1].
      the others: as in compute_weighted_loss.
    Returns: as compute_weighted_loss.
    Raises: as absolute_difference.
    """
    _given(labels, logits, "logits")
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]) as scope:
        labels, logits, weights = squeeze_to_match(labels, logits, weights, expected_rank_diff=1)
        losses = sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)

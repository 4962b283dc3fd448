"""Streaming means: each metric is a value and an operation that updates it with a batch."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype, float32
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import control_dependencies
from headrace.graph.losses.weight_broadcasting import broadcast_weights, squeeze_to_match
from headrace.graph.ops.arrays.creation import ones_like, zeros
from headrace.graph.ops.elementwise.elementwise import cast
from headrace.graph.ops.reduction import reduce_sum
from headrace.graph.ops.state import assign_add
from headrace.graph.typing.aliases import Collections, DTypeLike, TensorLike
from headrace.graph.variables.distribution import VariableAggregation, VariableSynchronization
from headrace.graph.variables.variable import Variable
from headrace.graph.variables.variable_scope import variable_scope


def metric_variable(
    shape: Any, dtype: DTypeLike = float32, validate_shape: bool = True, name: str | None = None
) -> Any:
    """Creates a local variable of zeros in GraphKeys.METRIC_VARIABLES."""
    return Variable(
        lambda: zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        validate_shape=validate_shape,
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.SUM,
        name=name,
    )


def collect(keys: Any, value: Any) -> Any:
    """Adds value to collections (a name, several names, or None), and returns it."""
    if keys:
        for key in [keys] if isinstance(keys, str) else keys:
            get_default_graph().add_to_collection(key, value)
    return value


def quotient(total: Any, count: Any, name: str | None = None) -> Tensor:
    """Returns total / count, and 0 where count is not positive."""
    count = convert_to_tensor(count)
    zero = constant(0, dtype=count.dtype.base_dtype)
    result: Tensor = op("DivNoNan", total, op("Maximum", count, zero), name=name)
    return result


def matched(labels: Any, predictions: Any, weights: Any = None) -> tuple[Tensor, Tensor, Any]:
    """Squeezes labels, predictions and weights to compatible shapes."""
    labels, predictions, weights = squeeze_to_match(labels, predictions, weights)
    predictions.get_shape().assert_is_compatible_with(labels.get_shape())
    return labels, predictions, weights


def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming (weighted) mean of all elements.

    Args:
      values: [...] values of a batch.
      weights: broadcastable to values; None means 1.
      metrics_collections, updates_collections: collections for the value and the update operation.
      name: name of the variable scope.
    Returns: (mean, update operation that returns the new mean).
    Raises: ValueError for weights of another shape.
    """
    with variable_scope(name, "mean", [values, weights]):
        values = cast(values, float32)
        total = metric_variable([], name="total")
        count = metric_variable([], name="count")
        if weights is None:
            number = op("Cast", op("Size", values), DstT=float32)
        else:
            _, values, weights = squeeze_to_match(None, values, weights)
            weights = broadcast_weights(cast(weights, float32), values)
            values = op("Mul", values, weights)
            number = reduce_sum(weights)
        new_total = assign_add(total, reduce_sum(values))
        with control_dependencies([values]):
            new_count = assign_add(count, number)
        value = collect(metrics_collections, quotient(total, count, "value"))
        return value, collect(updates_collections, quotient(new_total, new_count, "update_op"))


def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming (weighted) mean of each element over batches; arguments and results as in mean."""
    with variable_scope(name, "mean", [values, weights]):
        values = cast(values, float32)
        total = metric_variable(values.get_shape(), name="total_tensor")
        count = metric_variable(values.get_shape(), name="count_tensor")
        number = ones_like(values)
        if weights is not None:
            _, values, weights = squeeze_to_match(None, values, weights)
            weights = broadcast_weights(cast(weights, float32), values)
            values, number = op("Mul", values, weights), op("Mul", number, weights)
        new_total = assign_add(total, values)
        with control_dependencies([values]):
            new_count = assign_add(count, number)
        value = collect(metrics_collections, quotient(total, count, "value"))
        return value, collect(updates_collections, quotient(new_total, new_count, "update_op"))


def accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming frequency of predictions equal to labels; arguments and results as in mean.

    Raises: ValueError for incompatible shapes.
    """
    labels, predictions, weights = matched(labels, predictions, weights)
    predictions = cast(predictions, labels.dtype.base_dtype)
    right = op("Cast", op("Equal", predictions, labels), DstT=float32)
    return mean(right, weights, metrics_collections, updates_collections, name or "accuracy")


def mean_absolute_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming mean of |predictions - labels|; arguments and results as in mean."""
    labels, predictions, weights = matched(labels, predictions, weights)
    return mean(
        op("Abs", op("Sub", predictions, labels)),
        weights,
        metrics_collections,
        updates_collections,
        name or "mean_absolute_error",
    )


def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming mean of (predictions - labels)^2; arguments and results as in mean."""
    labels, predictions, weights = matched(labels, predictions, weights)
    return mean(
        op("SquaredDifference", labels, predictions),
        weights,
        metrics_collections,
        updates_collections,
        name or "mean_squared_error",
    )


def root_mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming square root of mean_squared_error; arguments and results as in mean."""
    labels, predictions, weights = matched(labels, predictions, weights)
    name = name or "root_mean_squared_error"
    value, update = mean_squared_error(labels, predictions, weights, None, None, name)
    value, update = op("Sqrt", value), op("Sqrt", update)
    return collect(metrics_collections, value), collect(updates_collections, update)


def mean_relative_error(
    labels: TensorLike,
    predictions: Any,
    normalizer: Any,
    weights: TensorLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming mean of |predictions - labels| / normalizer, 0 for a zero normalizer; see mean."""
    labels, predictions, weights = matched(labels, predictions, weights)
    predictions, normalizer = squeeze_to_match(predictions, normalizer)[:2]
    predictions.get_shape().assert_is_compatible_with(normalizer.get_shape())
    off = op("Abs", op("Sub", labels, predictions))
    errors = op("DivNoNan", off, normalizer)
    return mean(
        errors, weights, metrics_collections, updates_collections, name or "mean_relative_error"
    )


def mean_cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    dim: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming mean of 1 - sum(labels * predictions) along dim; see mean."""
    labels, predictions, weights = matched(labels, predictions, weights)
    along = reduce_sum(op("Mul", predictions, labels), axis=[dim], keepdims=True)
    value, update = mean(along, weights, None, None, name or "mean_cosine_distance")
    one = constant(1.0)
    value, update = op("Sub", one, value), op("Sub", one, update)
    return collect(metrics_collections, value), collect(updates_collections, update)


def percentage_below(
    values: TensorLike,
    threshold: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming fraction of values below a threshold; arguments and results as in mean."""
    below = op("Cast", op("Less", values, threshold), DstT=as_dtype("float32"))
    name = name or "percentage_below_threshold"
    return mean(below, weights, metrics_collections, updates_collections, name)

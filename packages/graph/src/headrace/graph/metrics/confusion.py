"""The confusion matrix, and streaming metrics derived from it."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype, float32
from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import counted_as
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import control_dependencies, name_scope
from headrace.graph.losses.weight_broadcasting import squeeze_to_match
from headrace.graph.metrics.means import collect, matched, metric_variable, quotient
from headrace.graph.ops.arrays.creation import ones_like
from headrace.graph.ops.elementwise.elementwise import cast
from headrace.graph.ops.reduction import reduce_max, reduce_mean, reduce_sum
from headrace.graph.ops.state import assign_add, scatter_add
from headrace.graph.typing.aliases import Collections, DTypeLike, TensorLike
from headrace.graph.variables.variable_scope import variable_scope

_INT64 = as_dtype("int64")


def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: TensorLike | None = None,
    dtype: DTypeLike = "int32",
    name: str | None = None,
    weights: TensorLike | None = None,
) -> Tensor:
    """Computes the confusion matrix: rows are labels, columns are predictions.

    Args:
      labels, predictions: [n] class indices.
      num_classes: number of classes; by default the greatest index plus one.
      dtype: dtype of the result.
      weights: [n] weights of the predictions; 1 by default.
    Returns: [num_classes, num_classes], dtype.
    """
    dtype = as_dtype(dtype)
    with name_scope(name, "confusion_matrix", [predictions, labels, num_classes, weights]):
        squeezed, guessed, _ = squeeze_to_match(labels, predictions)
        squeezed, guessed = cast(squeezed, _INT64), cast(guessed, _INT64)
        with counted_as(_matrix_nodes(squeezed, guessed, num_classes, weights, dtype)):
            return _matrix(squeezed, guessed, num_classes, weights, dtype)


def _matrix_nodes(labels: Tensor, guesses: Tensor, classes: Any, weights: Any, dtype: Any) -> int:
    """Returns how many nodes TensorFlow 1.15 adds, checks included."""
    unknown = sum(x.get_shape().ndims is None for x in (labels, guesses))
    nodes = 60 if classes is None else 103 - isinstance(classes, Tensor)
    if weights is not None:
        given = isinstance(weights, Tensor)
        nodes += (weights.dtype.base_dtype is not dtype if given else 2) - 3
    return nodes + 6 * unknown


def _matrix(
    squeezed: Tensor, guessed: Tensor, num_classes: Any, weights: Any, dtype: Any
) -> Tensor:
    true = _checked(squeezed, "`labels` contains negative values")
    guesses = _checked(guessed, "`predictions` contains negative values")
    if num_classes is None:
        top = op("Maximum", reduce_max(guesses), reduce_max(true))
        classes = top + constant(1, dtype=_INT64)
    else:
        classes = cast(num_classes, _INT64)
    if weights is None:
        values = ones_like(guesses, dtype)
    else:
        guesses.get_shape().assert_is_compatible_with(_shape_of(weights))
        values = cast(weights, dtype)
    indices = op("Pack", [true, guesses], axis=1)
    return op("ScatterNd", indices, values, op("Pack", [classes, classes]))


def _shape_of(weights: Any) -> Any:
    return cast(weights, float32).get_shape()


def _checked(x: Tensor, summary: str) -> Tensor:
    good = op("All", op("GreaterEqual", x, constant(0, dtype=_INT64)), [0])
    with control_dependencies([op("Assert", good, [constant(summary.encode()), x])]):
        return op("Identity", x)


def _flat(labels: Any, predictions: Any, weights: Any) -> tuple[Tensor, Tensor, Any]:
    """Flattens all three; class indices are cast to int64."""
    labels, predictions = cast(labels, _INT64), cast(predictions, _INT64)
    result = []
    for x in (labels, predictions, weights):
        if x is not None:
            x = cast(x, _INT64) if x is not weights else cast(x, float32)
            rank = x.get_shape().ndims
            x = x if rank == 1 else op("Reshape", x, [-1])
        result.append(x)
    return result[0], result[1], result[2]


def mean_iou(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming mean over classes of the intersection over union of labels and predictions.

    Args:
      labels, predictions: [...] class indices.
      num_classes: number of classes.
      weights: [...] or None.
      the others: as in mean.
    Returns: (mean over the classes seen so far, update operation that returns the confusion
      matrix).
    """
    with variable_scope(name, "mean_iou", [predictions, labels, weights]):
        total = metric_variable(
            [num_classes, num_classes], as_dtype("float64"), name="total_confusion_matrix"
        )
        labels, predictions, weights = _flat(labels, predictions, weights)
        labels, predictions, weights = matched(labels, predictions, weights)
        batch = confusion_matrix(labels, predictions, num_classes, "float64", weights=weights)
        update = assign_add(total, batch)
        rows, columns = (cast(reduce_sum(total, axis), float32) for axis in (0, 1))
        both = cast(op("MatrixDiagPart", total), float32)
        union = rows + columns - both
        seen = op("NotEqual", union, constant(0.0))
        count = reduce_sum(op("Cast", seen, DstT=float32))
        each = op("DivNoNan", both, union)
        value = op("DivNoNan", reduce_sum(each), count, name="mean_iou")
        return collect(metrics_collections, value), collect(updates_collections, update)


def mean_per_class_accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming mean over classes of the accuracy of each class.

    Args:
      labels, predictions: [...] class indices.
      num_classes: number of classes.
      weights: [...] or None.
      the others: as in mean.
    Returns: (mean, update operation that returns the accuracy of each class).
    """
    with variable_scope(name, "mean_accuracy", [predictions, labels, weights]):
        labels, predictions, weights = _flat(labels, predictions, weights)
        labels, predictions, weights = matched(labels, predictions, weights)
        total = metric_variable([num_classes], name="total")
        count = metric_variable([num_classes], name="count")
        ones = ones_like(labels, float32)
        right = op("Cast", op("Equal", labels, predictions), DstT=float32)
        if weights is not None:
            ones, right = ones * weights, right * weights
        new_total = scatter_add(total, labels, ones)
        new_count = scatter_add(count, labels, right)
        each = quotient(count, total)
        value = reduce_mean(each, name="mean_accuracy")
        update = quotient(new_count, new_total, "update_op")
        return collect(metrics_collections, value), collect(updates_collections, update)

"""Streaming counts of true and false positives and negatives, precision and recall."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.formats.dtypes import as_dtype, float32
from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import identity
from headrace.graph.framework.operation import Tensor
from headrace.graph.metrics.means import collect, matched, metric_variable
from headrace.graph.ops.elementwise.elementwise import cast
from headrace.graph.ops.reduction import reduce_sum
from headrace.graph.ops.state import assign_add
from headrace.graph.typing.aliases import Collections, TensorLike
from headrace.graph.variables.variable_scope import variable_scope

if TYPE_CHECKING:
    from headrace.graph.typing.functions import Metric

_BOOL = as_dtype("bool")


def _counted(op_name: str, labelled: bool, predicted: bool, summary: str) -> Metric:
    def function(
        labels: TensorLike,
        predictions: TensorLike,
        weights: TensorLike | None = None,
        metrics_collections: Collections | None = None,
        updates_collections: Collections | None = None,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor]:
        with variable_scope(name, op_name, [predictions, labels, weights]):
            labels, predictions, weights = matched(
                cast(labels, _BOOL), cast(predictions, _BOOL), weights
            )
            hit = op("LogicalAnd", _equals(labels, labelled), _equals(predictions, predicted))
            return _sum_of(hit, weights, metrics_collections, updates_collections)

    function.__doc__ = (
        f"Streaming (weighted) number of {summary}.\n\n    Args:\n      labels, predictions: "
        "[...], "
        "cast to bool.\n      weights: broadcastable to labels, or None.\n      the others: as in "
        "mean.\n    Returns: (count, update operation that returns the new count).\n    "
    )
    function.__name__ = function.__qualname__ = op_name
    return function


def _equals(x: Tensor, requested: bool) -> Tensor:
    return x if requested else op("LogicalNot", x)


def _sum_of(
    hits: Tensor, weights: Any, metrics_collections: Any, updates_collections: Any
) -> tuple[Tensor, Tensor]:
    count = metric_variable([], name="count")
    values = op("Cast", hits, DstT=float32)
    if weights is not None:
        values = op("Mul", values, cast(weights, float32))
    value = collect(metrics_collections, identity(count))
    return value, collect(updates_collections, assign_add(count, reduce_sum(values)))


true_positives = _counted("true_positives", True, True, "true positives")
true_negatives = _counted("true_negatives", False, False, "true negatives")
false_positives = _counted("false_positives", False, True, "false positives")
false_negatives = _counted("false_negatives", True, False, "false negatives")


def _safe_ratio(hits: Any, misses: Any, name: str) -> Tensor:
    total = op("AddV2", hits, misses)
    result = op("RealDiv", hits, total)
    return op("SelectV2", op("Greater", total, constant(0.0)), result, constant(0.0), name=name)


def _ratio(op_name: str, misses: Any, summary: str) -> Metric:
    def function(
        labels: TensorLike,
        predictions: TensorLike,
        weights: TensorLike | None = None,
        metrics_collections: Collections | None = None,
        updates_collections: Collections | None = None,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor]:
        with variable_scope(name, op_name, [predictions, labels, weights]):
            labels, predictions, weights = matched(
                cast(labels, _BOOL), cast(predictions, _BOOL), weights
            )
            right, more_right = true_positives(labels, predictions, weights)
            wrong, more_wrong = misses(labels, predictions, weights)
            value = collect(metrics_collections, _safe_ratio(right, wrong, "value"))
            update = _safe_ratio(more_right, more_wrong, "update_op")
            return value, collect(updates_collections, update)

    function.__doc__ = (
        f"{summary}; 0 if the divisor is 0.\n\n    Args:\n      labels, predictions: [...], "
        "cast to "
        "bool.\n      weights: broadcastable to labels, or None.\n      the others: as in mean."
        "\n    Returns: (ratio, update operation that returns the new ratio).\n    "
    )
    function.__name__ = function.__qualname__ = op_name
    return function


precision = _ratio(
    "precision",
    false_positives,
    "Streaming precision: true positives / (true positives + false positives)",
)
recall = _ratio("recall", false_negatives, "The share of what is true that was predicted")

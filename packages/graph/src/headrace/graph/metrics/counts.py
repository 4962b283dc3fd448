"""How often predictions of true or false were right or wrong, over all batches so far."""

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


def _counted(op_name: str, labelled: bool, predicted: bool, says: str) -> Metric:
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
            hit = op("LogicalAnd", _is(labels, labelled), _is(predictions, predicted))
            return _sum_of(hit, weights, metrics_collections, updates_collections)

    function.__doc__ = (
        f"The (weighted) number of {says}.\n\n    Args:\n      labels, predictions: cast to bool."
        "\n      weights: that broadcast against labels; the others are those of mean.\n    "
        "Returns: the number, and what adds a batch to it and gives the new one.\n    "
    )
    function.__name__ = function.__qualname__ = op_name
    return function


def _is(x: Tensor, wanted: bool) -> Tensor:
    return x if wanted else op("LogicalNot", x)


def _sum_of(
    hits: Tensor, weights: Any, metrics_collections: Any, updates_collections: Any
) -> tuple[Tensor, Tensor]:
    count = metric_variable([], name="count")
    values = op("Cast", hits, DstT=float32)
    if weights is not None:
        values = op("Mul", values, cast(weights, float32))
    value = collect(metrics_collections, identity(count))
    return value, collect(updates_collections, assign_add(count, reduce_sum(values)))


true_positives = _counted("true_positives", True, True, "predictions of true that are right")
true_negatives = _counted("true_negatives", False, False, "predictions of false that are right")
false_positives = _counted("false_positives", False, True, "predictions of true that are wrong")
false_negatives = _counted("false_negatives", True, False, "predictions of false that are wrong")


def _share(hits: Any, misses: Any, name: str) -> Tensor:
    total = op("AddV2", hits, misses)
    made = op("RealDiv", hits, total)
    return op("SelectV2", op("Greater", total, constant(0.0)), made, constant(0.0), name=name)


def _ratio(op_name: str, misses: Any, says: str) -> Metric:
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
            value = collect(metrics_collections, _share(right, wrong, "value"))
            update = _share(more_right, more_wrong, "update_op")
            return value, collect(updates_collections, update)

    function.__doc__ = (
        f"{says}; 0 where there are none.\n\n    Args:\n      labels, predictions: cast to bool."
        "\n      weights: that broadcast against labels; the others are those of mean.\n    "
        "Returns: the ratio, and what adds a batch to it and gives the new one.\n    "
    )
    function.__name__ = function.__qualname__ = op_name
    return function


precision = _ratio("precision", false_positives, "The share of predictions of true that are right")
recall = _ratio("recall", false_negatives, "The share of what is true that was predicted")

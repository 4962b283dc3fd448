"""Streaming metrics at thresholds of scores: counts, ratios, areas under curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.formats.dtypes import as_dtype, float32
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import identity
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import control_dependencies
from headrace.graph.losses.weight_broadcasting import broadcast_weights
from headrace.graph.metrics.means import collect, matched, metric_variable
from headrace.graph.ops.elementwise.elementwise import cast
from headrace.graph.ops.reduction import argmax, argmin, reduce_min, reduce_sum
from headrace.graph.ops.state import assign_add
from headrace.graph.typing.aliases import Collections, TensorLike
from headrace.graph.variables.variable_scope import variable_scope

if TYPE_CHECKING:
    from headrace.graph.typing.functions import MetricAtThresholds

_SMALL = 1e-7
_NAMES = {
    "tp": "true_positives",
    "fn": "false_negatives",
    "tn": "true_negatives",
    "fp": "false_positives",
}


def _at_thresholds(
    labels: Any, predictions: Any, thresholds: list[float], weights: Any, requested: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns variables of counts at each threshold by the keys of _NAMES, and their updates."""
    labels, predictions, weights = matched(
        cast(labels, as_dtype("bool")), cast(predictions, float32), weights
    )
    inside = [
        op("All", op(way, predictions, constant(edge)), _every(predictions))
        for way, edge in (("GreaterEqual", 0.0), ("LessEqual", 1.0))
    ]
    summary = constant(b"predictions must be in [0, 1]")
    checks = [op("Assert", fits, [summary, predictions]) for fits in inside]
    with control_dependencies(checks):
        scores = op("Reshape", predictions, [1, -1])
    truth = op("Reshape", labels, [1, -1])
    limits = constant([[t] for t in thresholds], dtype=float32)
    positive = op("Greater", scores, limits)
    counted = None
    if weights is not None:
        weights = broadcast_weights(cast(weights, float32), predictions)
        counted = op("Reshape", weights, [1, -1])
    chosen = {
        "tp": (truth, positive),
        "fn": (truth, op("LogicalNot", positive)),
        "tn": (op("LogicalNot", truth), op("LogicalNot", positive)),
        "fp": (op("LogicalNot", truth), positive),
    }
    values, updates = {}, {}
    for key, name in _NAMES.items():
        if key in requested.split():
            values[key] = metric_variable([len(thresholds)], name=name)
            hits = op("Cast", op("LogicalAnd", *chosen[key]), DstT=float32)
            if counted is not None:
                hits = hits * counted
            updates[key] = assign_add(values[key], reduce_sum(hits, 1))
    return values, updates


def _every(x: Tensor) -> Any:
    rank = x.get_shape().ndims
    return list(range(rank)) if rank is not None else op("Range", 0, op("Rank", x), 1)


def _even_thresholds(count: int) -> list[float]:
    """Returns evenly spaced thresholds from just below 0 to just above 1."""
    inner = [(i + 1) / (count - 1) for i in range(count - 2)]
    return [0.0 - _SMALL, *inner, 1.0 + _SMALL]


def _counts(key: str) -> MetricAtThresholds:
    name_of = f"{_NAMES[key]}_at_thresholds"

    def function(
        labels: TensorLike,
        predictions: TensorLike,
        thresholds: Sequence[float],
        weights: TensorLike | None = None,
        metrics_collections: Collections | None = None,
        updates_collections: Collections | None = None,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor]:
        with variable_scope(name, _NAMES[key], [predictions, labels, weights]):
            limits = [float(t) for t in thresholds]
            values, updates = _at_thresholds(labels, predictions, limits, weights, key)
            value = collect(metrics_collections, identity(values[key]))
            return value, collect(updates_collections, updates[key])

    function.__doc__ = (
        f"The number of {_NAMES[key].replace('_', ' ')} at each threshold.\n\n    Args:\n      "
        "labels: cast to bool; predictions: from 0 to 1; thresholds: floats.\n      weights: that "
        "broadcast against labels; the others are those of mean.\n    "
    )
    function.__name__ = function.__qualname__ = name_of
    return function


true_positives_at_thresholds = _counts("tp")
true_negatives_at_thresholds = _counts("tn")
false_positives_at_thresholds = _counts("fp")
false_negatives_at_thresholds = _counts("fn")


def _ratios(scope: str, other: str, summary: str) -> MetricAtThresholds:
    def function(
        labels: TensorLike,
        predictions: TensorLike,
        thresholds: Sequence[float],
        weights: TensorLike | None = None,
        metrics_collections: Collections | None = None,
        updates_collections: Collections | None = None,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor]:
        with variable_scope(name, scope, [predictions, labels, weights]):
            limits = [float(t) for t in thresholds]
            both = _at_thresholds(labels, predictions, limits, weights, f"tp {other}")

            def ratio(counts: dict[str, Any], name: str) -> Tensor:
                small = constant(_SMALL)
                return op("RealDiv", counts["tp"], small + counts["tp"] + counts[other], name=name)

            value = collect(metrics_collections, ratio(both[0], "value"))
            return value, collect(updates_collections, ratio(both[1], "update_op"))

    function.__doc__ = (
        f"{summary} at each threshold.\n\n    Args:\n      labels: cast to bool; predictions: "
        "from 0 "
        "to 1; thresholds: floats.\n      weights: that broadcast against labels; the others are "
        "those of mean.\n    "
    )
    function.__name__ = function.__qualname__ = scope
    return function


precision_at_thresholds = _ratios("precision_at_thresholds", "fp", "The precision")
recall_at_thresholds = _ratios("recall_at_thresholds", "fn", "The recall")


def auc(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming area under a curve, approximated at thresholds.

    Args:
      labels: [...], cast to bool.
      predictions: [...] from 0 to 1.
      weights: broadcastable to labels, or None.
      num_thresholds: number of evenly spaced thresholds.
      curve: "ROC" or "PR" (precision-recall).
      summation_method: "trapezoidal", "careful_interpolation" (for PR), "minoring" or "majoring".
      thresholds: values from 0 to 1 to use instead of evenly spaced ones.
      the others: as in mean.
    Returns: (area, update operation that returns the new area).
    Raises: ValueError for another curve or method.
    Source: Davis and Goadrich 2006 (careful_interpolation).
    """
    with variable_scope(name, "auc", [labels, predictions, weights]):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        methods = ("trapezoidal", "careful_interpolation", "minoring", "majoring")
        if summation_method not in methods:
            raise ValueError(f"Invalid summation_method: {summation_method}")
        if thresholds is None:
            limits = _even_thresholds(num_thresholds)
        else:
            limits = [0.0 - _SMALL, *sorted(float(t) for t in thresholds), 1.0 + _SMALL]
        values, updates = _at_thresholds(labels, predictions, limits, weights, "tp fn tn fp")
        area = collect(metrics_collections, _area(values, curve, summation_method, "value"))
        update = _area(updates, curve, summation_method, "update_op")
        return area, collect(updates_collections, update)


def _area(counts: dict[str, Any], curve: str, method: str, name: str) -> Tensor:
    tp, fn, tn, fp = (convert_to_tensor(counts[k]) for k in ("tp", "fn", "tn", "fp"))
    if method == "careful_interpolation" and curve == "PR":
        return _interpolated(tp, fn, fp, name)
    small = constant(1e-6)
    recall = (tp + small) / (tp + fn + small)
    if curve == "ROC":
        x, y = fp / (fp + tn + small), recall
    else:
        x, y = recall, (tp + small) / (tp + fp + small)
    left, right = y[:-1], y[1:]
    if method == "minoring":
        height = op("Minimum", left, right)
    elif method == "majoring":
        height = op("Maximum", left, right)
    else:
        height = (left + right) / constant(2.0)
    return reduce_sum((x[:-1] - x[1:]) * height, name=name)


def _interpolated(tp: Tensor, fn: Tensor, fp: Tensor, name: str) -> Tensor:
    zero = constant(0.0)
    gained = tp[:-1] - tp[1:]
    positive = tp + fp
    wide, narrow = positive[:-1], positive[1:]
    slope = op("DivNoNan", gained, op("Maximum", wide - narrow, zero), name="prec_slope")
    base = tp[1:] - slope * narrow
    both = op("LogicalAnd", op("Greater", wide, zero), op("Greater", narrow, zero))
    ratio = op("DivNoNan", wide, op("Maximum", narrow, zero))
    ratio = op("SelectV2", both, ratio, op("OnesLike", narrow))
    each = slope * (gained + base * op("Log", ratio))
    return reduce_sum(op("DivNoNan", each, op("Maximum", tp[1:] + fn[1:], zero)), name=name)


def sensitivity_at_specificity(
    labels: TensorLike,
    predictions: TensorLike,
    specificity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming sensitivity at the threshold whose specificity is nearest to a value.

    Args:
      labels: [...], cast to bool.
      predictions: [...] from 0 to 1.
      specificity: from 0 to 1.
      the others: as in auc.
    Returns: (sensitivity, update operation that returns the new one).
    Raises: ValueError for a specificity outside of [0, 1].
    """
    return _metric_at_other("sensitivity_at_specificity", specificity, "specificity", labels,
                         predictions, weights, num_thresholds, metrics_collections,
                         updates_collections, name)  # fmt: skip


def specificity_at_sensitivity(
    labels: TensorLike,
    predictions: TensorLike,
    sensitivity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming specificity at the threshold whose sensitivity is nearest to a value.

    Args:
      labels: [...], cast to bool.
      predictions: [...] from 0 to 1.
      sensitivity: from 0 to 1.
      the others: as in auc.
    Returns: (specificity, update operation that returns the new one).
    Raises: ValueError for a sensitivity outside of [0, 1].
    """
    return _metric_at_other("specificity_at_sensitivity", sensitivity, "sensitivity", labels,
                         predictions, weights, num_thresholds, metrics_collections,
                         updates_collections, name)  # fmt: skip


def _metric_at_other(
    scope: str,
    requested: float,
    what: str,
    labels: Any,
    predictions: Any,
    weights: Any,
    num_thresholds: int,
    metrics_collections: Any,
    updates_collections: Any,
    name: str | None,
) -> tuple[Tensor, Tensor]:
    if requested < 0 or requested > 1:
        raise ValueError(
            f"`{what}` must be in the range [0, 1]. Currently, `{what}` is {requested}."
        )
    with variable_scope(name, scope, [predictions, labels, weights]):
        limits = _even_thresholds(num_thresholds)
        both = _at_thresholds(labels, predictions, limits, weights, "tp fn tn fp")
        found = [
            _at_nearest_threshold(counts, requested, what == "specificity", kind)
            for counts, kind in zip(both, ("value", "update_op"), strict=True)
        ]
        return collect(metrics_collections, found[0]), collect(updates_collections, found[1])


def _at_nearest_threshold(
    counts: dict[str, Any], requested: float, by_specificity: bool, name: str
) -> Tensor:
    tp, fn, tn, fp = (convert_to_tensor(counts[k]) for k in ("tp", "fn", "tn", "fp"))
    small = constant(_SMALL)
    sensitivity, specificity = tp / (tp + fn + small), tn / (tn + fp + small)
    provided, other = (specificity, sensitivity) if by_specificity else (sensitivity, specificity)
    off = op("Abs", provided - constant(requested, dtype=float32))
    if by_specificity:
        index = argmin(off, 0)
    else:  # of several nearest thresholds, the last
        nearest = op("Cast", op("Equal", reduce_min(off), off), DstT=as_dtype("int64"))
        index = argmax(op("Cumsum", nearest, 0), 0)
    return op("GatherV2", other, op("Cast", index, DstT=as_dtype("int32")), 0, name=name)

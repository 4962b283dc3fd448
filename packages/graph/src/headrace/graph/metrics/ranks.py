"""Streaming precision and recall of the k highest-ranked classes."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.losses.weight_broadcasting import broadcast_weights
from headrace.graph.metrics.means import collect, metric_variable, quotient
from headrace.graph.ops.elementwise.elementwise import cast
from headrace.graph.ops.reduction import reduce_sum, top_k
from headrace.graph.ops.state import assign_add
from headrace.graph.typing.aliases import Collections, TensorLike

_INT64, _DOUBLE = as_dtype("int64"), as_dtype("float64")


def _at_k(name: str, k: int | None, class_id: int | None = None) -> str:
    name = f"{name}_at_{k}" if k is not None else f"{name}_at_k"
    return name if class_id is None else f"{name}_class{class_id}"


def _dense_labels(labels: Any, predictions: Tensor) -> Tensor:
    """Converts labels to [..., number of labels] int64; sparse rows are padded with -1."""
    if isinstance(labels, SparseTensor):
        nowhere = constant(-1, dtype=_INT64)
        values = cast(labels.values, _INT64)
        result = op("SparseToDense", labels.indices, labels.dense_shape, values, nowhere)
        # an extra column of -1, so that there is at least one
        pads = [[0, 0]] * (len(result.get_shape().as_list()) - 1) + [[0, 1]]
        return op("PadV2", result, pads, nowhere)
    labels = cast(labels, _INT64)
    mine, theirs = labels.get_shape().ndims, predictions.get_shape().ndims
    if mine is not None and theirs is not None and mine == theirs - 1:
        return op("ExpandDims", labels, -1)
    return labels


def _hits(labels: Tensor, predicted: Tensor, class_id: int | None) -> dict[str, Tensor]:
    """Counts true positives, false positives and false negatives of each row.

    Args:
      labels: [..., m] class indices.
      predicted: [..., k] class indices, distinct in each row.
    """
    same = op("Equal", op("ExpandDims", predicted, -1), op("ExpandDims", labels, -2))
    found = op("Any", same, [-1])
    missed = op("LogicalNot", op("Any", same, [-2]))
    missed = op("LogicalAnd", missed, op("LogicalNot", _seen_before(labels)))
    missed = op("LogicalAnd", missed, op("NotEqual", labels, constant(-1, dtype=_INT64)))
    wrong = op("LogicalNot", found)
    if class_id is not None:
        requested = constant(class_id, dtype=_INT64)
        of_class = op("Equal", predicted, requested)
        found, wrong = op("LogicalAnd", found, of_class), op("LogicalAnd", wrong, of_class)
        missed = op("LogicalAnd", missed, op("Equal", labels, requested))
    named = {"true_positive": found, "false_positive": wrong, "false_negative": missed}
    return {k: reduce_sum(op("Cast", v, DstT=_DOUBLE), -1) for k, v in named.items()}


def _seen_before(labels: Tensor) -> Tensor:
    """Returns where a label repeats an earlier one of its row: labels are sets."""
    same = op("Equal", op("ExpandDims", labels, -1), op("ExpandDims", labels, -2))
    number = op("Range", 0, op("Shape", labels)[-1], 1)
    earlier = op("Less", op("ExpandDims", number, 0), op("ExpandDims", number, 1))
    return op("Any", op("LogicalAnd", same, earlier), [-1])


def _counted(kind: str, hits: Tensor, weights: Any, k: int | None, class_id: Any) -> Any:
    with name_scope(_at_k(kind, k, class_id)) as scope:
        if weights is not None:
            hits = hits * broadcast_weights(cast(weights, _DOUBLE), hits)
        count = metric_variable([], _DOUBLE, name=scope)
        return count, assign_add(count, reduce_sum(hits), name="update")


def _ratio_at_top_k(
    other: str,
    labels: Any,
    predictions_idx: Any,
    k: int | None,
    class_id: int | None,
    weights: Any,
    metrics_collections: Any,
    updates_collections: Any,
) -> tuple[Tensor, Tensor]:
    predicted = cast(predictions_idx, _INT64)
    hits = _hits(_dense_labels(labels, predicted), predicted, class_id)
    kinds = ("true_positive", other)
    (right, more_right), (wrong, more_wrong) = (
        _counted(kind, hits[kind], weights, k, class_id) for kind in kinds
    )
    value = op("RealDiv", right, op("AddV2", right, wrong))
    update = op("RealDiv", more_right, op("AddV2", more_right, more_wrong), name="update")
    return collect(metrics_collections, value), collect(updates_collections, update)


def precision_at_top_k(
    labels: TensorLike,
    predictions_idx: TensorLike,
    k: int | None = None,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming precision: the fraction of predicted classes that are labels.

    Args:
      labels: [..., number of labels] class indices, a tensor or SparseTensor; or [...].
      predictions_idx: [..., k] class indices.
      k: used only for the name of the scope.
      class_id: count only this class; None counts all.
      weights: scalar or [...].
      the others: as in mean.
    Returns: (precision, update operation that returns the new one); NaN before the first batch.
    """
    with name_scope(name, _at_k("precision", k, class_id), [predictions_idx, labels, weights]):
        return _ratio_at_top_k("false_positive", labels, predictions_idx, k, class_id, weights,
                               metrics_collections, updates_collections)  # fmt: skip


def recall_at_top_k(
    labels: TensorLike,
    predictions_idx: TensorLike,
    k: int | None = None,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming recall: the fraction of labels that are predicted; see precision_at_top_k."""
    with name_scope(name, _at_k("recall", k, class_id), [predictions_idx, labels, weights]):
        return _ratio_at_top_k("false_negative", labels, predictions_idx, k, class_id, weights,
                               metrics_collections, updates_collections)  # fmt: skip


def precision_at_k(
    labels: TensorLike,
    predictions: TensorLike,
    k: int,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming precision_at_top_k of the k highest scores.

    Args:
      predictions: [..., classes] scores.
      k: number of highest scores to use.
      the others: as in precision_at_top_k.
    """
    with name_scope(name, _at_k("precision", k, class_id), [predictions, labels, weights]) as scope:
        best = top_k(convert_to_tensor(predictions), k)[1]
        return precision_at_top_k(labels, best, k, class_id, weights, metrics_collections,
                                  updates_collections, scope)  # fmt: skip


def recall_at_k(
    labels: TensorLike,
    predictions: TensorLike,
    k: int,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming recall_at_top_k of the k highest scores.

    Args:
      predictions: [..., classes] scores.
      k: number of highest scores to use.
      the others: as in precision_at_top_k.
    """
    with name_scope(name, _at_k("recall", k, class_id), [predictions, labels, weights]) as scope:
        best = top_k(convert_to_tensor(predictions), k)[1]
        return recall_at_top_k(labels, best, k, class_id, weights, metrics_collections,
                               updates_collections, scope)  # fmt: skip


sparse_precision_at_k = precision_at_k


def average_precision_at_k(
    labels: TensorLike,
    predictions: TensorLike,
    k: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Streaming mean over rows of the average precision of the k highest scores.

    Args:
      labels: as in precision_at_top_k.
      predictions: [..., classes] scores.
      k: number of highest scores to use.
      weights: scalar or [...].
      the others: as in mean.
    """
    with name_scope(name, _at_k("average_precision", k), [predictions, labels, weights]):
        best = cast(top_k(convert_to_tensor(predictions), k)[1], _INT64)
        each = _average_precision(labels, best, k)
        with name_scope("max"):
            if weights is None:
                most = op("Cast", op("Size", each), DstT=_DOUBLE)
            else:
                counted = broadcast_weights(cast(weights, _DOUBLE), each)
                each, most = each * counted, reduce_sum(counted)
        count, total = (metric_variable([], _DOUBLE, name=n) for n in ("max", "total"))
        new_count = assign_add(count, most, name="update_max")
        new_total = assign_add(total, reduce_sum(each), name="update_total")
        value = collect(metrics_collections, quotient(total, count, "mean"))
        return value, collect(updates_collections, quotient(new_total, new_count, "update"))


sparse_average_precision_at_k = average_precision_at_k


def _average_precision(labels: Any, best: Tensor, k: int) -> Tensor:
    known = _dense_labels(labels, best)
    same = op("Equal", op("ExpandDims", best, -1), op("ExpandDims", known, -2))
    relevant = op("Cast", op("Any", same, [-1]), DstT=_DOUBLE)
    right = op("Cumsum", relevant, -1)
    shown = op("Cumsum", op("OnesLike", relevant), -1)
    total = reduce_sum(right / shown * relevant, -1)
    some = op("NotEqual", known, constant(-1, dtype=_INT64))
    if isinstance(labels, SparseTensor):  # sparse rows are sets, dense rows may repeat labels
        some = op("LogicalAnd", some, op("LogicalNot", _seen_before(known)))
    count = reduce_sum(op("Cast", some, DstT=_INT64), -1)
    least = op("Minimum", count, constant(k, dtype=_INT64))
    return total / op("Cast", least, DstT=_DOUBLE)

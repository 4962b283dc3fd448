"""Precision and recall of the k classes that a model ranks highest, over all batches so far."""

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
    """Labels as [..., number of labels] int64; what is missing in a sparse row is -1."""
    if isinstance(labels, SparseTensor):
        nowhere = constant(-1, dtype=_INT64)
        values = cast(labels.values, _INT64)
        made = op("SparseToDense", labels.indices, labels.dense_shape, values, nowhere)
        # a column of nothing, so that there is one to look at
        pads = [[0, 0]] * (len(made.get_shape().as_list()) - 1) + [[0, 1]]
        return op("PadV2", made, pads, nowhere)
    labels = cast(labels, _INT64)
    mine, theirs = labels.get_shape().ndims, predictions.get_shape().ndims
    if mine is not None and theirs is not None and mine == theirs - 1:
        return op("ExpandDims", labels, -1)
    return labels


def _hits(labels: Tensor, predicted: Tensor, class_id: int | None) -> dict[str, Tensor]:
    """For each row how many predictions are among its labels, are not, and labels not found.

    Args:
      labels: [..., m]; predicted: [..., k], no class twice in a row.
    """
    same = op("Equal", op("ExpandDims", predicted, -1), op("ExpandDims", labels, -2))
    found = op("Any", same, [-1])
    missed = op("LogicalNot", op("Any", same, [-2]))
    missed = op("LogicalAnd", missed, op("LogicalNot", _seen_before(labels)))
    missed = op("LogicalAnd", missed, op("NotEqual", labels, constant(-1, dtype=_INT64)))
    wrong = op("LogicalNot", found)
    if class_id is not None:
        wanted = constant(class_id, dtype=_INT64)
        of_class = op("Equal", predicted, wanted)
        found, wrong = op("LogicalAnd", found, of_class), op("LogicalAnd", wrong, of_class)
        missed = op("LogicalAnd", missed, op("Equal", labels, wanted))
    named = {"true_positive": found, "false_positive": wrong, "false_negative": missed}
    return {k: reduce_sum(op("Cast", v, DstT=_DOUBLE), -1) for k, v in named.items()}


def _seen_before(labels: Tensor) -> Tensor:
    """Whether a label stands earlier in its row, too: labels are a set."""
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


def _share_at_top_k(
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
    """The share of predicted classes that are among the labels.

    Args:
      labels: [..., number of labels] class numbers, a tensor or SparseTensor, or [...].
      predictions_idx: [..., k] class numbers; k: only for the scope's name.
      class_id: count this class alone; weights: a scalar or [...]; the others are those of mean.
    Returns: the share (NaN before the first batch), and what adds a batch and gives the new one.
    """
    with name_scope(name, _at_k("precision", k, class_id), [predictions_idx, labels, weights]):
        return _share_at_top_k("false_positive", labels, predictions_idx, k, class_id, weights,
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
    """The share of labels that were predicted; the arguments are those of precision_at_top_k."""
    with name_scope(name, _at_k("recall", k, class_id), [predictions_idx, labels, weights]):
        return _share_at_top_k("false_negative", labels, predictions_idx, k, class_id, weights,
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
    """precision_at_top_k of the k highest scores. Args: predictions: [..., classes] scores."""
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
    """recall_at_top_k of the k highest scores. Args: predictions: [..., classes] scores."""
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
    """The mean over rows of the precision at each of the k highest scores that is a label.

    Args:
      labels: as of precision_at_top_k; predictions: [..., classes] scores.
      weights: a scalar or [...]; the others are those of mean.
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
    if isinstance(labels, SparseTensor):  # a set there, a list in a dense row
        some = op("LogicalAnd", some, op("LogicalNot", _seen_before(known)))
    count = reduce_sum(op("Cast", some, DstT=_INT64), -1)
    least = op("Minimum", count, constant(k, dtype=_INT64))
    return total / op("Cast", least, DstT=_DOUBLE)

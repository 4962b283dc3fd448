"""Parses SequenceExample messages into tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.parsing.features import (
    FeaturePlan,
    FixedLenFeature,
    FixedLenSequenceFeature,
    VarLenFeature,
    keys_of,
)
from headrace.graph.typing.aliases import TensorLike


def _plans(context_features: Any, sequence_features: Any) -> tuple[FeaturePlan, FeaturePlan]:
    if not context_features and not sequence_features:
        raise ValueError("Missing features.")
    context = FeaturePlan(context_features, (VarLenFeature, FixedLenFeature))
    lists = FeaturePlan(sequence_features, (VarLenFeature, FixedLenSequenceFeature), is_list=True)
    return context, lists


def parse_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Tensor]]:
    """Parses a batch of serialized SequenceExample messages.

    Args:
      serialized: [batch] string.
      context_features: dict from keys to FixedLenFeature or VarLenFeature.
      sequence_features: dict from keys to FixedLenSequenceFeature (parsed to
        [batch, longest, shape...], padded with zeros or empty strings) or VarLenFeature (parsed to
        a SparseTensor [batch, longest, most values]).
      example_names: [batch] string, used in error messages.
    Returns: (context features, sequence features, the lengths [batch] int64 of the
      FixedLenSequenceFeatures), each a dict.
    Raises: ValueError for missing or unsupported features; in a run InvalidArgumentError for
      messages without required features, or with values of another dtype or number.
    """
    context, lists = _plans(context_features, sequence_features)
    with name_scope(name, "ParseSequenceExample", [serialized, example_names]):
        names: Any = [] if example_names is None else example_names
        outputs = op(
            "ParseSequenceExample",
            convert_to_tensor(serialized, dtype="string", name="serialized"),
            convert_to_tensor(names, dtype="string", name="names"),
            context.defaults,
            feature_list_dense_missing_assumed_empty=lists.may_lack,
            context_sparse_keys=list(context.sparse),
            context_dense_keys=list(context.dense),
            feature_list_sparse_keys=list(lists.sparse),
            feature_list_dense_keys=list(lists.dense),
            Ncontext_sparse=len(context.sparse),
            Ncontext_dense=len(context.dense),
            Nfeature_list_sparse=len(lists.sparse),
            Nfeature_list_dense=len(lists.dense),
            context_sparse_types=list(context.sparse.values()),
            feature_list_dense_types=lists.types,
            context_dense_shapes=context.shapes,
            feature_list_sparse_types=list(lists.sparse.values()),
            feature_list_dense_shapes=lists.shapes,
        )
        *parts, lengths = outputs
        batch = convert_to_tensor(serialized, dtype="string").shape
        for value, dims in zip(parts[3], context.shapes, strict=True):
            value.set_shape(batch.concatenate(dims))
        for value, dims in zip(parts[7], lists.shapes, strict=True):
            value.set_shape(batch.concatenate([None, *dims]))
        of_lengths = dict(zip(lists.dense, lengths, strict=True))
        for length in lengths:
            length.set_shape(batch)
        return context.result(parts[:4], 2), lists.result(parts[4:], 3), of_lengths


def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parses one serialized SequenceExample message.

    Args:
      serialized: [] string.
      context_features: dict from keys to FixedLenFeature or VarLenFeature.
      sequence_features: dict from keys to FixedLenSequenceFeature (parsed to [length, shape...]) or
        VarLenFeature (parsed to a SparseTensor [length, maximum length]).
      example_name: [] string, used in error messages.
    Returns: (dict of context features, dict of sequence features).
    Raises: as parse_sequence_example.
    """
    context, lists = _plans(context_features, sequence_features)
    with name_scope(name, "ParseSingleSequenceExample", [serialized, example_name]):
        outputs = op(
            "ParseSingleSequenceExample",
            convert_to_tensor(serialized, dtype="string", name="serialized"),
            convert_to_tensor(lists.may_lack, dtype="string"),
            keys_of(context.sparse),
            keys_of(context.dense),
            keys_of(lists.sparse),
            keys_of(lists.dense),
            context.defaults,
            convert_to_tensor("" if example_name is None else example_name, dtype="string"),
            context_sparse_types=list(context.sparse.values()),
            context_dense_shapes=context.shapes,
            feature_list_sparse_types=list(lists.sparse.values()),
            feature_list_dense_types=lists.types,
            feature_list_dense_shapes=lists.shapes,
        )
        for value, dims in zip(outputs[3], context.shapes, strict=True):
            value.set_shape(dims)
        for value, dims in zip(outputs[7], lists.shapes, strict=True):
            value.set_shape([None, *dims])
        return context.result(outputs[:4], 1), lists.result(outputs[4:], 2)

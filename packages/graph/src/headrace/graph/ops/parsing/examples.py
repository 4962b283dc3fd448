"""Parses Example messages into tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.parsing.features import (
    FeaturePlan,
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
    keys_of,
)
from headrace.graph.typing.aliases import TensorLike

_ALLOWED = (VarLenFeature, FixedLenFeature, FixedLenSequenceFeature, SparseFeature)


def parse_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: TensorLike | None = None,
) -> dict[str, Any]:
    """Parses a batch of serialized Example messages.

    Args:
      serialized: [batch] string.
      features: dict from keys to FixedLenFeature, VarLenFeature, SparseFeature or
        FixedLenSequenceFeature.
      example_names: [batch] string, used in error messages.
    Returns: dict from keys to Tensors and SparseTensors.
    Raises: ValueError for missing or invalid features; in a run InvalidArgumentError for messages
      without required features, or with values of another dtype or number.
    """
    if not features:
        raise ValueError(f"Missing: features was {features}.")
    with name_scope(name, "ParseExample", [serialized, example_names]):
        plan = FeaturePlan(features, _ALLOWED)
        names: Any = [] if example_names is None else example_names
        outputs = op(
            "ParseExample",
            convert_to_tensor(serialized, dtype="string", name="serialized"),
            convert_to_tensor(names, dtype="string", name="names"),
            keys_of(plan.sparse),
            keys_of(plan.dense),
            plan.defaults,
            sparse_types=list(plan.sparse.values()),
            dense_shapes=plan.shapes,
        )
        return plan.result(outputs, 2)


def parse_single_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: TensorLike | None = None,
) -> dict[str, Any]:
    """Parses one Example: serialized is a scalar, and results have no batch dimension.

    Args: as parse_example; example_names is not used.
    Raises: as parse_example.
    """
    if not features:
        raise ValueError("Missing features.")
    with name_scope(name, "ParseSingleExample", [serialized, example_names]):
        plan = FeaturePlan(features, _ALLOWED)
        outputs = op(
            "ParseSingleExample",
            convert_to_tensor(serialized, dtype="string", name="serialized"),
            plan.defaults,
            num_sparse=len(plan.sparse),
            sparse_keys=list(plan.sparse),
            dense_keys=list(plan.dense),
            sparse_types=list(plan.sparse.values()),
            dense_shapes=plan.shapes,
        )
        return plan.result(outputs, 1)

"""Static shapes and gradients of ops on ragged tensors."""

from __future__ import annotations

import importlib

import pytest

import headrace.graph as hr
from headrace.graph.framework import op_registry

raw = hr.raw_ops
MODULES = ["shape_rules.ragged", "ops.ragged", "ops.boosted_trees"]


@pytest.mark.parametrize("name", MODULES)
def test_module_can_be_imported(name: str) -> None:
    assert importlib.import_module(f"headrace.graph.{name}").__doc__


def to_tensor(shape: object, values: hr.Tensor, n_partitions: int = 1) -> hr.Tensor:
    splits = [hr.placeholder(hr.int64, [None]) for _ in range(n_partitions)]
    return raw.RaggedTensorToTensor(
        shape=hr.constant(shape, hr.int64),
        values=values,
        default_value=0.0,
        row_partition_tensors=splits,
        row_partition_types=["ROW_SPLITS"] * n_partitions,
    )


def test_shapes_of_dense_tensors(graph: hr.Graph) -> None:
    values = hr.placeholder(hr.float32, [None, 3])
    assert to_tensor(-1, values).shape.as_list() == [None, None, 3]
    assert to_tensor([4, -1, -1, 3], values, 2).shape.as_list() == [4, None, None, 3]
    with pytest.raises(ValueError, match="shape must have rank 3"):
        to_tensor([4, 5], values)
    with pytest.raises(ValueError, match="does not fit values"):
        to_tensor([4, 5, 6], values)


def test_shapes_of_parts(graph: hr.Graph) -> None:
    splits = [hr.placeholder(hr.int64, [None])] * 2
    values = hr.placeholder(hr.float32, [None, 3])
    indices, flat, shape = raw.RaggedTensorToSparse(rt_nested_splits=splits, rt_dense_values=values)
    assert (indices.shape.as_list(), flat.shape.as_list()) == ([None, 4], [None])
    assert shape.shape.as_list() == [4]
    found = raw.RaggedGather(
        params_nested_splits=splits,
        params_dense_values=values,
        indices=[0, 1],
        OUTPUT_RAGGED_RANK=2,
    )
    assert found[-1].shape.as_list() == [None, 3]
    ends, numbers = raw.RaggedRange(starts=[1, 2], limits=5, deltas=1)
    assert (ends.shape.as_list(), numbers.shape.as_list()) == ([3], [None])
    with pytest.raises(ValueError, match="2 and 3 elements"):
        raw.RaggedRange(starts=[1, 2], limits=[5, 6, 7], deltas=1)


def test_gradients_reach_values_and_default(graph: hr.Graph) -> None:
    values = hr.placeholder(hr.float32, [None, 3])
    default = hr.constant([1.0, 2.0, 3.0])
    dense = raw.RaggedTensorToTensor(
        shape=hr.constant(-1, hr.int64),
        values=values,
        default_value=default,
        row_partition_tensors=[hr.constant([0, 1, 3], hr.int64)],
        row_partition_types=["ROW_SPLITS"],
    )
    gradients = hr.gradients(dense, [values, default])
    assert [g.shape.as_list() for g in gradients] == [[None, 3], [3]]
    assert op_registry.no_gradient_reason("RaggedRange")
    assert op_registry.no_gradient_reason("BoostedTreesBucketize")

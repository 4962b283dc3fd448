"""Gradients of ops on ragged tensors, which models of others contain."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant
from headrace.graph.builder.indexed_slices import IndexedSlices
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.ops.arrays.joining import concat
from headrace.graph.ops.arrays.shapes import reshape, shape
from headrace.graph.ops.elementwise.elementwise import equal
from headrace.graph.ops.gather import boolean_mask, gather
from headrace.graph.ops.reduction import reduce_sum
from headrace.graph.ops.segment import unsorted_segment_sum

no_gradient("RaggedRange", "the gradient of a range is not defined")


@gradient("RaggedTensorToSparse")
def ragged_to_sparse_gradient(
    node: Operation, _indices: Any, values: Tensor, _shape: Any
) -> list[Tensor | None]:
    flat = node.inputs[-1]
    return [None] * (len(node.inputs) - 1) + [reshape(values, shape(flat))]


@gradient("RaggedGather")
def ragged_gather_gradient(node: Operation, *grads: Any) -> list[Any]:
    nested, values, indices = node.inputs[:-2], node.inputs[-2], node.inputs[-1]
    combined = nested[0]
    for splits in nested[1:]:
        combined = gather(splits, combined)
    flat = reshape(indices, [-1])
    begins, ends = gather(combined, flat), gather(combined[1:], flat)
    step = constant(1, begins.dtype)
    places = op("RaggedRange", begins, ends, step, Tsplits=begins.dtype)[1]
    slices = IndexedSlices(grads[-1], places, shape(values))
    return [None] * len(nested) + [slices, None]


@gradient("RaggedTensorToTensor")
def ragged_to_tensor_gradient(node: Operation, grad: Tensor) -> list[Tensor | None]:
    """Each value gets the gradient of its place; the default gets those of the others."""
    wanted, values, default, *partitions = node.inputs
    kinds = node.get_attr("row_partition_types")
    first = kinds[:1] in ([b"FIRST_DIM_SIZE"], ["FIRST_DIM_SIZE"])
    n_rows_dims = len(kinds) - int(first) + 1
    if wanted.shape.ndims != 0:
        wanted = wanted[:n_rows_dims]
    int64 = as_dtype("int64")
    count = shape(values, out_type=int64)[0]
    numbers = op("Range", constant(0, int64), count, constant(1, int64))
    nothing = constant(-1, int64)
    places = op(
        "RaggedTensorToTensor",
        wanted,
        numbers,
        nothing,
        list(partitions),
        row_partition_types=kinds,
    )
    flat = reshape(places, [-1])
    inner = shape(values)[1:]
    rows = reshape(grad, concat([[-1], inner], 0))
    # Negative places are dropped.
    values_grad = unsorted_segment_sum(rows, flat, count)
    rest = reduce_sum(boolean_mask(rows, equal(flat, nothing)), 0)
    axes = op("BroadcastGradientArgs", shape(default), inner)[0]
    default_grad = reshape(reduce_sum(rest, axes), shape(default))
    return [None, values_grad, default_grad, *([None] * len(partitions))]

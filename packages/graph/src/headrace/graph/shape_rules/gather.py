"""Shape rules of gathers."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import (
    Shape,
    at_least,
    attr,
    axis_of,
    compatible,
    int_of,
    merge,
    same,
    show,
    with_rank,
)

Shapes = list[Shape]


@shape_rule("gather")
def gather(op: ShapeQuery) -> Shapes:
    return [_gather(op.inputs[0], op.inputs[1], 0, 0)]


@shape_rule("gather_v2")
def gather_v2(op: ShapeQuery) -> Shapes:
    axis = int_of(op, 2, "axis")
    return [_gather(op.inputs[0], op.inputs[1], axis, attr(op, "batch_dims", 0))]


@shape_rule("resource_gather")
def resource_gather(op: ShapeQuery) -> Shapes:
    held = op.handle(0)
    params = None if held is None else held[1]
    batch = attr(op, "batch_dims", 0)
    return [_gather(params, op.inputs[1], batch, batch)]


def _gather(params: Shape, indices: Shape, axis: int | None, batch: int) -> Shape:
    at_least(params, 1, "params")
    if indices is not None and batch < 0:
        batch += len(indices)
    if params is None or indices is None:
        return None
    if not 0 <= batch <= len(indices):
        raise ValueError(f"batch_dims is outside of indices {show(indices)}")
    if axis is None:
        return (None,) * (len(params) - 1 + len(indices) - batch)
    at = axis_of(axis, params)
    if batch > at:
        raise ValueError(f"batch_dims, {batch}, is above axis, {at}")
    if not compatible(params[:batch], indices[:batch]):
        raise ValueError(
            f"batch sizes differ: params is {show(params)}, indices is {show(indices)}"
        )
    lead = merge(params[:batch], indices[:batch])
    assert lead is not None
    return (*lead, *params[batch:at], *indices[batch:], *params[at + 1 :])


@shape_rule("gather_nd")
def gather_nd(op: ShapeQuery) -> Shapes:
    return [_gather_nd(op.inputs[0], op.inputs[1])]


@shape_rule("resource_gather_nd")
def resource_gather_nd(op: ShapeQuery) -> Shapes:
    held = op.handle(0)
    return [_gather_nd(None if held is None else held[1], op.inputs[1])]


def _gather_nd(params: Shape, indices: Shape) -> Shape:
    at_least(indices, 1, "indices")
    if params is None or indices is None or indices[-1] is None:
        return None
    if indices[-1] > len(params):
        raise ValueError(f"indices {show(indices)} reach deeper than params {show(params)}")
    return (*indices[:-1], *params[indices[-1] :])


@shape_rule("gather_tree")
def gather_tree(op: ShapeQuery) -> Shapes:
    ids = with_rank(op.inputs[0], 3, "step_ids")
    parents = with_rank(op.inputs[1], 3, "parent_ids")
    lengths = with_rank(op.inputs[2], 1, "max_sequence_lengths")
    with_rank(op.inputs[3], 0, "end_token")
    if not compatible(ids, parents):
        raise ValueError(
            "step_ids.shape must match parent_ids.shape, but shapes are: "
            f"{show(ids)} and {show(parents)}"
        )
    merged = merge(ids, parents)
    assert merged is not None
    if not same(merged[1], lengths[0]):
        raise ValueError(
            "batch size dimensions step_ids.shape[1] and max_sequence_lengths.shape[0] must match, "
            f"but shapes are: {show(merged)} and {show(lengths)}"
        )
    batch = lengths[0] if merged[1] is None else merged[1]
    return [(merged[0], batch, merged[2])]

"""Shape rules of segment reductions."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import (
    Shape,
    at_least,
    compatible,
    int_of,
    not_negative,
    same,
    show,
    with_rank,
)

Shapes = list[Shape]


@shape_rule("segment")
def segment(op: ShapeQuery) -> Shapes:
    data, ids = at_least(op.inputs[0], 1, "data"), with_rank(op.inputs[1], 1, "segment_ids")
    if data is None:
        return [None]
    if not same(ids[0], data[0]):
        raise ValueError(f"segment_ids {show(ids)} do not fit data {show(data)}")
    return [(None, *data[1:])]


@shape_rule("unsorted_segment")
def unsorted_segment(op: ShapeQuery) -> Shapes:
    data, ids = op.inputs[0], op.inputs[1]
    n = not_negative(int_of(op, 2, "num_segments"), "num_segments")
    if data is None or ids is None:
        return [None]
    if len(ids) > len(data) or not compatible(ids, data[: len(ids)]):
        raise ValueError(f"segment_ids {show(ids)} do not fit data {show(data)}")
    return [(n, *data[len(ids) :])]


def _rows(op: ShapeQuery, n: int | None) -> Shape:
    data = at_least(op.inputs[0], 1, "data")
    indices, ids = with_rank(op.inputs[1], 1, "indices"), with_rank(op.inputs[2], 1, "segment_ids")
    if not same(indices[0], ids[0]):
        raise ValueError(f"indices {show(indices)} and segment_ids {show(ids)} differ")
    return None if data is None else (n, *data[1:])


@shape_rule("sparse_segment")
def sparse_segment(op: ShapeQuery) -> Shapes:
    return [_rows(op, None)]


@shape_rule("sparse_segment_counted")
def sparse_segment_counted(op: ShapeQuery) -> Shapes:
    return [_rows(op, not_negative(int_of(op, 3, "num_segments"), "num_segments"))]


@shape_rule("sparse_segment_grad")
def sparse_segment_grad(op: ShapeQuery) -> Shapes:
    return [_rows(op, not_negative(int_of(op, 3, "output_dim0"), "output_dim0"))]


@shape_rule("sparse_segment_grad_v2")
def sparse_segment_grad_v2(op: ShapeQuery) -> Shapes:
    return [_rows(op, None), (None,)]

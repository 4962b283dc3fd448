"""Shape rules of string and parsing ops."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import Shape, attr

Shapes = list[Shape]


@shape_rule("string_split")
def string_split(op: ShapeQuery) -> Shapes:
    return [(None, 2), (None,), (2,)]


@shape_rule("parse_example")
def parse_example(op: ShapeQuery) -> Shapes:
    """Sparse indices, values and shapes, dense values, then ragged values and row splits."""
    batch = op.inputs[0]
    n_sparse = len(attr(op, "sparse_types") or ())
    dense = attr(op, "dense_shapes") or ()
    rank = None if batch is None else len(batch) + 1
    out: Shapes = [(None, rank)] * n_sparse
    out += [(None,)] * n_sparse
    out += [(rank,)] * n_sparse
    for shape in dense:
        out.append(None if batch is None or shape is None else (*batch, *shape))
    return [*out, *([(None,)] * (op.n_outputs - len(out)))]


@shape_rule("decode_csv")
def decode_csv(op: ShapeQuery) -> Shapes:
    return [op.inputs[0]] * op.n_outputs


@shape_rule("decode_raw")
def decode_raw(op: ShapeQuery) -> Shapes:
    x = op.inputs[0]
    return [None if x is None else (*x, None)]

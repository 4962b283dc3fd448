"""Shape rules of sparse tensors: indices [n, rank], values [n], shape [rank]."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import Shape, ints, same, show, total, with_rank

Shapes = list[Shape]


@shape_rule("sparse_triplet")
def sparse_triplet(op: ShapeQuery) -> Shapes:
    out: Shapes = [(None, None), (None,), (None,)]
    return out[: op.n_outputs]


@shape_rule("sparse_reshape")
def sparse_reshape(op: ShapeQuery) -> Shapes:
    indices = with_rank(op.inputs[0], 2, "input_indices")
    with_rank(op.inputs[1], 1, "input_shape")
    new = with_rank(op.inputs[2], 1, "new_shape")
    return [(indices[0], new[0]), new]


@shape_rule("sparse_concat")
def sparse_concat(op: ShapeQuery) -> Shapes:
    n = len(op.inputs) // 3
    indices = [with_rank(shape, 2, f"indices {i}") for i, shape in enumerate(op.inputs[:n])]
    rank = next((shape[1] for shape in indices if shape[1] is not None), None)
    for i, shape in enumerate(indices):
        if not same(shape[1], rank):
            raise ValueError(f"indices {i} {show(shape)} are not of rank {rank}")
    rows = total(*[shape[0] for shape in indices])
    return [(rows, rank), (rows,), (rank,)]


@shape_rule("sparse_fill_empty_rows")
def sparse_fill_empty_rows(op: ShapeQuery) -> Shapes:
    indices, shape = with_rank(op.inputs[0], 2, "indices"), ints(op, 2)
    rows = shape[0] if shape else None
    return [(None, indices[1]), (None,), (rows,), (indices[0],)]


@shape_rule("sparse_fill_empty_rows_grad")
def sparse_fill_empty_rows_grad(op: ShapeQuery) -> Shapes:
    return [with_rank(op.inputs[0], 1, "reverse_index_map"), ()]


@shape_rule("sparse_add_grad")
def sparse_add_grad(op: ShapeQuery) -> Shapes:
    a, b = with_rank(op.inputs[1], 2, "a_indices"), with_rank(op.inputs[2], 2, "b_indices")
    return [a[:1], b[:1]]


@shape_rule("sparse_dense_matmul")
def sparse_dense_matmul(op: ShapeQuery) -> Shapes:
    known, b = ints(op, 2), with_rank(op.inputs[3], 2, "b")
    inner_b, columns = (b[1], b[0]) if op.attrs["adjoint_b"] else b
    if known is None:
        return [(None, columns)]
    if len(known) != 2:
        raise ValueError(f"a must have rank 2, is {show(known)}")
    rows, inner = (known[1], known[0]) if op.attrs["adjoint_a"] else known
    if not same(inner, inner_b):
        raise ValueError(f"inner sizes differ: a is {show(known)}, b is {show(b)}")
    return [(rows, columns)]


@shape_rule("vector_3")
def vector_3(op: ShapeQuery) -> Shapes:
    return [(3,)]


@shape_rule("matrix_3")
def matrix_3(op: ShapeQuery) -> Shapes:
    return [(None, 3)]

"""Shape rules of sparse tensors: indices [n, rank], values [n], shape [rank]."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import Shape, axis_of, ints, same, show, total, with_rank

Shapes = list[Shape]


def _triplet(rank: int | None, n_outputs: int = 3) -> Shapes:
    """Returns the shapes of a sparse tensor with an unknown number of values."""
    out: Shapes = [(None, rank), (None,), (rank,)]
    return out[:n_outputs]


def _rank(op: ShapeQuery, *inputs: int) -> int | None:
    """Returns how many elements the first of some vectors has whose size is known."""
    sizes = [with_rank(op.inputs[i], 1, f"input {i}")[0] for i in inputs]
    return next((size for size in sizes if size is not None), None)


@shape_rule("sparse_triplet")
def sparse_triplet(op: ShapeQuery) -> Shapes:
    return _triplet(None)


@shape_rule("sparse_part")
def sparse_part(op: ShapeQuery) -> Shapes:
    return _triplet(_rank(op, 2))


@shape_rule("sparse_binary")
def sparse_binary(op: ShapeQuery) -> Shapes:
    return _triplet(_rank(op, 2, 5), op.n_outputs)


@shape_rule("dense_sets")
def dense_sets(op: ShapeQuery) -> Shapes:
    ranks = [len(shape) for shape in op.inputs if shape is not None]
    return _triplet(ranks[0] if ranks else None)


@shape_rule("dense_and_sparse_set")
def dense_and_sparse_set(op: ShapeQuery) -> Shapes:
    dense = op.inputs[0]
    return _triplet(_rank(op, 3) if dense is None else len(dense))


@shape_rule("sparse_matrix")
def sparse_matrix(op: ShapeQuery) -> Shapes:
    return _triplet(2)


@shape_rule("sparse_split")
def sparse_split(op: ShapeQuery) -> Shapes:
    indices, values, shape = _triplet(_rank(op, 3))
    n = op.attrs["num_split"]
    return [indices] * n + [values] * n + [shape] * n


@shape_rule("sparse_slice_grad")
def sparse_slice_grad(op: ShapeQuery) -> Shapes:
    return [with_rank(op.inputs[1], 2, "input_indices")[:1]]


@shape_rule("sparse_reduce")
def sparse_reduce(op: ShapeQuery) -> Shapes:
    shape, axes = ints(op, 2), ints(op, 3)
    if shape is None or axes is None or any(d < 0 for d in shape):
        return [None]
    reduced = {axis_of(axis, tuple(shape)) for axis in axes} if axes else range(len(shape))
    if op.attrs["keep_dims"]:
        return [tuple(1 if i in reduced else d for i, d in enumerate(shape))]
    return [tuple(d for i, d in enumerate(shape) if i not in reduced)]


@shape_rule("edit_distance")
def edit_distance(op: ShapeQuery) -> Shapes:
    hypothesis, truth = ints(op, 2), ints(op, 5)
    if hypothesis is None or truth is None or any(d < 0 for d in (*hypothesis, *truth)):
        return [None]
    if len(hypothesis) != len(truth):
        raise ValueError(
            f"hypothesis_shape {show(hypothesis)} and truth_shape {show(truth)} differ in rank"
        )
    return [tuple(map(max, hypothesis[:-1], truth[:-1]))]


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

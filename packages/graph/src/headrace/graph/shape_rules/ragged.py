"""Shape rules of ragged tensors: nested row splits and flat values."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import Shape, at_least, same, show, with_rank

Shapes = list[Shape]


@shape_rule("ragged_to_tensor")
def ragged_to_tensor(op: ShapeQuery) -> Shapes:
    given, values = op.inputs[0], op.inputs[1]
    kinds = op.attrs["row_partition_types"]
    ragged_rank = len(kinds) - (bool(kinds) and kinds[0] == "FIRST_DIM_SIZE")
    known = None if given is None or len(given) == 0 else op.value_as_shape(0)
    inner = None if values is None else at_least(values, 1, "values")[1:]  # type: ignore[index]
    if known is None:
        return [None if inner is None else (None,) * (ragged_rank + 1) + inner]
    if inner is None:
        return [known]
    if len(known) != ragged_rank + 1 + len(inner):
        raise ValueError(
            f"shape must have rank {ragged_rank + 1 + len(inner)} for values of shape "
            f"{show(values)}, is {show(known)}"
        )
    for one, other in zip(known[ragged_rank + 1 :], inner, strict=True):
        if not same(one, other):
            raise ValueError(f"shape {show(known)} does not fit values of shape {show(values)}")
    merged = zip(known[ragged_rank + 1 :], inner, strict=True)
    return [known[: ragged_rank + 1] + tuple(b if a is None else a for a, b in merged)]


@shape_rule("ragged_to_sparse")
def ragged_to_sparse(op: ShapeQuery) -> Shapes:
    values = at_least(op.inputs[-1], 1, "rt_dense_values")
    rank = None if values is None else op.attrs["RAGGED_RANK"] + len(values)
    return [(None, rank), (None,), (rank,)]


@shape_rule("ragged_gather")
def ragged_gather(op: ShapeQuery) -> Shapes:
    values = at_least(op.inputs[-2], 1, "params_dense_values")
    n = op.attrs["OUTPUT_RAGGED_RANK"]
    splits: Shapes = [(None,)] * n
    return [*splits, None if values is None else (None, *values[1:])]


@shape_rule("ragged_range")
def ragged_range(op: ShapeQuery) -> Shapes:
    rows: int | None = 1
    vectors = False
    for shape in op.inputs:
        if shape is None:
            rows = None
            vectors = True
        elif len(shape) > 1:
            raise ValueError(f"a bound of ranges has at most rank 1, is {show(shape)}")
        elif shape:
            size = shape[0]
            if vectors and not same(rows, size):
                raise ValueError(f"bounds of ranges have {rows} and {size} elements")
            rows = size if size is not None or not vectors else rows
            vectors = True
    return [(None if rows is None else rows + 1,), (None,)]


@shape_rule("boosted_trees_bucketize")
def boosted_trees_bucketize(op: ShapeQuery) -> Shapes:
    n = op.attrs["num_features"]
    for boundaries in op.inputs[n:]:
        with_rank(boundaries, 1, "bucket_boundaries")
    return [with_rank(values, 1, "float_values") for values in op.inputs[:n]]

"""Shape rules of scatter ops and dynamic_partition."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import Shape, at_least, compatible, ints, merge, show, sizes

Shapes = list[Shape]


@shape_rule("scatter")
def scatter(op: ShapeQuery) -> Shapes:
    variable, indices, updates = op.inputs
    at_least(variable, 1, "variable")
    if variable is not None and indices is not None and updates:
        if not compatible(updates, (*indices, *variable[1:])):
            raise ValueError(
                f"updates {show(updates)} do not fit "
                f"indices {show(indices)} and variable {show(variable)}"
            )
    return [variable]


@shape_rule("scatter_nd")
def scatter_nd(op: ShapeQuery) -> Shapes:
    shape = sizes(op, 2)
    _check_updates(op.inputs[0], op.inputs[1], shape)
    return [shape]


@shape_rule("tensor_scatter")
def tensor_scatter(op: ShapeQuery) -> Shapes:
    _check_updates(op.inputs[1], op.inputs[2], op.inputs[0], scalar=True)
    return [op.inputs[0]]


def _check_updates(indices: Shape, updates: Shape, shape: Shape, scalar: bool = False) -> None:
    at_least(indices, 1, "indices")
    if indices is None or shape is None or indices[-1] is None:
        return
    if indices[-1] > len(shape):
        raise ValueError(f"indices {show(indices)} reach deeper than {show(shape)}")
    if scalar and updates == ():
        return
    if not compatible(updates, (*indices[:-1], *shape[indices[-1] :])):
        raise ValueError(
            f"updates {show(updates)} do not fit indices {show(indices)} and shape {show(shape)}"
        )


@shape_rule("dynamic_partition")
def dynamic_partition(op: ShapeQuery) -> Shapes:
    data, partitions = op.inputs
    if data is None or partitions is None:
        return [None] * op.n_outputs
    n = len(partitions)
    if n > len(data) or not compatible(partitions, data[:n]):
        raise ValueError(f"partitions {show(partitions)} are not a prefix of data {show(data)}")
    return [(None, *data[n:])] * op.n_outputs


@shape_rule("dynamic_stitch")
def dynamic_stitch(op: ShapeQuery) -> Shapes:
    half = len(op.inputs) // 2
    suffix: Shape = None
    largest: int | None = -1
    for i in range(half):
        indices, data = op.inputs[i], op.inputs[half + i]
        known = ints(op, i)
        if known is None:
            largest = None
        elif largest is not None and known:
            largest = max(largest, *known)
        if indices is None or data is None:
            continue
        n = len(indices)
        if n > len(data) or not compatible(indices, data[:n]):
            raise ValueError(f"indices {show(indices)} are not a prefix of data {show(data)}")
        if not compatible(suffix, data[n:]):
            raise ValueError(f"data {i} of shape {show(data)} does not end in {show(suffix)}")
        suffix = merge(suffix, data[n:])
    if suffix is None:
        return [None]
    return [(None if largest is None else largest + 1, *suffix)]

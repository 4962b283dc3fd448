"""Shape rules of element-wise ops."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import (
    TYPE_SIZES,
    Shape,
    broadcast,
    compatible,
    merge,
    show,
)

Shapes = list[Shape]


@shape_rule("broadcast")
def broadcast_rule(op: ShapeQuery) -> Shapes:
    out = op.inputs[0]
    for shape in op.inputs[1:]:
        if shape != out:
            try:
                out = broadcast(out, shape)
            except ValueError:
                if op.attrs.get("incompatible_shape_error", True):
                    raise
                return [()]
    return [out]


@shape_rule("merge")
def merge_rule(op: ShapeQuery) -> Shapes:
    out = op.inputs[0]
    for i, shape in enumerate(op.inputs):
        if shape != out:
            out = _merged(out, shape, 0, i)
    return [out] * op.n_outputs


def _merged(a: Shape, b: Shape, i: int, j: int) -> Shape:
    if not compatible(a, b):
        raise ValueError(f"shapes differ: input {i} is {show(a)}, input {j} is {show(b)}")
    return merge(a, b)


@shape_rule("merge_or_scalar")
def merge_or_scalar(op: ShapeQuery) -> Shapes:
    out: Shape = ()
    first = 0
    unknown = False
    for i, shape in enumerate(op.inputs):
        if shape is None:
            unknown = True
        elif shape:
            if out:
                out = _merged(out, shape, first, i)
            else:
                out, first = shape, i
    return [None] if unknown and not out else [out]


@shape_rule("select")
def select(op: ShapeQuery) -> Shapes:
    condition, then, otherwise = op.inputs
    out = _merged(then, otherwise, 1, 2)
    if condition and out is not None:
        fits = compatible(condition, out)
        if len(condition) == 1 and out:
            fits = compatible(condition, out[:1])
        if not fits:
            raise ValueError(f"condition {show(condition)} fits no values of shape {show(out)}")
    elif condition and len(condition) > 1:
        out = condition
    return [out]


@shape_rule("clip_by_value")
def clip_by_value(op: ShapeQuery) -> Shapes:
    x = op.inputs[0]
    for i in (1, 2):
        if op.inputs[i] and not compatible(op.inputs[i], x):
            raise ValueError(
                f"input {i} must be a scalar or of shape {show(x)}, is {show(op.inputs[i])}"
            )
    return [x]


@shape_rule("bitcast")
def bitcast(op: ShapeQuery) -> Shapes:
    x = op.inputs[0]
    old, new = TYPE_SIZES.get(op.attrs["T"], 0), TYPE_SIZES.get(op.attrs["type"], 0)
    if x is None or old == new or not old or not new:
        return [x]
    if old > new:
        return [(*x, old // new)]
    if not x or x[-1] not in (None, new // old):
        raise ValueError(f"the last dimension must be {new // old}, is of shape {show(x)}")
    return [x[:-1]]

"""Shape rules of reductions, bincount, argmax and top_k."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import (
    Shape,
    at_least,
    axis_of,
    int_of,
    ints,
    not_negative,
    show,
)

Shapes = list[Shape]


@shape_rule("reduce")
def reduce(op: ShapeQuery) -> Shapes:
    return [_reduced(op.inputs[0], ints(op, 1), op.attrs["keep_dims"])]


def _reduced(x: Shape, axes: list[int] | None, keep: bool) -> Shape:
    if x is None:
        return None
    if axes is None:
        if not x:
            return ()
        return (None,) * len(x) if keep else None
    gone = set()
    for axis in axes:
        at = axis_of(axis, x)
        if at in gone:
            raise ValueError(f"axis {axis} is given twice")
        gone.add(at)
    if keep:
        return tuple([1 if i in gone else d for i, d in enumerate(x)])
    return tuple([d for i, d in enumerate(x) if i not in gone])


@shape_rule("arg_reduce")
def arg_reduce(op: ShapeQuery) -> Shapes:
    x, axis = op.inputs[0], int_of(op, 1, "dimension")
    if x is None:
        return [None]
    if axis is None:
        return [(None,) * max(len(x) - 1, 0)]
    at = axis_of(axis, x)
    return [x[:at] + x[at + 1 :]]


@shape_rule("bincount")
def bincount(op: ShapeQuery) -> Shapes:
    return [(not_negative(int_of(op, 1, "size"), "size"),)]


@shape_rule("dense_bincount")
def dense_bincount(op: ShapeQuery) -> Shapes:
    x, size = op.inputs[0], not_negative(int_of(op, 1, "size"), "size")
    if x is None:
        return [None]
    if len(x) > 2:
        raise ValueError(f"input must have rank 0, 1 or 2, is {show(x)}")
    return [(x[0], size) if len(x) == 2 else (size,)]


@shape_rule("histogram_fixed_width")
def histogram_fixed_width(op: ShapeQuery) -> Shapes:
    return [(not_negative(int_of(op, 2, "nbins"), "nbins"),)]


@shape_rule("top_k")
def top_k(op: ShapeQuery) -> Shapes:
    return _top_k(op.inputs[0], op.attrs["k"])


@shape_rule("top_k_v2")
def top_k_v2(op: ShapeQuery) -> Shapes:
    return _top_k(op.inputs[0], int_of(op, 1, "k"))


def _top_k(x: Shape, k: int | None) -> Shapes:
    at_least(x, 1, "input")
    not_negative(k, "k")
    if x is None:
        return [None, None]
    if k is not None and x[-1] is not None and x[-1] < k:
        raise ValueError(f"k is {k}, above the last dimension of {show(x)}")
    return [(*x[:-1], k)] * 2


@shape_rule("nth_element")
def nth_element(op: ShapeQuery) -> Shapes:
    x, n = at_least(op.inputs[0], 1, "input"), not_negative(int_of(op, 1, "n"), "n")
    if x is None:
        return [None]
    if n is not None and x[-1] is not None and x[-1] <= n:
        raise ValueError(f"n is {n}, not below the last dimension of {show(x)}")
    return [x[:-1]]

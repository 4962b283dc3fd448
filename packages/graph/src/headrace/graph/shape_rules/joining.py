"""Shape rules of concatenation, stacking and splitting."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import (
    Shape,
    at_least,
    axis_of,
    compatible,
    int_of,
    ints,
    merge,
    show,
    total,
)

Shapes = list[Shape]


@shape_rule("concat")
def concat(op: ShapeQuery) -> Shapes:
    return [_concat(op.inputs[1:], int_of(op, 0, "concat_dim"))]


@shape_rule("concat_v2")
def concat_v2(op: ShapeQuery) -> Shapes:
    return [_concat(op.inputs[:-1], int_of(op, len(op.inputs) - 1, "axis"))]


def _concat(values: tuple[Shape, ...], axis: int | None) -> Shape:
    first: Shape = None
    which = 0
    unknown = False
    for i, shape in enumerate(values):
        if shape is None:
            unknown = True
            continue
        if not shape:
            raise ValueError(f"values must have at least rank 1, value {i} is []")
        if first is None:
            first, which = shape, i
        elif len(shape) != len(first):
            raise ValueError(
                f"ranks differ: value {which} is {show(first)}, value {i} is {show(shape)}"
            )
    if first is None:
        return None
    if axis is None:
        return (None,) * len(first)
    at = axis_of(axis, first)
    rest: Shape = (*first[:at], *first[at + 1 :])
    for i, shape in enumerate(values):
        if shape is not None:
            other = (*shape[:at], *shape[at + 1 :])
            if other != rest:
                if not compatible(other, rest):
                    raise ValueError(
                        f"shapes differ outside of axis {at}: "
                        f"value {which} is {show(first)}, value {i} is {show(shape)}"
                    )
                rest = merge(rest, other)
    assert rest is not None
    joined = None if unknown else total(*[shape[at] for shape in values if shape is not None])
    return (*rest[:at], joined, *rest[at:])


@shape_rule("pack")
def pack(op: ShapeQuery) -> Shapes:
    out = op.inputs[0]
    for i, shape in enumerate(op.inputs):
        if shape != out:
            if not compatible(out, shape):
                raise ValueError(
                    f"shapes differ: input 0 is {show(out)}, input {i} is {show(shape)}"
                )
            out = merge(out, shape)
    if out is None:
        return [None]
    at = axis_of(op.attrs["axis"], out, more=1)
    return [(*out[:at], len(op.inputs), *out[at:])]


@shape_rule("unpack")
def unpack(op: ShapeQuery) -> Shapes:
    x, n = op.inputs[0], op.n_outputs
    if x is None:
        return [None] * n
    at = axis_of(op.attrs["axis"], x)
    if x[at] not in (n, None):
        raise ValueError(f"dimension {at} of {show(x)} is not num, {n}")
    return [(*x[:at], *x[at + 1 :])] * n


@shape_rule("split")
def split(op: ShapeQuery) -> Shapes:
    axis, x, n = int_of(op, 0, "split_dim"), at_least(op.inputs[1], 1, "value"), op.n_outputs
    if x is None:
        return [None] * n
    if axis is None:
        return [(None,) * len(x)] * n
    at = axis_of(axis, x)
    d = x[at]
    if d is not None and d % n:
        raise ValueError(f"dimension {at} of {show(x)} is not a multiple of num_split, {n}")
    return [(*x[:at], None if d is None else d // n, *x[at + 1 :])] * n


@shape_rule("split_v")
def split_v(op: ShapeQuery) -> Shapes:
    x, operand, axis, n = op.inputs[0], ints(op, 1), int_of(op, 2, "split_dim"), op.n_outputs
    at_least(x, 1, "value")
    if operand is not None and len(operand) != n:
        raise ValueError(f"sizes {show(operand)} are not num_split, {n}")
    if x is None:
        return [None] * n
    if axis is None:
        return [(None,) * len(x)] * n
    at = axis_of(axis, x)
    d = x[at]
    if operand is None:
        pieces: list[int | None] = [d] if n == 1 else [None] * n
    else:
        rest = sum([s for s in operand if s >= 0])
        free = operand.count(-1)
        bad = any(s < -1 for s in operand) or free > 1
        if bad or (d is not None and (rest > d if free else rest != d)):
            raise ValueError(f"sizes {show(operand)} do not add up to dimension {at} of {show(x)}")
        pieces = [s if s >= 0 else None if d is None else d - rest for s in operand]
    return [(*x[:at], piece, *x[at + 1 :]) for piece in pieces]

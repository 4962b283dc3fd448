"""Shape rules of array ops: shapes as values, reshapes, padding, sequences."""

from __future__ import annotations

import math

import numpy as np

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import (
    Shape,
    at_least,
    attr,
    axis_of,
    broadcast,
    compatible,
    count,
    int_of,
    ints,
    not_negative,
    same,
    show,
    sizes,
    total,
    with_rank,
)

Shapes = list[Shape]


@shape_rule("shape")
def shape_of(op: ShapeQuery) -> Shapes:
    return [_rank(op.inputs[0])]


@shape_rule("shape_n")
def shape_n(op: ShapeQuery) -> Shapes:
    return [_rank(shape) for shape in op.inputs]


def _rank(shape: Shape) -> Shape:
    return (None,) if shape is None else (len(shape),)


@shape_rule("broadcast_args")
def broadcast_args(op: ShapeQuery) -> Shapes:
    (a,), (b,) = with_rank(op.inputs[0], 1, "s0"), with_rank(op.inputs[1], 1, "s1")
    return [(None if a is None or b is None else max(a, b),)]


@shape_rule("broadcast_gradient_args")
def broadcast_gradient_args(op: ShapeQuery) -> Shapes:
    a, b = sizes(op, 0), sizes(op, 1)
    if a is None or b is None or None in a or None in b:
        return [(None,), (None,)]
    broadcast(a, b)
    if a == b:
        return [(0,), (0,)]
    rank = max(len(a), len(b))
    return [(rank - len(shape) + shape.count(1),) for shape in (a, b)]


@shape_rule("concat_offset")
def concat_offset(op: ShapeQuery) -> Shapes:
    return list(op.inputs[1:])


@shape_rule("vector_unchanged")
def vector_unchanged(op: ShapeQuery) -> Shapes:
    return [with_rank(op.inputs[0], 1, "input")]


@shape_rule("unravel_index")
def unravel_index(op: ShapeQuery) -> Shapes:
    indices, dims = op.inputs[0], with_rank(op.inputs[1], 1, "dims")
    if indices is None:
        return [None]
    if len(indices) > 1:
        raise ValueError(f"indices must have rank 0 or 1, are of shape {show(indices)}")
    return [(dims[0], *indices)]


@shape_rule("reshape")
def reshape(op: ShapeQuery) -> Shapes:
    x, operand = op.inputs[0], op.inputs[1]
    if operand is not None and len(operand) != 1:
        raise ValueError(f"sizes must be a vector, are of shape {show(operand)}")
    n = None if x is None else count(x)
    target: Shape
    known = ints(op, 1)
    if known is not None:
        if any(d < -1 for d in known):
            raise ValueError(f"sizes must not be negative, are {show(known)}")
        if known.count(-1) > 1:
            raise ValueError(f"more than one size is -1 in {show(known)}")
        target = tuple([None if d < 0 else d for d in known])
    else:
        target = op.value_as_shape(1)
        if target is None:
            return [None if operand is None or operand[0] is None else (None,) * operand[0]]
    unknown = target.count(None)
    if unknown > 1:
        return [target]
    rest = math.prod([d for d in target if d is not None])
    if n is None:
        # If each side has one unknown size and the others are equal, the unknown sizes are equal.
        return [target]
    if not unknown:
        if rest != n:
            raise ValueError(f"cannot reshape {show(x)} ({n} elements) to {show(target)}")
        return [target]
    if rest == 0:
        if known is None:
            return [target]
        raise ValueError(f"cannot infer -1 in {show(known)}: another size is 0")
    if n % rest:
        shown = show(target if known is None else known)
        raise ValueError(f"cannot reshape {show(x)} ({n} elements) to {shown}")
    return [tuple([n // rest if d is None else d for d in target])]


@shape_rule("expand_dims")
def expand_dims(op: ShapeQuery) -> Shapes:
    x, axis = op.inputs[0], int_of(op, 1, "axis")
    if x is None:
        return [None]
    if axis is None:
        return [(None,) * (len(x) + 1)]
    at = axis_of(axis, x, more=1)
    return [(*x[:at], 1, *x[at:])]


@shape_rule("squeeze")
def squeeze(op: ShapeQuery) -> Shapes:
    x, axes = op.inputs[0], op.attrs["squeeze_dims"]
    if x is None:
        return [None]
    if not axes:
        if None in x:
            return [None]
        return [tuple([d for d in x if d != 1])]
    gone = set()
    for axis in axes:
        at = axis_of(axis, x)
        if x[at] not in (1, None):
            raise ValueError(f"dimension {at} of {show(x)} is not 1")
        gone.add(at)
    return [tuple([d for i, d in enumerate(x) if i not in gone])]


@shape_rule("broadcast_to")
def broadcast_to(op: ShapeQuery) -> Shapes:
    x, target = op.inputs[0], sizes(op, 1)
    if x is None or target is None:
        return [target]
    fits = len(x) <= len(target)
    for d, t in zip(reversed(x), reversed(target), strict=False):
        fits = fits and (d == t or d == 1 or d is None or t is None)
    if not fits:
        raise ValueError(f"shape {show(x)} does not broadcast to {show(target)}")
    return [target]


@shape_rule("tile")
def tile(op: ShapeQuery) -> Shapes:
    x, multiples = _multiples(op)
    if x is None or multiples is None:
        return [x]
    return [
        tuple(
            [None if d is None or m is None else d * m for d, m in zip(x, multiples, strict=True)]
        )
    ]


@shape_rule("tile_grad")
def tile_grad(op: ShapeQuery) -> Shapes:
    x, multiples = _multiples(op)
    if x is None or multiples is None:
        return [x]
    return [
        tuple([d // m if d is not None and m else None for d, m in zip(x, multiples, strict=True)])
    ]


def _multiples(op: ShapeQuery) -> tuple[Shape, Shape]:
    x, operand = op.inputs[0], op.inputs[1]
    if operand is not None and len(operand) != 1:
        raise ValueError(f"multiples must be a vector, are of shape {show(operand)}")
    if operand is not None and x is not None and operand[0] not in (len(x), None):
        raise ValueError(f"{operand[0]} multiples do not fit {show(x)}")
    known = ints(op, 1)
    if known is not None and known and min(known) < 0:
        raise ValueError(f"multiples must not be negative, are {show(known)}")
    multiples = op.value_as_shape(1) if known is None else tuple(known)
    if multiples is None:
        rank = len(x) if x is not None else operand[0] if operand is not None else None
        return (None, None) if rank is None else ((None,) * rank, None)
    return ((None,) * len(multiples) if x is None else x), multiples


@shape_rule("transpose")
def transpose(op: ShapeQuery) -> Shapes:
    x, operand, order = op.inputs[0], op.inputs[1], ints(op, 1)
    if operand is not None and len(operand) != 1:
        raise ValueError(f"permutation must be a vector, is of shape {show(operand)}")
    if order is None:
        if x is not None and len(x) < 2:
            return [x]
        if x is not None:
            return [(None,) * len(x)]
        return [None if not operand or operand[0] is None else (None,) * operand[0]]
    if x is None:
        x = (None,) * len(order)
    rank = len(x)
    if len(order) != rank or sorted(d + rank if d < 0 else d for d in order) != list(range(rank)):
        raise ValueError(f"permutation {show(order)} does not fit {show(x)}")
    return [tuple([x[d] for d in order])]


# ---- space to batch, space to depth ------------------------------------------------------------


@shape_rule("space_to_batch")
def space_to_batch(op: ShapeQuery) -> Shapes:
    block = op.attrs["block_size"]
    return [_space_to_batch(op.inputs[0], [block, block], _amounts(op, 1, 2, "paddings"))]


@shape_rule("space_to_batch_nd")
def space_to_batch_nd(op: ShapeQuery) -> Shapes:
    n, blocks = _blocks(op)
    return [_space_to_batch(op.inputs[0], blocks, _amounts(op, 2, n, "paddings"))]


@shape_rule("batch_to_space")
def batch_to_space(op: ShapeQuery) -> Shapes:
    block = op.attrs["block_size"]
    return [_batch_to_space(op.inputs[0], [block, block], _amounts(op, 1, 2, "crops"))]


@shape_rule("batch_to_space_nd")
def batch_to_space_nd(op: ShapeQuery) -> Shapes:
    n, blocks = _blocks(op)
    return [_batch_to_space(op.inputs[0], blocks, _amounts(op, 2, n, "crops"))]


def _blocks(op: ShapeQuery) -> tuple[int | None, list[int] | None]:
    return with_rank(op.inputs[1], 1, "block_shape")[0], ints(op, 1)


def _amounts(op: ShapeQuery, i: int, n: int | None, what: str) -> list[int] | None:
    operand = op.inputs[i]
    if operand is not None and n is not None and not compatible(operand, (n, 2)):
        raise ValueError(f"{what} must have shape [{n}, 2], have {show(operand)}")
    known = ints(op, i)
    if known and min(known) < 0:
        raise ValueError(f"{what} must not be negative, are {show(known)}")
    return known


def _check_blocks(x: Shape, blocks: list[int]) -> None:
    if blocks and min(blocks) < 1:
        raise ValueError(f"blocks must be at least 1, are {show(blocks)}")
    at_least(x, len(blocks) + 1, "input")


def _space_to_batch(x: Shape, blocks: list[int] | None, pads: list[int] | None) -> Shape:
    if blocks is None:
        return None if x is None else (None,) * len(x)
    _check_blocks(x, blocks)
    if x is None:
        return None
    out = list(x)
    for i, block in enumerate(blocks):
        d = x[i + 1]
        padded = None if pads is None or d is None else d + pads[2 * i] + pads[2 * i + 1]
        if padded is not None and padded % block:
            raise ValueError(
                f"dimension {i + 1} of {show(x)}, padded to {padded}, is not a multiple of {block}"
            )
        out[i + 1] = None if padded is None else padded // block
    out[0] = None if x[0] is None else x[0] * math.prod(blocks)
    return tuple(out)


def _batch_to_space(x: Shape, blocks: list[int] | None, crops: list[int] | None) -> Shape:
    if blocks is None:
        return None if x is None else (None,) * len(x)
    _check_blocks(x, blocks)
    if x is None:
        return None
    out = list(x)
    many = math.prod(blocks)
    if x[0] is not None and x[0] % many:
        raise ValueError(f"batch of {show(x)} is not a multiple of {many}, the size of a block")
    out[0] = None if x[0] is None else x[0] // many
    for i, block in enumerate(blocks):
        d = x[i + 1]
        left = None if crops is None or d is None else d * block - crops[2 * i] - crops[2 * i + 1]
        if left is not None and left < 0:
            raise ValueError(f"crops {show(crops)} are larger than {show(x)}")
        out[i + 1] = left
    return tuple(out)


def _image_axes(op: ShapeQuery) -> tuple[int, int, int]:
    return (2, 3, 1) if attr(op, "data_format", "NHWC") == "NCHW" else (1, 2, 3)


@shape_rule("space_to_depth")
def space_to_depth(op: ShapeQuery) -> Shapes:
    if attr(op, "data_format") == "NCHW_VECT_C":
        return [None]
    x, block = with_rank(op.inputs[0], 4, "input"), op.attrs["block_size"]
    h, w, c = _image_axes(op)
    out = list(x)
    for i in (h, w):
        d = x[i]
        if d is not None and d % block:
            raise ValueError(f"height and width of {show(x)} are not multiples of {block}")
        out[i] = None if d is None else d // block
    depth = x[c]
    out[c] = None if depth is None else depth * block * block
    return [tuple(out)]


@shape_rule("depth_to_space")
def depth_to_space(op: ShapeQuery) -> Shapes:
    if attr(op, "data_format") == "NCHW_VECT_C":
        return [None]
    x, block = with_rank(op.inputs[0], 4, "input"), op.attrs["block_size"]
    h, w, c = _image_axes(op)
    out = list(x)
    for i in (h, w):
        d = x[i]
        out[i] = None if d is None else d * block
    depth = x[c]
    if depth is not None and depth % (block * block):
        raise ValueError(f"depth of {show(x)} is not a multiple of {block * block}")
    out[c] = None if depth is None else depth // (block * block)
    return [tuple(out)]


# ---- padding, sequences, one_hot, diagonals ----------------------------------------------------


def _paddings(op: ShapeQuery) -> tuple[Shape, list[int] | None]:
    x, operand = op.inputs[0], op.inputs[1]
    if operand is not None and (len(operand) != 2 or operand[1] not in (2, None)):
        raise ValueError(f"paddings must have shape [n, 2], have {show(operand)}")
    if operand is not None and operand[0] is not None:
        if x is None:
            x = (None,) * operand[0]
        elif operand[0] != len(x):
            raise ValueError(f"paddings of shape {show(operand)} do not fit {show(x)}")
    known = ints(op, 1)
    if known is not None and known and min(known) < 0:
        raise ValueError(f"paddings must not be negative, are {show(known)}")
    return x, known


@shape_rule("pad")
def pad(op: ShapeQuery) -> Shapes:
    x, pads = _paddings(op)
    if x is None or pads is None:
        return [None if x is None else (None,) * len(x)]
    return [tuple([total(d, pads[2 * i], pads[2 * i + 1]) for i, d in enumerate(x)])]


@shape_rule("pad_grad")
def pad_grad(op: ShapeQuery) -> Shapes:
    x, pads = _paddings(op)
    if x is None or pads is None:
        return [None if x is None else (None,) * len(x)]
    out = [total(d, -pads[2 * i], -pads[2 * i + 1]) for i, d in enumerate(x)]
    if any(d is not None and d < 0 for d in out):
        raise ValueError(f"paddings {show(pads)} are larger than {show(x)}")
    return [tuple(out)]


@shape_rule("range")
def range_rule(op: ShapeQuery) -> Shapes:
    for i, what in enumerate(("start", "limit", "delta")):
        if op.inputs[i] is not None and len(op.inputs[i] or ()) != 0:
            raise ValueError(f"{what} must be a scalar, is of shape {show(op.inputs[i])}")
    start, limit, delta = op.value(0), op.value(1), op.value(2)
    if delta is not None and delta == 0:
        raise ValueError("delta must not be 0")
    if start is None or limit is None or delta is None:
        return [(None,)]
    if limit < start if delta > 0 else limit > start:
        raise ValueError("delta leads away from the limit")
    if np.issubdtype(start.dtype, np.integer):
        n = -(-(int(limit) - int(start)) // int(delta))
    else:
        steps = float(abs((limit - start) / delta))
        if not math.isfinite(steps):
            raise ValueError("the range is endless")
        n = math.ceil(steps)
    return [(n,)]


@shape_rule("linspace")
def linspace(op: ShapeQuery) -> Shapes:
    n = int_of(op, 2, "num")
    if n is not None and n < 1:
        raise ValueError(f"num must be above 0, is {n}")
    return [(n,)]


@shape_rule("one_hot")
def one_hot(op: ShapeQuery) -> Shapes:
    x, depth = op.inputs[0], not_negative(int_of(op, 1, "depth"), "depth")
    if x is None:
        return [None]
    at = axis_of(op.attrs["axis"], x, more=1)
    return [(*x[:at], depth, *x[at:])]


@shape_rule("diag")
def diag(op: ShapeQuery) -> Shapes:
    x = at_least(op.inputs[0], 1, "diagonal")
    return [None if x is None else x + x]


@shape_rule("diag_part")
def diag_part(op: ShapeQuery) -> Shapes:
    x = op.inputs[0]
    if x is None:
        return [None]
    half = len(x) // 2
    if len(x) % 2 or not x:
        raise ValueError(f"input must have an even rank, is {show(x)}")
    if any(
        a is not None and b is not None and a != b for a, b in zip(x[:half], x[half:], strict=True)
    ):
        raise ValueError(f"the halves of {show(x)} differ")
    return [tuple([b if a is None else a for a, b in zip(x[:half], x[half:], strict=True)])]


# ---- shapes that depend on
# values------------------------------------------------------------------------


@shape_rule("unique")
def unique(op: ShapeQuery) -> Shapes:
    x = op.inputs[0]
    counts: Shapes = [(None,)] * (op.n_outputs - 2)
    axis = None
    if len(op.inputs) > 1:
        value = ints(op, 1)
        if value is None:
            return [None if x is None else (None,) * len(x), (None,), *counts]
        if len(value) > 1:
            raise ValueError(f"axis must be one number or none, is {show(value)}")
        if value and x is not None:
            axis = axis_of(value[0], x)
        elif value:
            return [None, (None,), *counts]
    if axis is None:
        x, axis = with_rank(x, 1, "input"), 0
    assert x is not None
    return [(*x[:axis], None, *x[axis + 1 :]), (x[axis],), *counts]


@shape_rule("where")
def where(op: ShapeQuery) -> Shapes:
    x = op.inputs[0]
    return [(None, None if x is None else len(x))]


@shape_rule("list_diff")
def list_diff(op: ShapeQuery) -> Shapes:
    with_rank(op.inputs[0], 1, "x")
    with_rank(op.inputs[1], 1, "y")
    return [(None,)] * op.n_outputs


@shape_rule("reverse_v2")
def reverse_v2(op: ShapeQuery) -> Shapes:
    x, axes = op.inputs[0], ints(op, 1)
    if x is not None and axes is not None:
        found = [axis_of(axis, x) for axis in axes]
        for axis in found:
            if found.count(axis) > 1:
                raise ValueError(f"axis {axis} specified more than once.")
    return [x]


@shape_rule("reverse_sequence")
def reverse_sequence(op: ShapeQuery) -> Shapes:
    x, lengths = op.inputs[0], with_rank(op.inputs[1], 1, "seq_lengths")
    if x is None:
        return [None]
    batch, sequence = op.attrs["batch_dim"], op.attrs["seq_dim"]
    for what, axis in ("batch_dim", batch), ("seq_dim", sequence):
        if axis >= len(x):
            raise ValueError(f"{what} must be < input rank: {axis} vs. {len(x)}")
    if batch >= 0 and not same(x[batch], lengths[0]):
        raise ValueError(f"seq_lengths {show(lengths)} does not fit dimension {batch} of {show(x)}")
    return [x]

"""Shape rules of slices."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import Shape, ints, show, with_rank

Shapes = list[Shape]


@shape_rule("slice")
def slice_rule(op: ShapeQuery) -> Shapes:
    x, begin, size = op.inputs[0], ints(op, 1), ints(op, 2)
    given_b, given_s = with_rank(op.inputs[1], 1, "begin"), with_rank(op.inputs[2], 1, "size")
    rank = len(x) if x is not None else given_b[0] if given_b[0] is not None else given_s[0]
    if rank is None:
        return [None]
    for n in (given_b[0], given_s[0]):
        if n is not None and n != rank:
            shown = show((None,) * rank if x is None else x)
            raise ValueError(f"begin or size of {n} numbers does not fit {shown}")
    if x is None:
        x = (None,) * rank
    if size is None:
        partly = op.value_as_shape(2)
        return [(None,) * rank if partly is None else partly]
    if begin is None:
        return [tuple([None if s < 0 else s for s in size])]
    out: list[int | None] = []
    for d, b, s in zip(x, begin, size, strict=True):
        if b < 0 or s < -1 or (d is not None and b + max(s, 0) > d):
            raise ValueError(f"begin {show(begin)} and size {show(size)} do not fit {show(x)}")
        out.append(s if s >= 0 else None if d is None else d - b)
    return [tuple(out)]


@shape_rule("strided_slice")
def strided_slice(op: ShapeQuery) -> Shapes:
    x = op.inputs[0]
    begin, end, strides = ints(op, 1), ints(op, 2), ints(op, 3)
    lengths = [with_rank(op.inputs[i], 1, ("", "begin", "end", "strides")[i])[0] for i in (1, 2, 3)]
    n = next((length for length in lengths if length is not None), None)
    if any(length not in (n, None) for length in lengths):
        raise ValueError(
            f"begin, end and strides differ in length: {lengths[0]}, {lengths[1]}, {lengths[2]}"
        )
    if x is None or n is None:
        return [None]
    return [_strided(op, x, n, begin, end, strides)]


def _strided(
    op: ShapeQuery,
    x: tuple[int | None, ...],
    n: int,
    begin: list[int] | None,
    end: list[int] | None,
    strides: list[int] | None,
) -> Shape:
    attrs = op.attrs
    begin_mask, end_mask = attrs["begin_mask"], attrs["end_mask"]
    ellipsis, new_axis = attrs["ellipsis_mask"], attrs["new_axis_mask"]
    shrink = attrs["shrink_axis_mask"]
    if ellipsis & ((1 << n) - 1) & (ellipsis - 1):
        raise ValueError("more than one ellipsis")
    at_ellipsis = next((i for i in range(n) if ellipsis >> i & 1), n)
    # A new axis has no dimension of x; if both bits are set, the ellipsis takes precedence.
    used = sum(1 for i in range(n) if i != at_ellipsis and not new_axis >> i & 1)
    if used > len(x):
        raise ValueError(f"too many indices, {used}, for {show(x)}")
    out: list[int | None] = []
    at = 0
    for i in range(n):
        if i == at_ellipsis:
            out.extend(x[at : at + len(x) - used])
            at += len(x) - used
        elif new_axis >> i & 1:
            out.append(1)
        else:
            one = _interval(
                x[at],
                None if begin is None else begin[i],
                None if end is None else end[i],
                None if strides is None else strides[i],
                begin_mask >> i & 1,
                end_mask >> i & 1,
                shrink >> i & 1,
                (i, at, x),
            )
            if not shrink >> i & 1:
                out.append(one)
            at += 1
    return (*out, *x[at:])


def _interval(
    d: int | None,
    begin: int | None,
    end: int | None,
    stride: int | None,
    from_start: int,
    to_end: int,
    shrink: int,
    where: tuple[int, int, tuple[int | None, ...]],
) -> int | None:
    """Returns the number of elements that one index selects in a dimension."""
    i, at, x = where
    if stride == 0:
        raise ValueError(f"strides[{i}] must not be 0")
    if shrink:
        if stride is not None and stride < 0:
            raise ValueError(f"strides[{i}] must be positive, since one element is taken")
        # begin_mask is ignored for a shrunk axis.
        if begin is not None and d is not None and not -d <= begin < d:
            raise ValueError(f"index {begin} of dimension {at} is outside of {show(x)}")
        return 1
    if stride is None:
        return None
    if d is None:
        return _unknown_interval(begin, end, stride, from_start, to_end)
    if (begin is None and not from_start) or (end is None and not to_end):
        return None
    low, high = (0, d) if stride > 0 else (-1, d - 1)
    first = (low if stride > 0 else high) if from_start else _clamp(begin, d, low, high)
    last = (high if stride > 0 else low) if to_end else _clamp(end, d, low, high)
    return max(0, -(-(last - first) // stride))


def _clamp(index: int | None, d: int, low: int, high: int) -> int:
    assert index is not None
    return min(max(index + d if index < 0 else index, low), high)


def _unknown_interval(
    begin: int | None, end: int | None, stride: int, from_start: int, to_end: int
) -> int | None:
    """Returns 0 for an interval that is empty for every size of the dimension, otherwise None."""
    if from_start or to_end or begin is None or end is None or (begin < 0) != (end < 0):
        return None
    return 0 if (end - begin) * stride <= 0 else None

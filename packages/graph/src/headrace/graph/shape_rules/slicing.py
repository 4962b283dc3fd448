"""Shape rules of slices."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import Shape, ints, show

Shapes = list[Shape]


@shape_rule("slice")
def slice_rule(op: ShapeQuery) -> Shapes:
    x, begin, size = op.inputs[0], ints(op, 1), ints(op, 2)
    rank = _rank_of_slice(op.inputs)
    if rank is None:
        return [None]
    if x is None:
        x = (None,) * rank
    if size is None:
        partly = op.value_as_shape(2)
        return [(None,) * rank if partly is None else partly]
    out: list[int | None] = []
    for i, (d, s) in enumerate(zip(x, size, strict=True)):
        b = 0 if begin is None else begin[i]
        if b < 0 or (d is not None and b > d):
            raise ValueError(f"Expected begin[{i}] in [0, {_known(d)}], but got {b}")
        left = None if d is None else d - b
        if s < -1 or (left is not None and s > left):
            raise ValueError(f"Expected size[{i}] in [0, {_known(left)}], but got {s}")
        out.append(s if s >= 0 else None if begin is None else left)
    return [tuple(out)]


def _known(d: int | None) -> str:
    return "?" if d is None else str(d)


def _rank_of_slice(inputs: Sequence[Shape]) -> int | None:
    """Returns the rank of the input of Slice, or None; begin and size have as many elements."""
    x, begin, size = inputs[:3]
    ranks = [s[0] for s in (begin, size) if s and s[0] is not None]
    rank = len(x) if x is not None else ranks[0] if ranks else None
    if any(len(s) != 1 for s in (begin, size) if s is not None) or any(n != rank for n in ranks):
        raise ValueError(
            f"Expected begin and size arguments to be 1-D tensors of size {_known(rank)}, "
            f"but got shapes {show(begin)} and {show(size)} instead."
        )
    return rank


@shape_rule("strided_slice")
def strided_slice(op: ShapeQuery) -> Shapes:
    x = op.inputs[0]
    begin, end, strides = ints(op, 1), ints(op, 2), ints(op, 3)
    n = _entries_of_strided_slice(op.inputs[1:4])
    if x is None or n is None:
        return [None]
    return [_strided(op, x, n, begin, end, strides)]


def _entries_of_strided_slice(shapes: Sequence[Shape]) -> int | None:
    """Returns the length of begin, end and strides, or None."""
    lengths = {s[0] for s in shapes if s and s[0] is not None}
    if len(lengths) > 1 or any(len(s) != 1 for s in shapes if s is not None):
        begin, end, strides = map(show, shapes)
        raise ValueError(
            "Expected begin, end, and strides to be 1D equal size tensors, but got shapes "
            f"{begin}, {end}, and {strides} instead."
        )
    return lengths.pop() if lengths else None


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
    if ellipsis & (ellipsis - 1):
        raise ValueError("Multiple ellipses in slice spec not allowed")
    at_ellipsis = next((i for i in range(n) if ellipsis >> i & 1), n)
    # A new axis has no dimension of x; if both bits are set, the ellipsis takes precedence.
    used = sum(1 for i in range(n) if i != at_ellipsis and not new_axis >> i & 1)
    if used > len(x):
        raise ValueError(
            f"Index out of range using input dim {len(x)}; input has only {len(x)} dims"
        )
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
                at,
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
    at: int,
) -> int | None:
    """Returns the number of elements that one entry selects in dimension `at`, of size d."""
    if stride == 0:
        raise ValueError(f"strides[{at}] must be non-zero")
    if shrink:
        if stride is not None and stride < 0:
            raise ValueError("only stride 1 allowed on non-range indexing.")
        # begin_mask is ignored for a shrunk axis.
        if begin is not None and d is not None and not -d <= begin < d:
            raise ValueError(f"slice index {begin} of dimension {at} out of bounds.")
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

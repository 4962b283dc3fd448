"""The arithmetic of partly known shapes: None is an unknown size, or an unknown rank."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.graph.framework.shape_query import ShapeQuery

Shape = tuple[int | None, ...] | None

# Bytes of an element, by DataType.
TYPE_SIZES = {
    1: 4, 2: 8, 3: 4, 4: 1, 5: 2, 6: 1, 8: 8, 9: 8, 10: 1, 11: 1, 12: 1, 13: 4, 14: 2, 15: 2,
    16: 2, 17: 2, 18: 16, 19: 2, 22: 4, 23: 8, 24: 1, 25: 1,
}  # fmt: skip


def show(shape: Sequence[int | None] | None) -> str:
    """A shape, or a list of sizes, as errors show it: [2, ?]."""
    if shape is None:
        return "<unknown>"
    return f"[{', '.join('?' if d is None else str(d) for d in shape)}]"


def with_rank(shape: Shape, rank: int, what: str) -> tuple[int | None, ...]:
    """The shape, known to have a rank. Raises: ValueError where it has another."""
    if shape is None:
        return (None,) * rank
    if len(shape) != rank:
        raise ValueError(f"{what} must have rank {rank}, is {show(shape)}")
    return shape


def at_least(shape: Shape, rank: int, what: str) -> Shape:
    """The shape. Raises: ValueError where it has fewer dimensions."""
    if shape is not None and len(shape) < rank:
        raise ValueError(f"{what} must have at least rank {rank}, is {show(shape)}")
    return shape


def axis_of(axis: int, shape: tuple[int | None, ...], more: int = 0) -> int:
    """The dimension that an axis means, counted from the back where negative.

    Raises: ValueError where the shape, with `more` dimensions added, has no such dimension.
    """
    rank = len(shape) + more
    if not -rank <= axis < rank:
        added = " with one dimension more" if more else ""
        raise ValueError(f"axis {axis} is outside of {show(shape)}{added}")
    return axis + rank if axis < 0 else axis


def same(a: int | None, b: int | None) -> bool:
    """Whether two sizes may be the same."""
    return a == b or a is None or b is None


def compatible(a: Shape, b: Shape) -> bool:
    """Whether two shapes may be the same."""
    if a is None or b is None or a == b:
        return True
    return len(a) == len(b) and all(map(same, a, b))


def merge(a: Shape, b: Shape) -> Shape:
    """What is known of a shape of which both are known; the two must be compatible."""
    if a == b or b is None:
        return a
    if a is None:
        return b
    return tuple([y if x is None else x for x, y in zip(a, b, strict=True)])


def broadcast(a: Shape, b: Shape) -> Shape:
    """The shape of two broadcast together. Raises: ValueError where they do not."""
    if a == b:
        return a
    if a is None or b is None:
        return None
    if not b:
        return a
    if not a:
        return b
    lead = len(a) - len(b)
    big, small = (a, b) if lead >= 0 else (b, a)
    lead = abs(lead)
    if big[lead:] == small:
        return big
    out = list(big)
    for i, y in enumerate(small, lead):
        x = big[i]
        if x == y or y == 1:
            continue
        if x == 1:
            out[i] = y
        elif x is None:
            if y is not None:
                out[i] = y
        elif y is not None:
            raise ValueError(f"shapes do not broadcast: {show(a)} and {show(b)}")
    return tuple(out)


def count(dims: Sequence[int | None]) -> int | None:
    """The number of elements, where it is known."""
    return None if None in dims else prod(dims)  # type: ignore[arg-type]


def total(*sizes: int | None) -> int | None:
    """The sum of sizes, where all are known."""
    return None if None in sizes else sum(sizes)  # type: ignore[arg-type]


def ints(op: ShapeQuery, i: int) -> list[int] | None:
    """The value of input i as a flat list of ints, where it is known."""
    value = op.value(i)
    if value is None:
        shape = op.inputs[i]
        return [] if shape is not None and 0 in shape else None
    return value.ravel().tolist()


def int_of(op: ShapeQuery, i: int, what: str) -> int | None:
    """The value of input i, a scalar (or one element), where it is known."""
    shape = op.inputs[i]
    if shape is not None and shape != () and shape != (1,) and None not in shape:
        raise ValueError(f"{what} must be a scalar, is of shape {show(shape)}")
    value = op.value(i)
    return None if value is None else int(value.reshape(-1)[0])


def not_negative(n: int | None, what: str) -> int | None:
    """The number. Raises: ValueError where it is below 0."""
    if n is not None and n < 0:
        raise ValueError(f"{what} must not be negative, is {n}")
    return n


def sizes(op: ShapeQuery, i: int) -> Shape:
    """The shape that the vector in input i says, as far as it is known.

    Raises: ValueError where it is no vector, or has a negative size.
    """
    shape = op.inputs[i]
    if shape is not None and len(shape) != 1:
        raise ValueError(f"sizes must be a vector, are of shape {show(shape)}")
    known = ints(op, i)
    if known is not None:
        if known and min(known) < 0:
            raise ValueError(f"sizes must not be negative, are {show(known)}")
        return tuple(known)
    answer = op.value_as_shape(i)
    if answer is None and shape is not None and shape[0] is not None:
        return (None,) * shape[0]
    return answer


def attr(op: ShapeQuery, name: str, default: Any = None) -> Any:
    """An attribute, or a default where the op has none of that name."""
    return op.attrs.get(name, default)

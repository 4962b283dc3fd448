"""Arithmetic of partially known shapes: None is an unknown size or an unknown rank."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.graph.framework.shape_query import ShapeQuery

Shape = tuple[int | None, ...] | None

# Size of an element in bytes, by DataType number.
TYPE_SIZES = {
    1: 4, 2: 8, 3: 4, 4: 1, 5: 2, 6: 1, 8: 8, 9: 8, 10: 1, 11: 1, 12: 1, 13: 4, 14: 2, 15: 2,
    16: 2, 17: 2, 18: 16, 19: 2, 22: 4, 23: 8, 24: 1, 25: 1,
}  # fmt: skip


def show(shape: Sequence[int | None] | None) -> str:
    """Formats a shape for error messages: [2, ?]."""
    if shape is None:
        return "<unknown>"
    return f"[{', '.join('?' if d is None else str(d) for d in shape)}]"


def with_rank(shape: Shape, rank: int, what: str) -> tuple[int | None, ...]:
    """Returns the shape with a given rank. Raises: ValueError for another rank."""
    if shape is None:
        return (None,) * rank
    if len(shape) != rank:
        raise ValueError(f"{what} must have rank {rank}, is {show(shape)}")
    return shape


def at_least(shape: Shape, rank: int, what: str) -> Shape:
    """Returns the shape. Raises: ValueError if it has fewer dimensions."""
    if shape is not None and len(shape) < rank:
        raise ValueError(f"{what} must have at least rank {rank}, is {show(shape)}")
    return shape


def axis_of(axis: int, shape: tuple[int | None, ...], more: int = 0) -> int:
    """Resolves an axis; a negative one counts from the end.

    Raises: ValueError if the shape, with `more` dimensions added, has no such dimension.
    """
    rank = len(shape) + more
    if not -rank <= axis < rank:
        added = " with one dimension more" if more else ""
        raise ValueError(f"axis {axis} is outside of {show(shape)}{added}")
    return axis + rank if axis < 0 else axis


def same(a: int | None, b: int | None) -> bool:
    """Returns whether two sizes may be equal."""
    return a == b or a is None or b is None


def compatible(a: Shape, b: Shape) -> bool:
    """Returns whether two shapes may be equal."""
    if a is None or b is None or a == b:
        return True
    return len(a) == len(b) and all(map(same, a, b))


def merge(a: Shape, b: Shape) -> Shape:
    """Merges two compatible shapes: the sizes known in either."""
    if a == b or b is None:
        return a
    if a is None:
        return b
    return tuple([y if x is None else x for x, y in zip(a, b, strict=True)])


def broadcast(a: Shape, b: Shape) -> Shape:
    """Returns the broadcast shape of two shapes. Raises: ValueError if they do not broadcast."""
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
    """Returns the number of elements, or None."""
    return None if None in dims else prod(dims)  # type: ignore[arg-type]


def total(*sizes: int | None) -> int | None:
    """Returns the sum of sizes, or None if one is unknown."""
    return None if None in sizes else sum(sizes)  # type: ignore[arg-type]


def ints(op: ShapeQuery, i: int) -> list[int] | None:
    """Returns the value of input i as a flat list of ints, or None."""
    value = op.value(i)
    if value is None:
        shape = op.inputs[i]
        return [] if shape is not None and 0 in shape else None
    return value.ravel().tolist()


def int_of(op: ShapeQuery, i: int, what: str) -> int | None:
    """Returns the value of input i, a scalar or one element, or None.

    Raises: ValueError for another shape.
    """
    shape = op.inputs[i]
    if shape is not None and shape != () and shape != (1,) and None not in shape:
        raise ValueError(f"{what} must be a scalar, is of shape {show(shape)}")
    value = op.value(i)
    return None if value is None else int(value.reshape(-1)[0])


def not_negative(n: int | None, what: str) -> int | None:
    """Returns the number. Raises: ValueError if it is negative."""
    if n is not None and n < 0:
        raise ValueError(f"{what} must not be negative, is {n}")
    return n


def sizes(op: ShapeQuery, i: int) -> Shape:
    """Returns the vector in input i as a shape.

    Raises: ValueError if it is not a vector, or has a negative size.
    """
    shape = op.inputs[i]
    if shape is not None and len(shape) != 1:
        raise ValueError(f"sizes must be a vector, are of shape {show(shape)}")
    known = ints(op, i)
    if known is not None:
        if known and min(known) < 0:
            raise ValueError(f"sizes must not be negative, are {show(known)}")
        return tuple(known)
    static = op.value_as_shape(i)
    if static is None and shape is not None and shape[0] is not None:
        return (None,) * shape[0]
    return static


def attr(op: ShapeQuery, name: str, default: Any = None) -> Any:
    """Returns an attribute, or a default if the op does not have it."""
    return op.attrs.get(name, default)

"""Shapes of tensors that may be partly or wholly unknown.

Inside the package a shape is plain: None where the rank is unknown, otherwise a tuple of int or
None. `TensorShape` and `Dimension` are what users see of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.graph.typing.aliases import ShapeLike

Shape = tuple["int | None", ...] | None  # the plain form


def as_dims(value: Any) -> Shape:
    """Returns the plain form of anything that says a shape.

    Args:
      value: None (unknown rank), a TensorShape, an int, a sequence of int, None or Dimension,
        or a TensorShapeProto.
    Raises: TypeError or ValueError where it says none.
    """
    if value is None:
        return None
    if type(value) is tuple:
        for d in value:
            if d is not None and (type(d) is not int or d < 0):
                break
        else:
            return value
    if isinstance(value, TensorShape):
        return value._dims
    if hasattr(value, "unknown_rank"):  # TensorShapeProto
        if value.unknown_rank:
            return None
        return tuple([d.size if d.size >= 0 else None for d in value.dim])
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{value!r} is no shape: give a list of integers or None")
    try:
        items = iter(value)
    except TypeError:
        return (_as_dim(value),)
    return tuple([_as_dim(item) for item in items])


def _as_dim(value: Any) -> int | None:
    if value is None:
        return None
    if type(value) is Dimension:
        return value._value
    if isinstance(value, (str, bytes, float)):
        raise TypeError(f"Dimension value must be integer or None, not {value!r}")
    try:
        number = int(value.__index__())
    except AttributeError:
        raise TypeError(f"Dimension value must be integer or None, not {value!r}") from None
    if number < 0:
        raise ValueError(f"Dimension {number} must be >= 0")
    return number


def merge_dims(a: Shape, b: Shape) -> Shape:
    """Returns what two statements about one shape say together.

    Raises: ValueError where they contradict each other.
    """
    if a == b or b is None:
        return a
    if a is None:
        return b
    if len(a) != len(b):
        raise ValueError(f"Shapes {show(a)} and {show(b)} are not compatible: ranks differ")
    merged = []
    for x, y in zip(a, b):
        if x is not None and y is not None and x != y:
            raise ValueError(f"Shapes {show(a)} and {show(b)} are not compatible")
        merged.append(y if x is None else x)
    return tuple(merged)


def compatible(a: Shape, b: Shape) -> bool:
    """Whether one tensor could have both shapes."""
    if a is None or b is None:
        return True
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if x is not None and y is not None and x != y:
            return False
    return True


def show(dims: Shape) -> str:
    """Prints a plain shape: "[2, ?]", or "<unknown>"."""
    if dims is None:
        return "<unknown>"
    return "[" + ", ".join(["?" if d is None else str(d) for d in dims]) + "]"


class Dimension:
    """One size of a shape, or an unknown one; arithmetic with an unknown one is unknown."""

    __slots__ = ("_value",)

    def __init__(self, value: int | Dimension | None) -> None:
        self._value = _as_dim(value)

    @property
    def value(self) -> int | None:
        """The size, or None."""
        return self._value

    def is_compatible_with(self, other: Any) -> bool:
        """Whether both could be the same size."""
        other = as_dimension(other)
        return self._value is None or other._value is None or self._value == other._value

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises: ValueError where the sizes differ."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """Returns the known one of two. Raises: ValueError where they differ."""
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other._value if self._value is None else self._value)

    def _with(self, other: Any, compute: Any) -> Any:
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or other._value is None:
            return Dimension(None)
        return Dimension(compute(self._value, other._value))

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a // b)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b // a)

    __div__ = __floordiv__

    def __truediv__(self, other: Any) -> Any:
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and {type(other).__name__!r}, "
            "please use // instead"
        )

    def __mod__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a % b)

    def __rmod__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b % a)

    def _compare(self, other: Any, compute: Any) -> Any:
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or other._value is None:
            return None
        return compute(self._value, other._value)

    def __eq__(self, other: object) -> Any:
        return self._compare(other, lambda a, b: a == b)

    def __ne__(self, other: object) -> Any:
        return self._compare(other, lambda a, b: a != b)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a < b)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a >= b)

    def __hash__(self) -> int:
        return hash(self._value)

    def __int__(self) -> int:
        return self._value  # type: ignore[return-value]  # int() says what is wrong with None

    def __index__(self) -> int:
        return self._value  # type: ignore[return-value]

    def __bool__(self) -> bool:
        return bool(self._value)

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (self._value,)


def as_dimension(value: int | Dimension | None) -> Dimension:
    """Returns a Dimension as it is, an int or None as one."""
    return value if isinstance(value, Dimension) else Dimension(value)


def dimension_value(dimension: int | Dimension | None) -> Any:
    """Returns the int (or None) in a Dimension, anything else as it is."""
    return dimension._value if isinstance(dimension, Dimension) else dimension


class TensorShape:
    """The shape of a tensor as far as it is known."""

    __slots__ = ("_dims",)

    def __init__(self, dims: ShapeLike) -> None:
        self._dims = as_dims(dims)

    @property
    def dims(self) -> list[Dimension] | None:
        """The Dimensions, or None where the rank is unknown."""
        return None if self._dims is None else [Dimension(d) for d in self._dims]

    @property
    def ndims(self) -> int | None:
        """The rank, or None."""
        return None if self._dims is None else len(self._dims)

    rank = ndims

    def as_list(self) -> list[int | None]:
        """The sizes as int or None. Raises: ValueError where the rank is unknown."""
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def as_proto(self) -> Any:
        """The TensorShapeProto message."""
        from headrace.formats.proto.tensor_pb2 import TensorShapeProto

        if self._dims is None:
            return TensorShapeProto(unknown_rank=True)
        message = TensorShapeProto()
        for d in self._dims:
            message.dim.add(size=-1 if d is None else d)
        return message

    def num_elements(self) -> int | None:
        """The number of elements, or None where it is unknown."""
        if self._dims is None or None in self._dims:
            return None
        count = 1
        for d in self._dims:
            count *= d  # type: ignore[operator]
        return count

    def is_fully_defined(self) -> bool:
        """Whether every size is known."""
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        """Raises: ValueError unless every size is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        """Whether one tensor could have both shapes."""
        return compatible(self._dims, as_dims(other))

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises: ValueError where no tensor has both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def merge_with(self, other: Any) -> TensorShape:
        """What both say together. Raises: ValueError where they contradict each other."""
        try:
            return TensorShape(merge_dims(self._dims, as_dims(other)))
        except ValueError:
            raise ValueError(f"Shapes {self} and {as_shape(other)} are not compatible") from None

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """The shape that keeps only what both agree in."""
        a, b = self._dims, as_dims(other)
        if a is None or b is None or len(a) != len(b):
            return TensorShape(None)
        return TensorShape([x if x == y else None for x, y in zip(a, b)])

    def concatenate(self, other: Any) -> TensorShape:
        """This shape followed by the other's sizes."""
        b = as_dims(other)
        return TensorShape(None if self._dims is None or b is None else self._dims + b)

    def with_rank(self, rank: int) -> TensorShape:
        """This shape with that rank. Raises: ValueError where it has another."""
        if self._dims is not None and len(self._dims) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}")
        return self.merge_with([None] * rank)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape. Raises: ValueError where its rank is known to be less."""
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape. Raises: ValueError where its rank is known to be more."""
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raises: ValueError where the rank is known to be another."""
        if self._dims is not None and len(self._dims) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: Any) -> None:
        """Raises: ValueError where both ranks are known and differ."""
        b = as_dims(other)
        if self._dims is not None and b is not None and len(self._dims) != len(b):
            raise ValueError(f"Shapes {self} and {as_shape(other)} must have the same rank")

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            if self._dims is not None:
                return TensorShape(self._dims[key])
            start = key.start or 0
            if key.step not in (None, 1) or key.stop is None or start < 0 or key.stop < 0:
                return TensorShape(None)
            return TensorShape([None] * max(0, key.stop - start))
        return Dimension(None if self._dims is None else self._dims[key])

    def __iter__(self) -> Iterator[Dimension]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter([Dimension(d) for d in self._dims])

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        try:
            return self._dims == as_dims(other)
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        inner = ["?" if d is None else str(d) for d in self._dims]
        return f"({inner[0]},)" if len(inner) == 1 else f"({', '.join(inner)})"

    def __repr__(self) -> str:
        if self._dims is None:
            return "TensorShape(None)"
        return f"TensorShape({[Dimension(d) for d in self._dims]!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (self._dims,)


def as_shape(value: ShapeLike) -> TensorShape:
    """Returns a TensorShape as it is, anything that says a shape as one."""
    return value if isinstance(value, TensorShape) else TensorShape(value)


def unknown_shape(ndims: int | None = None, rank: int | None = None) -> TensorShape:
    """A shape of unknown sizes, and of unknown rank unless one is given."""
    ndims = rank if ndims is None else ndims
    return TensorShape(None if ndims is None else [None] * ndims)


def scalar() -> TensorShape:
    """The shape of one element."""
    return TensorShape([])


def vector(length: Any) -> TensorShape:
    """A shape of rank 1."""
    return TensorShape([length])


def matrix(rows: Any, cols: Any) -> TensorShape:
    """A shape of rank 2."""
    return TensorShape([rows, cols])

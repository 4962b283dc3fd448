"""Static shapes of tensors, which may be partially or completely unknown.

Inside the package a shape is plain: None for an unknown rank, otherwise a tuple of int or None.
`TensorShape` and `Dimension` are its public form.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any

from headrace.graph.typing.aliases import ShapeLike

Shape = tuple["int | None", ...] | None  # a plain shape


def as_dims(value: Any) -> Shape:
    """Converts a value to a plain shape.

    Args:
      value: None (unknown rank), a TensorShape, an int, a sequence of int, None or Dimension,
        or a TensorShapeProto.
    Raises: TypeError or ValueError for other values.
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
        raise TypeError(f"{value!r} is not a shape: give a list of integers or None")
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
    if isinstance(value, (str, bytes)):
        raise ValueError(f"invalid literal for a dimension: {value!r}")
    try:
        number = int(value.__index__())
    except AttributeError:
        number = _whole(value)
    if number < 0:
        raise ValueError(f"Dimension {number} must be >= 0")
    return number


def _whole(value: Any) -> int:
    """Converts a real number to a size. Raises: TypeError, or ValueError for a fraction."""
    if not isinstance(value, numbers.Real):
        raise TypeError(f"Dimension value must be integer or None, not {value!r}")
    number = float(value)
    if not number.is_integer():
        raise ValueError(f"Ambiguous dimension: {value}")
    return int(number)


def merge_dims(a: Shape, b: Shape) -> Shape:
    """Merges two plain shapes: the sizes known in either.

    Raises: ValueError if they are incompatible.
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
    """Returns whether the shapes are compatible: one tensor could have both."""
    if a is None or b is None:
        return True
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if x is not None and y is not None and x != y:
            return False
    return True


def show(dims: Shape) -> str:
    """Formats a plain shape: "[2, ?]", or "<unknown>"."""
    if dims is None:
        return "<unknown>"
    return "[" + ", ".join(["?" if d is None else str(d) for d in dims]) + "]"


class Dimension:
    """One size of a shape, possibly unknown; arithmetic with an unknown size is unknown."""

    __slots__ = ("_value",)

    def __init__(self, value: int | Dimension | None) -> None:
        self._value = _as_dim(value)

    @property
    def value(self) -> int | None:
        """The size, or None."""
        return self._value

    def is_compatible_with(self, other: Any) -> bool:
        """Returns whether both sizes are equal or one is unknown."""
        other = as_dimension(other)
        return self._value is None or other._value is None or self._value == other._value

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ValueError if both sizes are known and differ."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """Returns the known size of two. Raises: ValueError if they differ."""
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
    """Converts an int or None to a Dimension."""
    return value if isinstance(value, Dimension) else Dimension(value)


def dimension_value(dimension: int | Dimension | None) -> Any:
    """Returns the value of a Dimension; returns other objects unchanged."""
    return dimension._value if isinstance(dimension, Dimension) else dimension


class TensorShape:
    """The static shape of a tensor; rank and sizes may be unknown."""

    __slots__ = ("_dims",)

    def __init__(self, dims: ShapeLike) -> None:
        self._dims = as_dims(dims)

    @property
    def dims(self) -> list[Dimension] | None:
        """List of Dimensions, or None if the rank is unknown."""
        return None if self._dims is None else [Dimension(d) for d in self._dims]

    @property
    def ndims(self) -> int | None:
        """The rank, or None if it is unknown."""
        return None if self._dims is None else len(self._dims)

    rank = ndims

    def as_list(self) -> list[int | None]:
        """Returns the sizes as int or None. Raises: ValueError if the rank is unknown."""
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def as_proto(self) -> Any:
        """Returns the TensorShapeProto message."""
        from headrace.formats.proto.tensor_pb2 import TensorShapeProto

        if self._dims is None:
            return TensorShapeProto(unknown_rank=True)
        message = TensorShapeProto()
        for d in self._dims:
            message.dim.add(size=-1 if d is None else d)
        return message

    def num_elements(self) -> int | None:
        """Returns the number of elements, or None if it is unknown."""
        if self._dims is None or None in self._dims:
            return None
        count = 1
        for d in self._dims:
            count *= d  # type: ignore[operator]
        return count

    def is_fully_defined(self) -> bool:
        """Returns whether all sizes are known."""
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        """Raises ValueError unless all sizes are known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        """Returns whether the shapes are compatible: one tensor could have both."""
        return compatible(self._dims, as_dims(other))

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ValueError if the shapes are incompatible."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def merge_with(self, other: Any) -> TensorShape:
        """Returns the shape with the sizes known in either. Raises: ValueError if incompatible."""
        try:
            return TensorShape(merge_dims(self._dims, as_dims(other)))
        except ValueError:
            raise ValueError(f"Shapes {self} and {as_shape(other)} are not compatible") from None

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """Returns the most specific shape that is compatible with both."""
        a, b = self._dims, as_dims(other)
        if a is None or b is None or len(a) != len(b):
            return TensorShape(None)
        return TensorShape([x if x == y else None for x, y in zip(a, b)])

    def concatenate(self, other: Any) -> TensorShape:
        """Returns this shape followed by the sizes of another."""
        b = as_dims(other)
        return TensorShape(None if self._dims is None or b is None else self._dims + b)

    def with_rank(self, rank: int) -> TensorShape:
        """Returns this shape with the given rank. Raises: ValueError for another rank."""
        if self._dims is not None and len(self._dims) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}")
        return self.merge_with([None] * rank)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Returns this shape. Raises: ValueError if its rank is known to be lower."""
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Returns this shape. Raises: ValueError if its rank is known to be higher."""
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raises ValueError if the rank is known to differ."""
        if self._dims is not None and len(self._dims) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: Any) -> None:
        """Raises ValueError if both ranks are known and differ."""
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
    """Converts a value to a TensorShape. Raises: as as_dims."""
    return value if isinstance(value, TensorShape) else TensorShape(value)


def unknown_shape(ndims: int | None = None, rank: int | None = None) -> TensorShape:
    """Returns a shape with unknown sizes, and unknown rank unless it is given."""
    ndims = rank if ndims is None else ndims
    return TensorShape(None if ndims is None else [None] * ndims)


def scalar() -> TensorShape:
    """Returns the shape of a scalar, []."""
    return TensorShape([])


def vector(length: Any) -> TensorShape:
    """Returns the shape [length]."""
    return TensorShape([length])


def matrix(rows: Any, cols: Any) -> TensorShape:
    """Returns the shape [rows, cols]."""
    return TensorShape([rows, cols])

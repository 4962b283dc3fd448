"""Immutable records of an op's signature: arguments, attributes, flags."""

from __future__ import annotations

# Importing typing or dataclasses takes longer than the rest of this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# The numbers of the DataType enum. They are a copy of those in dtypes.py, because the catalogue
# must load without NumPy.
TYPE_NUMBERS = {
    "float": 1, "double": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7,
    "complex64": 8, "int64": 9, "bool": 10, "qint8": 11, "quint8": 12, "qint32": 13,
    "bfloat16": 14, "qint16": 15, "quint16": 16, "uint16": 17, "complex128": 18, "half": 19,
    "resource": 20, "variant": 21, "uint32": 22, "uint64": 23, "float8_e5m2": 24,
    "float8_e4m3fn": 25, "float8_e4m3fnuz": 26, "float8_e4m3b11fnuz": 27,
    "float8_e5m2fnuz": 28, "int4": 29, "uint4": 30, "int2": 31, "uint2": 32,
}  # fmt: skip
TYPE_NAMES = {number: name for name, number in TYPE_NUMBERS.items()}
FLAGS = (
    "stateful", "commutative", "aggregate", "uninitialized_ok", "shape_only", "view", "data_shape",
    "internal",
)  # fmt: skip


class _NoDefault:
    """Default of a required attribute (None would be a shape of unknown rank)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NO_DEFAULT"

    def __reduce__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT = _NoDefault()


class SignatureError(ValueError):
    """A catalogue line is not a valid signature."""


class _Record:
    """Base of immutable records, compared and hashed by their fields."""

    _fields: tuple[str, ...] = ()
    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: make a new one with replace()")

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field) for field in self._fields)

    def _set(self, *values: Any) -> None:
        for field, value in zip(self._fields, values, strict=True):
            object.__setattr__(self, field, value)

    def replace(self, **changes: Any) -> Any:
        """Returns a copy with some fields changed."""
        return type(self)(**{field: getattr(self, field) for field in self._fields} | changes)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        fields = ", ".join(f"{field}={getattr(self, field)!r}" for field in self._fields)
        return f"{type(self).__name__}({fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._values()


class Vector(_Record):
    """Default of a `tensor` attribute, such as uint8[255, 0, 0, 255]."""

    _fields = ("dtype", "values")
    __slots__ = _fields
    dtype: int
    values: tuple[int, ...]

    def __init__(self, dtype: int, values: tuple[int, ...]) -> None:
        self._set(dtype, values)


class Arg(_Record):
    """One input or output argument: a tensor or a list of tensors.

    Exactly one of dtype, type_attr and type_list_attr gives the type (dtype is 0 otherwise);
    number_attr names the attribute with the length of a homogeneous list.
    """

    _fields = ("name", "dtype", "type_attr", "number_attr", "type_list_attr", "is_ref")
    __slots__ = _fields
    name: str
    dtype: int
    type_attr: str
    number_attr: str
    type_list_attr: str
    is_ref: bool

    def __init__(
        self,
        name: str,
        dtype: int = 0,
        type_attr: str = "",
        number_attr: str = "",
        type_list_attr: str = "",
        is_ref: bool = False,
    ) -> None:
        self._set(name, dtype, type_attr, number_attr, type_list_attr, is_ref)

    @property
    def is_list(self) -> bool:
        """Whether the argument is a list of tensors."""
        return bool(self.number_attr or self.type_list_attr)


class Attr(_Record):
    """One attribute of an op.

    Values are represented as follows: types by DataType numbers, shapes by tuples of int or None,
    lists by tuples, tensors by Vectors.
    """

    _fields = ("name", "kind", "default", "allowed", "minimum")
    __slots__ = _fields
    name: str
    kind: str
    default: Any
    allowed: tuple[Any, ...]
    minimum: int | None

    def __init__(
        self,
        name: str,
        kind: str,
        default: Any = NO_DEFAULT,
        allowed: tuple[Any, ...] = (),
        minimum: int | None = None,
    ) -> None:
        self._set(name, kind, default, allowed, minimum)


class Signature(_Record):
    """The signature of one op, as its catalogue line states it."""

    _fields = (
        "name", "inputs", "outputs", "attrs", "stateful", "commutative", "aggregate",
        "uninitialized_ok", "shape_only", "view", "data_shape", "internal", "shape_rule",
    )  # fmt: skip
    __slots__ = _fields
    name: str
    inputs: tuple[Arg, ...]
    outputs: tuple[Arg, ...]
    attrs: tuple[Attr, ...]
    stateful: bool
    commutative: bool
    aggregate: bool
    uninitialized_ok: bool
    shape_only: bool
    view: bool
    data_shape: bool
    internal: bool  # only graph passes create the op: user graphs must not contain it
    shape_rule: str

    def __init__(
        self,
        name: str,
        inputs: tuple[Arg, ...],
        outputs: tuple[Arg, ...],
        attrs: tuple[Attr, ...],
        stateful: bool = False,
        commutative: bool = False,
        aggregate: bool = False,
        uninitialized_ok: bool = False,
        shape_only: bool = False,
        view: bool = False,
        data_shape: bool = False,
        internal: bool = False,
        shape_rule: str = "",
    ) -> None:
        self._set(
            name, inputs, outputs, attrs, stateful, commutative, aggregate,
            uninitialized_ok, shape_only, view, data_shape, internal,
            shape_rule,
        )  # fmt: skip

    def attr(self, name: str) -> Attr:
        """Returns an attribute by name. Raises: KeyError for an unknown name."""
        for attr in self.attrs:
            if attr.name == name:
                return attr
        raise KeyError(name)

    def __str__(self) -> str:
        """The line of the catalogue, which signature_language.parse_signature reads."""
        parts = [f"{arg.name}: {_type_text(arg)}" for arg in self.inputs]
        if self.attrs:
            parts.append("*")
            parts.extend(_attr_text(attr) for attr in self.attrs)
        outputs = ", ".join(f"{arg.name}: {_type_text(arg)}" for arg in self.outputs)
        flags = [flag for flag in FLAGS if getattr(self, flag)]
        if self.shape_rule:
            flags.append(f"shape={self.shape_rule}")
        tail = f" [{', '.join(flags)}]" if flags else ""
        return f"{self.name}({', '.join(parts)}) -> ({outputs}){tail}"


def _type_text(arg: Arg) -> str:
    text = arg.type_attr or arg.type_list_attr or TYPE_NAMES[arg.dtype]
    if arg.is_ref:
        text = f"Ref({text})"
    return f"{arg.number_attr} * {text}" if arg.number_attr else text


def _attr_text(attr: Attr) -> str:
    is_list = attr.kind.startswith("list(")
    kind = attr.kind[5:-1] if is_list else attr.kind
    text = kind
    if attr.allowed:
        text = "{" + ", ".join(_value_text(value, kind) for value in attr.allowed) + "}"
    if is_list:
        text = f"list({text})"
    if attr.minimum is not None:
        text += f" >= {attr.minimum}"
    if attr.default is NO_DEFAULT:
        return f"{attr.name}: {text}"
    if is_list:
        default = "[" + ", ".join(_value_text(value, kind) for value in attr.default) + "]"
    else:
        default = _value_text(attr.default, kind)
    return f"{attr.name}: {text} = {default}"


def _value_text(value: Any, kind: str) -> str:
    if kind == "type":
        return TYPE_NAMES[value]
    if kind == "shape":
        if value is None:
            return "?"
        return "[" + ", ".join("-1" if d is None else str(d) for d in value) + "]"
    if kind == "tensor":
        return f"{TYPE_NAMES[value.dtype]}[{', '.join(map(str, value.values))}]"
    return repr(value)

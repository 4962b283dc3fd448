"""The one-line signature language of ops: parse it, print it, make an OpDef of it and back.

Name(in: TYPE, *, attr: KIND = DEFAULT) -> (out: TYPE) [flag, shape=rule]
"""

from __future__ import annotations

import re

# Neither typing nor dataclasses is imported: each costs more than all the rest of this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from headrace.formats.proto.op_pb2 import OpDef

# The numbers of the DataType enum. Written here too (dtypes.py has the rest about each type),
# since the catalogue must load without NumPy.
TYPE_NUMBERS = {
    "float": 1, "double": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7,
    "complex64": 8, "int64": 9, "bool": 10, "qint8": 11, "quint8": 12, "qint32": 13,
    "bfloat16": 14, "qint16": 15, "quint16": 16, "uint16": 17, "complex128": 18, "half": 19,
    "resource": 20, "variant": 21, "uint32": 22, "uint64": 23, "float8_e5m2": 24,
    "float8_e4m3fn": 25, "float8_e4m3fnuz": 26, "float8_e4m3b11fnuz": 27,
    "float8_e5m2fnuz": 28, "int4": 29, "uint4": 30, "int2": 31, "uint2": 32,
}  # fmt: skip
TYPE_NAMES = {number: name for name, number in TYPE_NUMBERS.items()}

_FLAGS = (
    "stateful", "commutative", "aggregate", "uninitialized_ok", "shape_only", "view", "data_shape",
)  # fmt: skip
_SCALAR_KINDS = ("int", "float", "bool", "string", "shape", "tensor", "func")


class _NoDefault:
    """The default of an attribute that must be given (None is the shape of unknown rank)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NO_DEFAULT"

    def __reduce__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT = _NoDefault()


class SignatureError(ValueError):
    """A line that is not a signature."""


class _Record:
    """Immutable, compared and hashed by its fields."""

    _fields: tuple[str, ...] = ()
    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"{type(self).__name__} is immutable: make a new one with replace()"
        )

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field) for field in self._fields)

    def _set(self, *values: Any) -> None:
        for field, value in zip(self._fields, values, strict=True):
            object.__setattr__(self, field, value)

    def replace(self, **changes: Any) -> Any:
        """The same with some fields changed."""
        return type(self)(
            **{field: getattr(self, field) for field in self._fields} | changes
        )

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        fields = ", ".join(
            f"{field}={getattr(self, field)!r}" for field in self._fields
        )
        return f"{type(self).__name__}({fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._values()


class Vector(_Record):
    """The default of a `tensor` attribute: uint8[255, 0, 0, 255]."""

    _fields = ("dtype", "values")
    __slots__ = _fields
    dtype: int
    values: tuple[int, ...]

    def __init__(self, dtype: int, values: tuple[int, ...]) -> None:
        self._set(dtype, values)


class Arg(_Record):
    """One input or output argument: one tensor, or a list of them.

    Exactly one of dtype, type_attr, type_list_attr says the type (dtype is 0 otherwise);
    number_attr names the length of a list of one type.
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
        """Whether the argument covers a list of tensors."""
        return bool(self.number_attr or self.type_list_attr)


class Attr(_Record):
    """One attribute.

    Types are DataType numbers, shapes tuples of int or None, lists tuples, tensors Vectors.
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
    """What the catalogue says about one op."""

    _fields = (
        "name", "inputs", "outputs", "attrs", "stateful", "commutative", "aggregate",
        "uninitialized_ok", "shape_only", "view", "data_shape", "shape_rule",
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
        shape_rule: str = "",
    ) -> None:
        self._set(
            name, inputs, outputs, attrs, stateful, commutative, aggregate,
            uninitialized_ok, shape_only, view, data_shape, shape_rule,
        )  # fmt: skip

    def attr(self, name: str) -> Attr:
        """The attribute of a name. Raises: KeyError."""
        for attr in self.attrs:
            if attr.name == name:
                return attr
        raise KeyError(name)

    def __str__(self) -> str:
        return print_signature(self)


# ---- parsing ---------------------------------------------------------------------------------

# The last alternative takes what is no token, so that the parser stumbles over it.
_TOKEN = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|->|>=|[\w.>+-]+|\S"


class _Reader:
    """Walks over the tokens of one line; "" is the end."""

    __slots__ = ("_at", "_text", "_tokens")

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = re.findall(_TOKEN, text)
        self._tokens.append("")
        self._at = 0

    def peek(self) -> str:
        return self._tokens[self._at]

    def next(self) -> str:
        value = self._tokens[self._at]
        self._at += 1
        return value

    def take(self, mark: str) -> bool:
        if self._tokens[self._at] == mark:
            self._at += 1
            return True
        return False

    def expect(self, mark: str) -> None:
        if self._tokens[self._at] != mark:
            raise self.error(f"{mark!r}")
        self._at += 1

    def name(self) -> str:
        value = self._tokens[self._at]
        if not (value[:1].isalpha() or value[:1] == "_"):
            raise self.error("a name")
        self._at += 1
        return value

    def more(self, close: str, first: bool) -> bool:
        """Steps over what separates the items of a list; False behind its last."""
        if self.take(close):
            return False
        if not first:
            self.expect(",")
        return True

    def error(self, wanted: str) -> SignatureError:
        found = self.peek() or "the end"
        return SignatureError(f"expected {wanted}, found {found!r} in {self._text!r}")


def parse_signature(text: str) -> Signature:
    """Reads one signature.

    Raises: SignatureError saying what was expected, and where.
    """
    reader = _Reader(text.replace("\\\n", " "))
    name = reader.name()
    reader.expect("(")
    raw_inputs: list[tuple[str, tuple[str, str, bool]]] = []
    attrs: list[Attr] = []
    in_attrs = False
    while reader.more(")", first=not raw_inputs and not in_attrs):
        if not in_attrs and reader.take("*"):
            in_attrs = True
            reader.expect(",")
        if in_attrs:
            attrs.append(_parse_attr(reader))
        else:
            raw_inputs.append(_parse_raw_arg(reader))
    reader.expect("->")
    reader.expect("(")
    raw_outputs: list[tuple[str, tuple[str, str, bool]]] = []
    while reader.more(")", first=not raw_outputs):
        raw_outputs.append(_parse_raw_arg(reader))
    flags, rule = _parse_flags(reader)
    if reader.peek():
        raise reader.error("the end of the line")
    kinds = {attr.name: attr.kind for attr in attrs}
    return Signature(
        name=name,
        inputs=tuple(_resolve(name, arg, kinds) for arg in raw_inputs),
        outputs=tuple(_resolve(name, arg, kinds) for arg in raw_outputs),
        attrs=tuple(attrs),
        shape_rule=rule,
        **dict.fromkeys(flags, True),
    )


def _parse_raw_arg(reader: _Reader) -> tuple[str, tuple[str, str, bool]]:
    name = reader.name()
    reader.expect(":")
    number = ""
    kind = reader.name()
    if reader.take("*"):
        number, kind = kind, reader.name()
    is_ref = kind == "Ref" and reader.take("(")
    if is_ref:
        kind = reader.name()
        reader.expect(")")
    return name, (number, kind, is_ref)


def _resolve(
    op: str, raw: tuple[str, tuple[str, str, bool]], kinds: dict[str, str]
) -> Arg:
    name, (number, of, is_ref) = raw
    if number and kinds.get(number) != "int":
        raise SignatureError(
            f"{op}: argument {name!r} counts by {number!r}, no int attribute"
        )
    kind = kinds.get(of)
    if kind == "type":
        return Arg(name, type_attr=of, number_attr=number, is_ref=is_ref)
    if kind == "list(type)":
        return Arg(name, type_list_attr=of, is_ref=is_ref)
    if of not in TYPE_NUMBERS:
        raise SignatureError(
            f"{op}: argument {name!r} has type {of!r}, no dtype, no attribute"
        )
    return Arg(name, dtype=TYPE_NUMBERS[of], number_attr=number, is_ref=is_ref)


def _parse_attr(reader: _Reader) -> Attr:
    name = reader.name()
    reader.expect(":")
    is_list = reader.peek() == "list" and bool(reader.next()) and reader.take("(")
    allowed: tuple[Any, ...] = ()
    if reader.take("{"):
        kind, allowed = _parse_allowed(reader)
    else:
        kind = reader.name()
        if kind != "type" and kind not in _SCALAR_KINDS:
            raise SignatureError(f"attribute {name!r} has unknown kind {kind!r}")
    if is_list:
        reader.expect(")")
    minimum = int(reader.next()) if reader.take(">=") else None
    default: Any = NO_DEFAULT
    if reader.take("="):
        default = _parse_value(reader, kind, is_list)
    return Attr(name, f"list({kind})" if is_list else kind, default, allowed, minimum)


def _parse_allowed(reader: _Reader) -> tuple[str, tuple[Any, ...]]:
    kind = "string" if reader.peek()[:1] in ("'", '"') else "type"
    values: list[Any] = []
    while reader.more("}", first=not values):
        values.append(_parse_value(reader, kind, False))
    return kind, tuple(values)


def _parse_value(reader: _Reader, kind: str, is_list: bool) -> Any:
    if is_list:
        reader.expect("[")
        values: list[Any] = []
        while reader.more("]", first=not values):
            values.append(_parse_value(reader, kind, False))
        return tuple(values)
    if kind == "shape":
        if reader.take("?"):
            return None
        dims = _parse_value(reader, "int", True)
        return tuple(None if d < 0 else d for d in dims)
    token = reader.next()
    if kind == "tensor" and token in TYPE_NUMBERS:
        return Vector(TYPE_NUMBERS[token], _parse_value(reader, "int", True))
    if kind == "type" and token in TYPE_NUMBERS:
        return TYPE_NUMBERS[token]
    if kind == "bool" and token in ("True", "False"):
        return token == "True"
    if kind == "string" and len(token) > 1 and token[0] in ("'", '"'):
        if "\\" not in token:
            return token[1:-1]
        import ast

        return ast.literal_eval(token)
    try:
        if kind == "int":
            return int(token)
        if kind == "float":
            return float(token)
    except ValueError:
        pass
    raise SignatureError(f"{token!r} is no value of kind {kind!r}")


def _parse_flags(reader: _Reader) -> tuple[list[str], str]:
    flags: list[str] = []
    rule = ""
    if reader.take("["):
        while reader.more("]", first=not flags and not rule):
            flag = reader.name()
            if flag == "shape" and reader.take("="):
                rule = reader.name()
            elif flag in _FLAGS:
                flags.append(flag)
            else:
                raise SignatureError(
                    f"unknown flag {flag!r}; there are {', '.join(_FLAGS)}, shape="
                )
    return flags, rule


# ---- printing ----------------------------------------------------------------------------------


def print_signature(signature: Signature) -> str:
    """Writes a signature as one line that parses to the same."""
    parts = [f"{arg.name}: {_print_type(arg)}" for arg in signature.inputs]
    if signature.attrs:
        parts.append("*")
        parts.extend(_print_attr(attr) for attr in signature.attrs)
    outputs = ", ".join(f"{arg.name}: {_print_type(arg)}" for arg in signature.outputs)
    flags = [flag for flag in _FLAGS if getattr(signature, flag)]
    if signature.shape_rule:
        flags.append(f"shape={signature.shape_rule}")
    tail = f" [{', '.join(flags)}]" if flags else ""
    return f"{signature.name}({', '.join(parts)}) -> ({outputs}){tail}"


def _print_type(arg: Arg) -> str:
    text = arg.type_attr or arg.type_list_attr or TYPE_NAMES[arg.dtype]
    if arg.is_ref:
        text = f"Ref({text})"
    return f"{arg.number_attr} * {text}" if arg.number_attr else text


def _print_attr(attr: Attr) -> str:
    is_list = attr.kind.startswith("list(")
    kind = attr.kind[5:-1] if is_list else attr.kind
    text = kind
    if attr.allowed:
        text = (
            "{" + ", ".join(_print_value(value, kind) for value in attr.allowed) + "}"
        )
    if is_list:
        text = f"list({text})"
    if attr.minimum is not None:
        text += f" >= {attr.minimum}"
    if attr.default is NO_DEFAULT:
        return f"{attr.name}: {text}"
    if is_list:
        default = (
            "[" + ", ".join(_print_value(value, kind) for value in attr.default) + "]"
        )
    else:
        default = _print_value(attr.default, kind)
    return f"{attr.name}: {text} = {default}"


def _print_value(value: Any, kind: str) -> str:
    if kind == "type":
        return TYPE_NAMES[value]
    if kind == "shape":
        if value is None:
            return "?"
        return "[" + ", ".join("-1" if d is None else str(d) for d in value) + "]"
    if kind == "tensor":
        return f"{TYPE_NAMES[value.dtype]}[{', '.join(map(str, value.values))}]"
    return repr(value)


# ---- OpDef ---------------------------------------------------------------------------------------


def to_op_def(signature: Signature) -> OpDef:
    """Makes the OpDef message of a signature (without descriptions)."""
    from headrace.formats.proto.op_pb2 import OpDef

    op_def = OpDef(
        name=signature.name,
        is_stateful=signature.stateful,
        is_commutative=signature.commutative,
        is_aggregate=signature.aggregate,
        allows_uninitialized_input=signature.uninitialized_ok,
    )
    for args, target in (
        (signature.inputs, op_def.input_arg),
        (signature.outputs, op_def.output_arg),
    ):
        for arg in args:
            target.add(
                name=arg.name,
                type=arg.dtype,
                type_attr=arg.type_attr,
                number_attr=arg.number_attr,
                type_list_attr=arg.type_list_attr,
                is_ref=arg.is_ref,
            )
    for attr in signature.attrs:
        message = op_def.attr.add(name=attr.name, type=attr.kind)
        if attr.minimum is not None:
            message.has_minimum = True
            message.minimum = attr.minimum
        scalar_kind = attr.kind[5:-1] if attr.kind.startswith("list(") else attr.kind
        if attr.allowed:
            _set_list(message.allowed_values, scalar_kind, attr.allowed)
        if attr.default is not NO_DEFAULT:
            if attr.kind.startswith("list("):
                _set_list(message.default_value, scalar_kind, attr.default)
            else:
                _set_value(message.default_value, attr.kind, attr.default)
    return op_def


_LIST_FIELDS = {"int": "i", "float": "f", "bool": "b", "type": "type"}


def _set_list(message: Any, kind: str, values: tuple[Any, ...]) -> None:
    message.list.SetInParent()
    if kind == "string":
        message.list.s.extend(value.encode() for value in values)
    elif kind == "shape":
        for value in values:
            _set_shape(message.list.shape.add(), value)
    elif values:
        getattr(message.list, _LIST_FIELDS[kind]).extend(values)


def _set_value(message: Any, kind: str, value: Any) -> None:
    if kind == "string":
        message.s = value.encode()
    elif kind == "shape":
        message.shape.SetInParent()
        _set_shape(message.shape, value)
    elif kind == "tensor":
        message.tensor.dtype = value.dtype
        message.tensor.tensor_shape.dim.add(size=len(value.values))
        message.tensor.int_val.extend(value.values)
    else:
        setattr(message, _LIST_FIELDS[kind], value)


def _set_shape(message: Any, value: tuple[int | None, ...] | None) -> None:
    if value is None:
        message.unknown_rank = True
        return
    for d in value:
        message.dim.add(size=-1 if d is None else d)


def from_op_def(op_def: OpDef) -> Signature:
    """Reads an OpDef message (of a library from outside); it has no shape rule."""
    attrs = []
    for message in op_def.attr:
        is_list = message.type.startswith("list(")
        kind = message.type[5:-1] if is_list else message.type
        default: Any = NO_DEFAULT
        if message.HasField("default_value"):
            get = _get_list if is_list else _get_value
            default = get(message.default_value, kind)
        allowed: tuple[Any, ...] = ()
        if message.HasField("allowed_values"):
            allowed = _get_list(message.allowed_values, kind)
        minimum = message.minimum if message.has_minimum else None
        attrs.append(Attr(message.name, message.type, default, allowed, minimum))
    return Signature(
        name=op_def.name,
        inputs=tuple(_get_arg(arg) for arg in op_def.input_arg),
        outputs=tuple(_get_arg(arg) for arg in op_def.output_arg),
        attrs=tuple(attrs),
        stateful=op_def.is_stateful,
        commutative=op_def.is_commutative,
        aggregate=op_def.is_aggregate,
        uninitialized_ok=op_def.allows_uninitialized_input,
    )


def _get_arg(arg: Any) -> Arg:
    return Arg(
        arg.name,
        arg.type,
        arg.type_attr,
        arg.number_attr,
        arg.type_list_attr,
        arg.is_ref,
    )


def _get_list(message: Any, kind: str) -> tuple[Any, ...]:
    if kind == "string":
        return tuple(value.decode() for value in message.list.s)
    if kind == "shape":
        return tuple(_get_shape(value) for value in message.list.shape)
    if kind == "float":
        return tuple(_shortest(value) for value in message.list.f)
    return (
        tuple(getattr(message.list, _LIST_FIELDS[kind])) if kind in _LIST_FIELDS else ()
    )


def _get_value(message: Any, kind: str) -> Any:
    if kind == "string":
        return message.s.decode()
    if kind == "shape":
        return _get_shape(message.shape)
    if kind == "tensor":
        return Vector(message.tensor.dtype, tuple(message.tensor.int_val))
    if kind == "float":
        return _shortest(message.f)
    return getattr(message, _LIST_FIELDS[kind])


def _shortest(value: float) -> float:
    """The shortest decimal that is this float32: 0.2, not 0.20000000298."""
    import struct

    for digits in range(6, 9):
        short = float(f"{value:.{digits}g}")
        if struct.pack("f", short) == struct.pack("f", value):
            return short
    return value


def _get_shape(message: Any) -> tuple[int | None, ...] | None:
    if message.unknown_rank:
        return None
    return tuple(None if d.size < 0 else d.size for d in message.dim)

"""Parses the one-line signature language of the op catalogue:

Name(in: TYPE, *, attr: KIND = DEFAULT) -> (out: TYPE) [flag, shape=rule]
"""

from __future__ import annotations

import re

from headrace.formats.op_signature import (
    FLAGS,
    NO_DEFAULT,
    TYPE_NUMBERS,
    Arg,
    Attr,
    Signature,
    SignatureError,
    Vector,
)

# Importing typing takes longer than the rest of this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SCALAR_KINDS = ("int", "float", "bool", "string", "shape", "tensor", "func")


# The last alternative matches any other character, so that the parser reports it.
_TOKEN = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|->|>=|[\w.>+-]+|\S"


class _TokenStream:
    """The tokens of one line; "" marks the end."""

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

    def accept(self, token: str) -> bool:
        if self._tokens[self._at] == token:
            self._at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if self._tokens[self._at] != token:
            raise self.error(f"{token!r}")
        self._at += 1

    def name(self) -> str:
        value = self._tokens[self._at]
        if not (value[:1].isalpha() or value[:1] == "_"):
            raise self.error("a name")
        self._at += 1
        return value

    def next_item(self, close: str, first: bool) -> bool:
        """Consumes the separator before the next list item; returns False at the closing token."""
        if self.accept(close):
            return False
        if not first:
            self.expect(",")
        return True

    def error(self, expected: str) -> SignatureError:
        found = self.peek() or "the end"
        return SignatureError(f"expected {expected}, found {found!r} in {self._text!r}")


def parse_signature(text: str) -> Signature:
    """Parses one signature.

    Raises: SignatureError for an invalid line; the message quotes the unexpected token.
    """
    reader = _TokenStream(text.replace("\\\n", " "))
    name = reader.name()
    reader.expect("(")
    raw_inputs: list[tuple[str, tuple[str, str, bool]]] = []
    attrs: list[Attr] = []
    in_attrs = False
    while reader.next_item(")", first=not raw_inputs and not in_attrs):
        if not in_attrs and reader.accept("*"):
            in_attrs = True
            reader.expect(",")
        if in_attrs:
            attrs.append(_parse_attr(reader))
        else:
            raw_inputs.append(_parse_raw_arg(reader))
    reader.expect("->")
    reader.expect("(")
    raw_outputs: list[tuple[str, tuple[str, str, bool]]] = []
    while reader.next_item(")", first=not raw_outputs):
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


def _parse_raw_arg(reader: _TokenStream) -> tuple[str, tuple[str, str, bool]]:
    name = reader.name()
    reader.expect(":")
    number = ""
    kind = reader.name()
    if reader.accept("*"):
        number, kind = kind, reader.name()
    is_ref = kind == "Ref" and reader.accept("(")
    if is_ref:
        kind = reader.name()
        reader.expect(")")
    return name, (number, kind, is_ref)


def _resolve(op: str, raw: tuple[str, tuple[str, str, bool]], kinds: dict[str, str]) -> Arg:
    name, (number, type_name, is_ref) = raw
    if number and kinds.get(number) != "int":
        raise SignatureError(
            f"{op}: argument {name!r} has length {number!r}, which is not an int attribute"
        )
    kind = kinds.get(type_name)
    if kind == "type":
        return Arg(name, type_attr=type_name, number_attr=number, is_ref=is_ref)
    if kind == "list(type)":
        return Arg(name, type_list_attr=type_name, is_ref=is_ref)
    if type_name not in TYPE_NUMBERS:
        raise SignatureError(
            f"{op}: argument {name!r} has type {type_name!r}, which is neither dtype nor attribute"
        )
    return Arg(name, dtype=TYPE_NUMBERS[type_name], number_attr=number, is_ref=is_ref)


def _parse_attr(reader: _TokenStream) -> Attr:
    name = reader.name()
    reader.expect(":")
    is_list = reader.peek() == "list" and bool(reader.next()) and reader.accept("(")
    allowed: tuple[Any, ...] = ()
    if reader.accept("{"):
        kind, allowed = _parse_allowed(reader)
    else:
        kind = reader.name()
        if kind != "type" and kind not in _SCALAR_KINDS:
            raise SignatureError(f"attribute {name!r} has unknown kind {kind!r}")
    if is_list:
        reader.expect(")")
    minimum = int(reader.next()) if reader.accept(">=") else None
    default: Any = NO_DEFAULT
    if reader.accept("="):
        default = _parse_value(reader, kind, is_list)
    return Attr(name, f"list({kind})" if is_list else kind, default, allowed, minimum)


def _parse_allowed(reader: _TokenStream) -> tuple[str, tuple[Any, ...]]:
    kind = "string" if reader.peek()[:1] in ("'", '"') else "type"
    values: list[Any] = []
    while reader.next_item("}", first=not values):
        values.append(_parse_value(reader, kind, False))
    return kind, tuple(values)


def _parse_value(reader: _TokenStream, kind: str, is_list: bool) -> Any:
    if is_list:
        reader.expect("[")
        values: list[Any] = []
        while reader.next_item("]", first=not values):
            values.append(_parse_value(reader, kind, False))
        return tuple(values)
    if kind == "shape":
        if reader.accept("?"):
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
    raise SignatureError(f"{token!r} is not a value of kind {kind!r}")


def _parse_flags(reader: _TokenStream) -> tuple[list[str], str]:
    flags: list[str] = []
    rule = ""
    if reader.accept("["):
        while reader.next_item("]", first=not flags and not rule):
            flag = reader.name()
            if flag == "shape" and reader.accept("="):
                rule = reader.name()
            elif flag in FLAGS:
                flags.append(flag)
            else:
                raise SignatureError(
                    f"unknown flag {flag!r}; the flags are {', '.join(FLAGS)}, shape="
                )
    return flags, rule

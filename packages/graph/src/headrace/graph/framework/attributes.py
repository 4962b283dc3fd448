"""Attributes of nodes: checked, converted to plain values, shared between nodes, serialized once.

Plain values: bool, int and float unchanged; string as str (bytes if it is not UTF-8); type as
DataType number; shape as tuple or None; tensor as array; list as tuple. Attributes that no
signature declares (of a newer producer, or functions) stay AttrValue messages in a `RawAttr`.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from headrace.formats.dtypes import DType, as_dtype
from headrace.formats.op_signature import TYPE_NAMES, Attr, Signature
from headrace.formats.wire import encode_varint as varint
from headrace.graph.framework.tensor_shape import Shape, TensorShape, as_dims


class RawAttr:
    """An attribute value in the form of a serialized AttrValue message."""

    __slots__ = ("wire",)

    def __init__(self, wire: bytes) -> None:
        self.wire = wire

    def message(self) -> Any:
        """The AttrValue message."""
        from headrace.formats.proto.op_pb2 import AttrValue

        return AttrValue.FromString(self.wire)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RawAttr) and other.wire == self.wire

    def __hash__(self) -> int:
        return hash(self.wire)


def plain_or_raw(value: Any) -> Any:
    """Returns a plain value unchanged, and an AttrValue message as a RawAttr."""
    return RawAttr(value.SerializeToString()) if hasattr(value, "WhichOneof") else value


class AttrSet:
    """The immutable attributes of a node; nodes of one op with equal attributes share an AttrSet.

    Attributes:
      values: plain values by name, including the defaults of a known op.
      out_types: DType of each output.
      shapes: cache of output shapes by input shapes, if nothing else determines them.
    """

    __slots__ = (
        "_wire",
        "checked_inputs",
        "n_outputs",
        "op_type",
        "out_types",
        "shapes",
        "signature",
        "values",
    )

    def __init__(
        self,
        op_type: str,
        signature: Signature | None,
        values: dict[str, Any],
        out_types: tuple[DType, ...],
    ) -> None:
        self.op_type = op_type
        self.signature = signature
        self.values = values
        self.out_types = out_types
        self.n_outputs = len(out_types)
        self.shapes: dict[Any, tuple[Shape, ...]] = {}
        self.checked_inputs: tuple[int, ...] | None = (
            None  # input dtypes that the import has checked
        )
        self._wire: bytes | None = None

    def replaced(self, **changes: Any) -> AttrSet:
        """Returns an unshared copy with some values changed or added."""
        return AttrSet(self.op_type, self.signature, {**self.values, **changes}, self.out_types)

    def wire(self) -> bytes:
        """Returns the serialized op and attr fields of the NodeDef, sorted by name."""
        if self._wire is None:
            parts = []
            for name in sorted(self.values):
                key = name.encode()
                value = encode_attr(self.kind(name), self.values[name])
                entry = b"\n" + varint(len(key)) + key + b"\x12" + varint(len(value)) + value
                parts.append(b"*" + varint(len(entry)) + entry)
            self._wire = b"".join(parts)
        return self._wire

    def kind(self, name: str) -> str:
        """Returns the kind of an attribute, from the signature or by its value."""
        if self.signature is not None:
            for attr in self.signature.attrs:
                if attr.name == name:
                    return attr.kind
        return kind_of(self.values[name])


def kind_of(value: Any) -> str:
    """Returns the kind of an undeclared attribute, by its plain value.

    Raises: TypeError for a value of no kind.
    """
    if isinstance(value, RawAttr):
        return "raw"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float"
    if isinstance(value, (str, bytes)):
        return "string"
    if isinstance(value, np.ndarray):
        return "tensor"
    if isinstance(value, TensorShape):
        return "shape"
    if isinstance(value, DType):
        return "type"
    if isinstance(value, (tuple, list)):
        return f"list({kind_of(value[0]) if value else 'string'})"
    raise TypeError(f"no attribute can hold {value!r}")


# ---- checking ------------------------------------------------------------------------------


def plain_value(op_type: str, attr: Attr, value: Any) -> Any:
    """Checks an attribute value and converts it to a plain value.

    Raises: TypeError for a value of another kind or a dtype that is not allowed; ValueError for a
      string that is not allowed, or a number or length below the minimum.
    """
    if isinstance(value, RawAttr):
        return value
    kind = attr.kind
    if kind.startswith("list("):
        if not isinstance(value, (list, tuple, np.ndarray, TensorShape)):
            raise TypeError(f"Expected list for attr {attr.name!r} of {op_type}, got {value!r}")
        plain: Any = tuple([_plain_scalar(op_type, attr.name, kind[5:-1], v) for v in value])
        if attr.minimum is not None and len(plain) < attr.minimum:
            raise ValueError(
                f"Attr {attr.name!r} of {op_type!r} Op passed list of length {len(plain)} "
                f"less than minimum {attr.minimum}."
            )
        checked = plain
    else:
        plain = _plain_scalar(op_type, attr.name, kind, value)
        if attr.minimum is not None and plain < attr.minimum:
            raise ValueError(
                f"Attr {attr.name!r} of {op_type!r} Op passed {plain} "
                f"less than minimum {attr.minimum}."
            )
        checked = (plain,)
    if attr.allowed:
        for v in checked:
            if v not in attr.allowed:
                raise _not_allowed(op_type, attr, v)
    return plain


def _not_allowed(op_type: str, attr: Attr, value: Any) -> Exception:
    if "type" in attr.kind:
        allowed = ", ".join([as_dtype(a).name for a in attr.allowed])
        return TypeError(
            f"Value passed for attr {attr.name!r} of {op_type} has DataType "
            f"{as_dtype(value).name} not in list of allowed values: {allowed}"
        )
    allowed = ", ".join([repr(a) for a in attr.allowed])
    return ValueError(
        f"Attr {attr.name!r} of {op_type!r} Op passed string {value!r} not in: {allowed}."
    )


def _plain_scalar(op_type: str, name: str, kind: str, value: Any) -> Any:
    try:
        return _PLAIN[kind](value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"Expected {kind} for argument {name!r} of {op_type}, not {value!r}: {error}"
        ) from None


def _plain_type(value: Any) -> int:
    return as_dtype(value).base_dtype.as_datatype_enum


def _plain_string(value: Any) -> str | bytes:
    if type(value) is str:
        return value
    if isinstance(value, (bytes, bytearray)):
        try:
            return bytes(value).decode()
        except UnicodeDecodeError:
            return bytes(value)
    if isinstance(value, str):
        return str(value)
    raise TypeError("give a string")


def _plain_int(value: Any) -> int:
    if isinstance(value, DType):
        raise TypeError("give an integer")
    if isinstance(value, float):
        return int(value)  # as TensorFlow does: 4.0 / 2 is a size, too
    from headrace.graph.framework.tensor_shape import Dimension

    if isinstance(value, Dimension):
        if value.value is None:
            raise TypeError("the dimension is unknown")
        return value.value
    return int(value.__index__() if hasattr(value, "__index__") else value)


def _plain_float(value: Any) -> float:
    if isinstance(value, (str, bytes)):
        raise TypeError("give a number")
    return float(value)


def _plain_bool(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise TypeError("give True or False")


def _plain_tensor(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "tensor_shape"):  # TensorProto
        if value.dtype in (20, 21):  # resource and variant: arrays cannot hold them
            return RawAttr(b"B" + varint(value.ByteSize()) + value.SerializeToString())
        from headrace.formats.tensor_codec import make_ndarray

        return make_ndarray(value)
    return np.asarray(value)


def _plain_func(value: Any) -> RawAttr:
    if isinstance(value, str):
        name = value.encode()
        body = b"\n" + varint(len(name)) + name
    elif hasattr(value, "SerializeToString"):  # NameAttrList
        body = value.SerializeToString()
    else:
        raise TypeError("give a function's name or a NameAttrList")
    return RawAttr(b"R" + varint(len(body)) + body)


_PLAIN = {
    "type": _plain_type,
    "int": _plain_int,
    "float": _plain_float,
    "bool": _plain_bool,
    "string": _plain_string,
    "shape": as_dims,
    "tensor": _plain_tensor,
    "func": _plain_func,
}


# ---- writing -------------------------------------------------------------------------------


def _field(tag: bytes, body: bytes) -> bytes:
    return tag + varint(len(body)) + body


def encode_attr(kind: str, value: Any) -> bytes:
    """Serializes a plain value as an AttrValue message. Raises: ValueError for an unknown kind."""
    if isinstance(value, RawAttr):
        return value.wire
    if kind.startswith("list("):
        return _field(b"\n", _encode_list(kind[5:-1], value))
    if kind == "string":
        return _field(b"\x12", _as_bytes(value))
    if kind == "int":
        return b"\x18" + varint(value)
    if kind == "float":
        return b"%" + struct.pack("<f", _in_float32(value))
    if kind == "bool":
        return b"(\x01" if value else b"(\x00"
    if kind == "type":
        return b"0" + varint(int(value))
    if kind == "shape":
        return _field(b":", encode_shape(value))
    if kind == "tensor":
        return _field(b"B", encode_tensor(value))
    raise TypeError(f"no AttrValue holds a {kind}")


def _encode_list(kind: str, values: Any) -> bytes:
    if kind == "string":
        return b"".join([_field(b"\x12", _as_bytes(v)) for v in values])
    if kind == "shape":
        return b"".join([_field(b":", encode_shape(v)) for v in values])
    if kind == "tensor":
        return b"".join([_field(b"B", encode_tensor(v)) for v in values])
    if (
        kind == "func"
    ):  # each item is an AttrValue with the field func; in ListValue its number is 9
        return b"".join([b"J" + v.wire[1:] for v in values])
    if not values:
        return b""
    if kind == "int":
        return _field(b"\x1a", b"".join([varint(v) for v in values]))
    if kind == "float":
        return _field(b'"', b"".join([struct.pack("<f", _in_float32(v)) for v in values]))
    if kind == "bool":
        return _field(b"*", b"".join([b"\x01" if v else b"\x00" for v in values]))
    if kind == "type":
        return _field(b"2", b"".join([varint(int(v)) for v in values]))
    raise TypeError(f"no AttrValue holds a list of {kind}")


def _in_float32(value: float) -> float:
    try:
        struct.pack("<f", value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return value


def _as_bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def encode_shape(value: Any) -> bytes:
    """Serializes a shape as a TensorShapeProto message."""
    dims = value if type(value) is tuple else as_dims(value)
    if dims is None:
        return b"\x18\x01"
    parts = []
    for d in dims:
        size = b"\x08" + varint(-1 if d is None else d)
        parts.append(b"\x12" + varint(len(size)) + size)
    return b"".join(parts)


def encode_tensor(array: Any) -> bytes:
    """Serializes an array as a TensorProto message."""
    array = np.asarray(array)
    dtype = as_dtype(array.dtype)
    head = b"\x08" + varint(dtype.as_datatype_enum) + _field(b"\x12", encode_shape(array.shape))
    if dtype.as_datatype_enum == 7:
        parts = [v.encode() if isinstance(v, str) else bytes(v) for v in array.ravel()]
        return head + b"".join([_field(b"B", part) for part in parts])
    if dtype.name.endswith("int4") or dtype.name.endswith("int2"):
        from headrace.formats.tensor_codec import make_tensor_proto

        return make_tensor_proto(array).SerializeToString()
    if array.size == 1:  # in the list of its dtype, where programs look for it
        listed = _one_element(array, dtype.as_datatype_enum)
        if listed is not None:
            return head + listed
    return head + _field(b'"', array.tobytes())


# DataType number -> tag of the TensorProto's list, whose packed elements are the array's bytes
_RAW_LISTS = {1: b"*", 2: b"2", 8: b"J", 10: b"Z", 18: b"b"}
# ... whose elements are varints
_VARINT_LISTS = {
    **dict.fromkeys((3, 4, 5, 6, 17), b":"), 9: b"R", 19: b"j", 22: b"\x82\x01", 23: b"\x8a\x01",
}  # fmt: skip


def _one_element(array: np.ndarray, number: int) -> bytes | None:
    tag = _RAW_LISTS.get(number)
    if tag is not None:
        return _field(tag, array.tobytes())
    tag = _VARINT_LISTS.get(number)
    if tag is None:
        return None
    if number == 19:
        array = array.view(np.uint16)
    return _field(tag, varint(int(array.reshape(()))))


# ---- reading -------------------------------------------------------------------------------


def plain_from_message(op_type: str, attr: Attr | None, message: Any) -> Any:
    """Converts an AttrValue message to a plain value; an undeclared one becomes a RawAttr.

    Raises: TypeError or ValueError if the message does not have the declared kind of value.
    """
    if attr is None:
        return RawAttr(message.SerializeToString())
    kind = attr.kind
    held = message.WhichOneof("value")
    if kind.startswith("list("):
        if held != "list":
            raise TypeError(f"attr {attr.name!r} of {op_type} holds {held}, not a {kind}")
        name = _FIELD[kind[5:-1]]
        values = getattr(message.list, name)
        if kind == "list(func)":
            return tuple([_plain_func(v) for v in values])
        return plain_value(op_type, attr, list(values))
    if held != _FIELD[kind]:
        raise TypeError(f"attr {attr.name!r} of {op_type} holds {held}, not a {kind}")
    value = getattr(message, held)
    if kind == "type" and value > 100:
        value -= 100
    return plain_value(op_type, attr, value)


_FIELD = {
    "type": "type",
    "int": "i",
    "float": "f",
    "bool": "b",
    "string": "s",
    "shape": "shape",
    "tensor": "tensor",
    "func": "func",
}


def public_value(kind: str, value: Any) -> Any:
    """Converts a plain value to the result of `Operation.get_attr`: DType, TensorShape, bytes, …"""
    if isinstance(value, RawAttr):
        return public_from_message(value.message())
    if kind.startswith("list("):
        return [public_value(kind[5:-1], v) for v in value]
    if kind == "type":
        return as_dtype(value)
    if kind == "shape":
        return TensorShape(value)
    if kind == "string":
        return _as_bytes(value)
    if kind == "tensor":
        from headrace.formats.proto.tensor_pb2 import TensorProto

        return TensorProto.FromString(encode_tensor(value))
    return value


def public_from_message(message: Any) -> Any:
    """Converts an AttrValue message to the result of `Operation.get_attr`.

    Raises: ValueError for an empty message.
    """
    held = message.WhichOneof("value")
    if held is None:
        return None
    value = getattr(message, held)
    if held == "type":
        return as_dtype(value)
    if held == "shape":
        return TensorShape(value)
    if held == "list":
        for name in ("s", "i", "f", "b", "type", "shape", "tensor", "func"):
            items = getattr(value, name)
            if len(items):
                if name == "type":
                    return [as_dtype(v) for v in items]
                if name == "shape":
                    return [TensorShape(v) for v in items]
                return list(items)
        return []
    return value


def type_name(number: int) -> str:
    """Returns the name of a DataType number in the catalogue."""
    return TYPE_NAMES.get(number % 100, str(number)) + ("_ref" if number > 100 else "")

"""Converts Signatures to OpDef messages and back."""

from __future__ import annotations

from headrace.formats.op_signature import (
    NO_DEFAULT,
    Arg,
    Attr,
    Signature,
    Vector,
)

# Importing typing takes longer than the rest of this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from headrace.formats.proto.op_pb2 import OpDef


def to_op_def(signature: Signature) -> OpDef:
    """Converts a signature to an OpDef message (without descriptions)."""
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
    """Converts the OpDef message of a custom op to a signature without a shape rule."""
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
    return tuple(getattr(message.list, _LIST_FIELDS[kind])) if kind in _LIST_FIELDS else ()


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
    """Returns the shortest decimal that rounds to this float32: 0.2, not 0.20000000298."""
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

"""The attributes of functions and of nodes that call them, as Defun takes them."""

from __future__ import annotations

from typing import Any


def call_attributes(func_name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Returns AttrValue messages for the options of Defun or of a call.

    Args:
      func_name: name of the function.
      options: noinline, compiled, separate_compiled_gradients, _implements, _reference, and names
        that begin with experimental_.
    Raises: ValueError for another name or a value of another type.
    """
    from headrace.formats.proto.op_pb2 import AttrValue

    # As in TensorFlow, the results of such a call have unknown shapes.
    attrs = {"_disable_call_shape_inference": AttrValue(b=True)}
    rest = dict(options)
    noinline = rest.pop("noinline", None)
    if noinline is not None:
        attrs["_noinline"] = AttrValue(b=bool(noinline))
    compiled = rest.pop("compiled", None)
    separate = rest.pop("separate_compiled_gradients", None)
    if compiled is not None:
        attrs["_XlaCompile"] = AttrValue(b=bool(compiled))
        attrs["_XlaSeparateCompiledGradients"] = AttrValue(b=bool(separate))
        attrs["_XlaScope"] = AttrValue(s=f"function_{func_name}".encode())
    for key in list(rest):
        if key.startswith("experimental_"):
            attrs[key] = _attr(key, rest.pop(key), (bool, int, float, str))
        elif key in ("_implements", "_reference"):
            attrs[key] = _attr(key, rest.pop(key), (str,))
    if rest:
        raise ValueError(f"Unknown keyword arguments: {', '.join(sorted(rest))}.")
    return attrs


def _attr(name: str, value: Any, kinds: tuple[type, ...]) -> Any:
    from headrace.formats.proto.op_pb2 import AttrValue

    if not isinstance(value, kinds):
        allowed = " or ".join([kind.__name__ for kind in kinds])
        raise ValueError(f"Attribute {name} must be {allowed}. Got {type(value)}.")
    if isinstance(value, str):
        return AttrValue(s=value.encode())
    fields: dict[str, Any] = {{bool: "b", int: "i", float: "f"}[type(value)]: value}
    return AttrValue(**fields)

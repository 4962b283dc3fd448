"""Runs one op by itself, its attributes completed from the catalogue: what tests compare with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import InvalidArgumentError
from headrace.formats.op_signature import NO_DEFAULT, Arg, Vector
from headrace.kernels.reference.library import library


def run(op: str, *inputs: Any, **attrs: Any) -> list[np.ndarray]:
    """The outputs of an op.

    Args:
      op: a name in the catalogue.
      inputs: one array for a plain input, a list of arrays for a list input.
      attrs: what the inputs and the defaults do not say; types as DataType numbers or anything
        that `as_dtype` knows, strings as str or bytes.
    """
    complete = complete_attrs(op, inputs, attrs)
    flat = [a for value in inputs for a in (value if isinstance(value, (list, tuple)) else [value])]
    outputs = library().create(op, complete)(*[np.asarray(a) for a in flat])
    return outputs if isinstance(outputs, list) else [outputs]


def complete_attrs(op: str, inputs: Sequence[Any], attrs: dict[str, Any]) -> dict[str, Any]:
    """All attributes of a node: those given, those that the inputs imply, the defaults.

    Raises: InvalidArgumentError for one that nothing says.
    """
    signature = op_catalogue.signature(op)
    defaults: dict[str, Any] = {}
    if len(inputs) != len(signature.inputs):
        raise InvalidArgumentError(
            None, None, f"{op} has {len(signature.inputs)} inputs, {len(inputs)} were given"
        )
    for arg, value in zip(signature.inputs, inputs, strict=True):
        defaults.update(_implied(arg, value))
    for attr in signature.attrs:
        if attr.name in attrs:
            defaults[attr.name] = as_given(attr.kind, attrs[attr.name])
        elif attr.name not in defaults:
            if attr.default is NO_DEFAULT:
                raise InvalidArgumentError(
                    None, None, f"{op}: attribute {attr.name!r} is missing and has no default"
                )
            defaults[attr.name] = as_given(attr.kind, attr.default)
    return defaults


def _implied(arg: Arg, value: Any) -> dict[str, Any]:
    if arg.type_list_attr:
        return {arg.type_list_attr: [_number(item) for item in value]}
    implied: dict[str, Any] = {}
    if arg.number_attr:
        implied[arg.number_attr] = len(value)
        value = value[0] if value else None
    if arg.type_attr and value is not None:
        implied[arg.type_attr] = _number(value)
    return implied


def _number(value: Any) -> int:
    return int(as_dtype(np.asarray(value).dtype))


def as_given(kind: str, value: Any) -> Any:
    """A value of an attribute as a kernel gets it: no str, no DType, no double."""
    if kind.startswith("list("):
        return [as_given(kind[5:-1], item) for item in value]
    if kind == "type":
        return int(as_dtype(value))
    if kind == "float":
        return float(np.float32(value))  # as a NodeDef keeps it
    if kind == "string" and isinstance(value, str):
        return value.encode()
    if isinstance(value, Vector):  # a tensor that the catalogue's line spells out
        return np.array(value.values, as_dtype(value.dtype).as_numpy_dtype)
    if kind == "shape" and value is not None:
        return tuple(value)
    return value

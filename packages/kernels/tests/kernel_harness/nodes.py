"""Nodes: inputs by argument, attributes inferred and as the driver reads them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.formats import dtypes, op_catalogue
from headrace.formats.op_signature import Vector
from kernel_harness.abi import REF, Attr, String
from kernel_harness.tensors import Variable, as_array, dtype_number, to_tensor


def split_inputs(signature: Any, inputs: Sequence[Any]) -> list[tuple[Any, list[Any]]]:
    if len(inputs) != len(signature.inputs):
        names = ", ".join(arg.name for arg in signature.inputs)
        raise TypeError(f"{signature.name} takes ({names}), {len(inputs)} given")
    return [
        (arg, list(value) if arg.is_list else [value])
        for arg, value in zip(signature.inputs, inputs, strict=True)
    ]


def _plain(value: Any, kind: str) -> Any:
    if kind == "type":
        return int(dtypes.as_dtype(value))
    if kind == "list(type)":
        return [int(dtypes.as_dtype(item)) for item in value]
    return value


def infer_attrs(signature: Any, arguments: Any, provided: dict[str, Any]) -> dict[str, Any]:
    attrs = {a.name: a.default for a in signature.attrs if a.default is not op_catalogue.NO_DEFAULT}
    explicit = {
        a.name: _plain(provided[a.name], a.kind) for a in signature.attrs if a.name in provided
    }
    unknown = set(provided) - {a.name for a in signature.attrs}
    if unknown:
        raise TypeError(f"{signature.name} has no attribute {sorted(unknown)}")
    attrs.update(explicit)
    for arg, values in arguments:
        types = [v.dtype if isinstance(v, Variable) else dtype_number(v) for v in values]
        if arg.number_attr:
            attrs[arg.number_attr] = len(values)
        if arg.type_list_attr:
            attrs[arg.type_list_attr] = types
        elif arg.type_attr and types and arg.type_attr not in explicit:
            attrs[arg.type_attr] = types[0]
    missing = [a.name for a in signature.attrs if a.name not in attrs]
    if missing:
        raise TypeError(f"{signature.name} needs {missing}")
    return attrs


def arg_types(arg: Any, attrs: dict[str, Any]) -> list[int]:
    if arg.type_list_attr:
        return list(attrs[arg.type_list_attr])
    dtype = arg.dtype or attrs[arg.type_attr]
    dtype += REF if arg.is_ref else 0
    return [dtype] * (attrs[arg.number_attr] if arg.number_attr else 1)


class Keeper(list):
    """Keeps ctypes memory alive; hands out addresses."""

    def array(self, ctype: Any, values: Sequence[Any]) -> int:
        memory = (ctype * max(1, len(values)))(*values)
        self.append(memory)
        return ctypes.addressof(memory)

    def text(self, value: Any) -> String:
        raw = value.encode() if isinstance(value, str) else bytes(value)
        memory = ctypes.create_string_buffer(raw, len(raw) + 1)
        self.append(memory)
        return String(ctypes.addressof(memory), len(raw), None)

    def tensor(self, value: Any) -> Any:
        tensor = to_tensor(as_array(value))
        self.append(tensor)
        return ctypes.pointer(tensor)


_SCALAR_KINDS = {"int": "i", "float": "f", "bool": "b", "type": "t", "string": "s",
                 "tensor": "T", "shape": "h", "func": "s"}  # fmt: skip
_LIST_KINDS = {"list(int)": "I", "list(bool)": "I", "list(float)": "F", "list(type)": "Y",
               "list(string)": "S", "list(shape)": "H"}  # fmt: skip


def _dims(shape: Any) -> tuple[int, list[int]]:
    if shape is None:
        return -1, []
    return len(shape), [-1 if size is None else int(size) for size in shape]


def make_attr(name: str, kind: str, value: Any, keep: Keeper) -> Attr:
    attr = Attr(key=name.encode())
    if kind in _SCALAR_KINDS:
        attr.kind = ord(_SCALAR_KINDS[kind])
        if kind in ("int", "bool", "type"):
            attr.integer = int(value)
        elif kind == "float":
            attr.real = float(value)
        elif kind in ("string", "func"):
            attr.text = keep.text(value)
        elif kind == "tensor":
            if isinstance(value, Vector):  # a default that the catalogue's line spells out
                value = np.array(value.values, dtypes.as_dtype(value.dtype).as_numpy_dtype)
            attr.tensor = keep.tensor(value)
        else:
            attr.rank, dims = _dims(value)
            attr.dims = keep.array(ctypes.c_int64, dims)
        return attr
    attr.kind = ord(_LIST_KINDS[kind])
    attr.n = len(value)
    if kind == "list(string)":
        attr.list = keep.array(String, [keep.text(item) for item in value])
    elif kind == "list(shape)":
        pairs = [_dims(item) for item in value]
        attr.ranks = keep.array(ctypes.c_int32, [rank for rank, _ in pairs])
        each = [keep.array(ctypes.c_int64, dims) for _, dims in pairs]
        attr.dims_list = keep.array(ctypes.c_void_p, each)
    else:
        ctype = {"F": ctypes.c_float, "Y": ctypes.c_int32}.get(chr(attr.kind), ctypes.c_int64)
        attr.list = keep.array(ctype, list(value))
    return attr

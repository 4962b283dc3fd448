"""The kernel registrations of the compiled library, read from its table."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from headrace.formats.dtypes import as_dtype


class _Registration(ctypes.Structure):
    _fields_ = [
        ("op", ctypes.c_char_p),
        ("device_type", ctypes.c_char_p),
        ("constraint", ctypes.c_char_p),
    ]  # and more fields: the table has the size of a registration


class _Table(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("abi", ctypes.c_uint32),
        ("library", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("kernel_size", ctypes.c_uint32),
        ("n_kernels", ctypes.c_int32),
        ("kernels", ctypes.c_void_p),
    ]


@lru_cache(maxsize=1)
def compiled_registrations() -> dict[str, list[dict[str, set[str]]]]:
    """The constraints of each op's registrations: attribute name to the values it may have."""
    from headrace.kernels.cpu import capsule

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    held = capsule()
    table = _Table.from_address(pointer(held, b"headrace.kernel_table.v1"))
    found: dict[str, list[dict[str, set[str]]]] = {}
    for number in range(table.n_kernels):
        registration = _Registration.from_address(table.kernels + number * table.kernel_size)
        constraint = _constraint(registration.constraint or b"")
        found.setdefault(registration.op.decode(), []).append(constraint)
    return found


def _constraint(text: bytes) -> dict[str, set[str]]:
    """{"T": {"float32", "float64"}} of b"T=float|double"; other values as they stand."""
    allowed = {}
    for part in text.decode().replace(",", ";").split(";"):
        if part.strip():
            name, values = part.split("=")
            allowed[name.strip()] = {_name(value) for value in values.split("|")}
    return allowed


def _name(value: str) -> str:
    try:
        return as_dtype(value.strip()).name
    except TypeError:
        return value.strip()


def is_claimed(op: str, attrs: Mapping[str, Any]) -> bool:
    """Whether some kernel takes a node with these (complete) attributes."""
    return any(_takes(constraint, attrs) for constraint in compiled_registrations().get(op, []))


def _takes(constraint: Mapping[str, set[str]], attrs: Mapping[str, Any]) -> bool:
    for name, allowed in constraint.items():
        value = attrs.get(name)
        if isinstance(value, bytes):
            text = value.decode()
        elif isinstance(value, bool) or value is None:
            text = str(value).lower()
        elif isinstance(value, int):
            text = as_dtype(value).name if value in range(1, 134) else str(value)
        else:
            continue
        if text not in allowed and str(value) not in allowed:
            return False
    return True

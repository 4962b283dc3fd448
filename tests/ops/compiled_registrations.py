"""The kernel registrations of the compiled library, read from its table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.formats.kernel_abi import read_table


@lru_cache(maxsize=1)
def compiled_registrations() -> dict[str, list[dict[str, set[str]]]]:
    """The constraints of each op's registrations: attribute name to the values it may have."""
    from headrace.kernels.cpu import capsule

    found: dict[str, list[dict[str, set[str]]]] = {}
    held = capsule()
    for kernel in read_table(held)[1]:
        found.setdefault(kernel.op.decode(), []).append(_constraint(kernel.constraint or b""))
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

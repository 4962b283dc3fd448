"""The registrations of the compiled kernel table."""

from __future__ import annotations

from typing import Any

from headrace.formats import dtypes, kernel_abi
from headrace.kernels.cpu import capsule as cpu
from kernel_harness.abi import KernelRegistration

_by_op: dict[str, list[KernelRegistration]] = {}


def registrations_of(op: str) -> list[KernelRegistration]:
    if not _by_op:
        _, kernels = kernel_abi.read_table(cpu())
        for registration in kernels:
            _by_op.setdefault(registration.op.decode(), []).append(registration)
    return _by_op.get(op, [])


def registrations() -> list[tuple[str, dict[str, set[int]]]]:
    """Every registration: its op, and the dtype numbers of each constrained attribute."""
    registrations_of("")
    return [(op, constraint_of(r)) for op, found in _by_op.items() for r in found]


def constraint_of(registration: KernelRegistration) -> dict[str, set[int]]:
    text = (registration.constraint or b"").decode()
    clauses = (clause.split("=") for clause in text.split(";") if clause)
    return {k: {int(dtypes.as_dtype(name)) for name in v.split("|")} for k, v in clauses}


def has_kernel(op: str, **types: Any) -> bool:
    """Whether some registration claims the op, with these type attributes."""
    expected = {key: int(dtypes.as_dtype(value)) for key, value in types.items()}
    return any(
        all(
            expected.get(key, 0) in allowed for key, allowed in constraint_of(r).items() if expected
        )
        for r in registrations_of(op)
    )


def matches(registration: KernelRegistration, attrs: dict[str, Any]) -> bool:
    for key, allowed in constraint_of(registration).items():
        value = attrs[key]
        if not all(v in allowed for v in (value if isinstance(value, list) else [value])):
            return False
    return True

"""The registrations of the compiled kernel table."""

from __future__ import annotations

import ctypes
from typing import Any

from headrace.formats import dtypes
from kernel_harness.abi import KernelRegistration, Table


def load_table(capsule: Any = None) -> Table:
    if capsule is None:
        from headrace.kernels.cpu import capsule as cpu

        capsule = cpu()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(capsule, b"headrace.kernel_table.v1"), ctypes.POINTER(Table)).contents
    if table.kernel_size != ctypes.sizeof(KernelRegistration):
        raise RuntimeError(
            f"registrations of {table.kernel_size} bytes, {ctypes.sizeof(KernelRegistration)} here"
        )
    return table


_table: Table | None = None
_by_op: dict[str, list[KernelRegistration]] = {}


def registrations_of(op: str) -> list[KernelRegistration]:
    global _table
    if _table is None:
        _table = load_table()
        for i in range(_table.n_kernels):
            registration = _table.kernels[i]
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
    wanted = {key: int(dtypes.as_dtype(value)) for key, value in types.items()}
    return any(
        all(wanted.get(key, 0) in allowed for key, allowed in constraint_of(r).items() if wanted)
        for r in registrations_of(op)
    )


def matches(registration: KernelRegistration, attrs: dict[str, Any]) -> bool:
    for key, allowed in constraint_of(registration).items():
        value = attrs[key]
        if not all(v in allowed for v in (value if isinstance(value, list) else [value])):
            return False
    return True

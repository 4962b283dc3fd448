"""The registrations of the compiled kernel tables, and the devices of one."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any

from headrace.formats import dtypes, kernel_abi
from headrace.kernels.cpu import capsule as cpu
from kernel_harness.abi import HrDevice, KernelRegistration

_by_op: dict[str, list[KernelRegistration]] = {}


@dataclasses.dataclass(frozen=True)
class Device:
    """A device of a library: kernels run there, on memory of its own."""

    address: int  # of its hr_device
    library: Library
    description: str


class Library:
    """A kernel library besides the CPU's, which has devices."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule
        self.table, kernels = kernel_abi.read_table(capsule)
        self.by_op: dict[str, list[KernelRegistration]] = {}
        for registration in kernels:
            self.by_op.setdefault(registration.op.decode(), []).append(registration)

    def devices(self) -> list[Device]:
        count = ctypes.c_int32()
        find = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int32))
        found = find(self.table.devices)(ctypes.byref(count))
        described = [HrDevice.from_address(found[i]) for i in range(count.value)]
        return [
            Device(found[i], self, described[i].description.decode()) for i in range(count.value)
        ]


def registrations_of(op: str, device: Device | None = None) -> list[KernelRegistration]:
    if device is not None:
        return device.library.by_op.get(op, [])
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

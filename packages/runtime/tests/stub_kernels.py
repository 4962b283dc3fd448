"""A kernel table whose kernels do nothing, for a device type of its own ("STUB").

Planning needs registrations, not arithmetic; the device type keeps them apart from installed
libraries.
"""

from __future__ import annotations

import ctypes
from typing import Any

from headrace.formats import kernel_abi

DEVICE = "/job:localhost/replica:0/task:0/device:STUB:0"
VIEW = kernel_abi.constants()["HR_KERNEL_VIEW"]
DATA_SHAPE = kernel_abi.constants()["HR_KERNEL_DATA_SHAPE"]

_Kernel: Any = kernel_abi.structure("hr_kernel")
_Table: Any = kernel_abi.structure("hr_kernel_table")
_kept: list[object] = []


@ctypes.CFUNCTYPE(ctypes.c_int32)
def _nothing() -> int:
    return 0


def registration(
    op: str,
    constraint: str | None = None,
    *,
    constant_inputs: int = 0,
    flags: int = 0,
    is_async: bool = False,
    device_type: str = "STUB",
) -> Any:
    """One kernel; an asynchronous one has compute_async and no compute."""
    function = ctypes.cast(_nothing, ctypes.c_void_p).value
    return _Kernel(
        op=op.encode(),
        device_type=device_type.encode(),
        constraint=constraint.encode() if constraint else None,
        flags=flags,
        constant_inputs=constant_inputs,
        compute=None if is_async else function,
        compute_async=function if is_async else None,
    )


def add(registrations: list[Any], *, abi: int = kernel_abi.constants()["HR_KERNEL_ABI"]) -> None:
    """Adds the registrations to the process's kernels."""
    from headrace.runtime.kernels import kernel_table

    kernels = (_Kernel * len(registrations))(*registrations)
    table = _Table(
        size=ctypes.sizeof(_Table),
        abi=abi,
        library=b"stub",
        version=b"0",
        kernel_size=ctypes.sizeof(_Kernel),
        n_kernels=len(registrations),
        kernels=ctypes.addressof(kernels),
    )
    _kept.extend([registrations, kernels, table])
    kernel_table.add_library(kernel_abi.make_capsule(table))


_added = False


def install() -> None:
    """Adds the registrations that tests of the planner use, once per process."""
    global _added
    if _added:
        return
    _added = True
    plain = [
        "Const", "NoOp", "Identity", "Add", "AddV2", "Mul", "Sub", "Neg", "VariableV2", "Assign",
        "AssignAdd", "VarHandleOp", "ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp",
        "RandomUniform", "Shape", "Cast", "Less", "LoopCond", "PlaceholderWithDefault",
        "FIFOQueueV2", "EnsureShape",
    ]  # fmt: skip
    add(
        [registration(op) for op in plain]
        + [
            registration("MatMul", "T=float|double"),
            registration("Reshape", constant_inputs=2, flags=VIEW),
            registration("Fill", constant_inputs=1),
            registration("Where", flags=DATA_SHAPE),
            registration("QueueDequeueV2", is_async=True),
            registration("QueueEnqueueV2", is_async=True),
        ]
        + [registration(op, device_type="STUB2") for op in ("Const", "Add", "Identity")]
    )

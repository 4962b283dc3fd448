"""A kernel table whose kernels do nothing, for a device type of its own ("STUB").

Planning needs rows, not arithmetic; a type of its own keeps them away from installed libraries.
"""

from __future__ import annotations

import ctypes

DEVICE = "/job:localhost/replica:0/task:0/device:STUB:0"
VIEW, DATA_SHAPE = 1, 2

_COMPUTE = ctypes.CFUNCTYPE(ctypes.c_int32)


class _Kernel(ctypes.Structure):
    _fields_ = [
        ("op", ctypes.c_char_p),
        ("device_type", ctypes.c_char_p),
        ("constraint", ctypes.c_char_p),
        ("priority", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
        ("constant_inputs", ctypes.c_uint64),
        ("reuse_inputs", ctypes.c_uint64),
        ("create", ctypes.c_void_p),
        ("prepare", ctypes.c_void_p),
        ("compute", ctypes.c_void_p),
        ("compute_async", ctypes.c_void_p),
        ("destroy", ctypes.c_void_p),
    ]


class _Table(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("abi", ctypes.c_uint32),
        ("library", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("kernel_size", ctypes.c_uint32),
        ("n_kernels", ctypes.c_int32),
        ("kernels", ctypes.POINTER(_Kernel)),
    ]


_kept: list[object] = []


@_COMPUTE
def _nothing() -> int:
    return 0


def row(
    op: str,
    constraint: str | None = None,
    *,
    constant_inputs: int = 0,
    flags: int = 0,
    is_async: bool = False,
    device_type: str = "STUB",
) -> _Kernel:
    """One row; an asynchronous one has compute_async and no compute."""
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


def add(rows: list[_Kernel], *, abi: int = 2) -> None:
    """Adds the rows to the process's kernels."""
    from headrace.runtime.kernels import kernel_table

    kernels = (_Kernel * len(rows))(*rows)
    table = _Table(
        ctypes.sizeof(_Table), abi, b"stub", b"0", ctypes.sizeof(_Kernel), len(rows), kernels
    )
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    name = b"headrace.kernel_table.v1"
    _kept.extend([rows, kernels, table, name])
    kernel_table.add_library(new(ctypes.addressof(table), name, None))


_added = False


def install() -> None:
    """Adds the rows that the planner's tests use, once per process."""
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
        [row(op) for op in plain]
        + [
            row("MatMul", "T=float|double"),
            row("Reshape", constant_inputs=2, flags=VIEW),
            row("Fill", constant_inputs=1),
            row("Where", flags=DATA_SHAPE),
            row("QueueDequeueV2", is_async=True),
            row("QueueEnqueueV2", is_async=True),
        ]
        + [row(op, device_type="STUB2") for op in ("Const", "Add", "Identity")]
    )

"""A device of type LATENCY: computes what the CPU computes, each kernel some time after its start.

Its kernels are asynchronous, on a thread of the device, as those of an accelerator are.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.formats import kernel_abi
from headrace.formats.services import KERNELS, find_service
from headrace.runtime.kernels import kernel_table
from headrace.runtime.kernels.kernel_libraries import load_kernels

TYPE = "LATENCY"
_VIEW = kernel_abi.constants()["HR_KERNEL_VIEW"]
_Kernel: Any = kernel_abi.structure("hr_kernel")
_Table: Any = kernel_abi.structure("hr_kernel_table")
_Create = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
_kept: list[object] = []  # what the kernels point to, for as long as the process lives
_installed: list[LatencyDevice] = []


class LatencyDevice:
    """The device, of which a process has one."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.count_launches.restype = ctypes.c_int64

    @property
    def launches(self) -> int:
        """Kernels that have run on it."""
        return int(self._library.count_launches())

    def set_latency_us(self, latency_us: int) -> None:
        """Sets the time from the start of a kernel until it runs."""
        self._library.set_latency_ns(ctypes.c_int64(latency_us * 1000))


def latency_device(folder: Path) -> LatencyDevice:
    """Returns the device, whose kernels are added to those of the process by the first call.

    Args:
      folder: for the compiled library.
    """
    if not _installed:
        built = folder / "latency_device.so"
        source = Path(__file__).parent / "latency_device.c"
        include = Path(kernel_abi.__file__).parent / "include"
        command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-pthread"]
        subprocess.run([*command, f"-I{include}", "-o", built, source], check=True)
        library = ctypes.CDLL(str(built))
        load_kernels()
        _add(list(_kernels(library)))
        _installed.append(LatencyDevice(library))
    return _installed[0]


def _cpu_kernels() -> Iterator[Any]:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = find_service(KERNELS, "cpu")()
    _kept.append(capsule)
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    table = _Table.from_address(pointer(capsule, name(capsule)))
    assert table.kernel_size == ctypes.sizeof(_Kernel)
    for i in range(table.n_kernels):
        yield _Kernel.from_address(table.kernels + i * table.kernel_size)


def _kernels(library: ctypes.CDLL) -> Iterator[Any]:
    def address(name: str) -> int | None:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value

    library.create_state.argtypes = [ctypes.c_void_p] * 3
    for kernel in _cpu_kernels():
        made = _Kernel.from_buffer_copy(kernel)
        made.device_type = TYPE.encode()
        made.reuse_inputs = 0
        if not made.flags & _VIEW:
            if not made.compute and made.compute_async:
                continue
            create = _creator(library, ctypes.addressof(kernel))
            _kept.append(create)
            made.create = ctypes.cast(create, ctypes.c_void_p).value
            made.prepare = address("prepare")
            made.compute = None
            made.compute_async = address("compute_async")
            made.destroy = address("destroy_state")
        yield made


def _creator(library: ctypes.CDLL, kernel: int) -> Any:
    return _Create(lambda node, state: library.create_state(kernel, node, state))


def _add(kernels: list[Any]) -> None:
    rows = (_Kernel * len(kernels))(*kernels)
    table = _Table(
        size=ctypes.sizeof(_Table),
        abi=kernel_abi.constants()["HR_KERNEL_ABI"],
        library=b"latency",
        version=b"0",
        kernel_size=ctypes.sizeof(_Kernel),
        n_kernels=len(rows),
        kernels=ctypes.addressof(rows),
    )
    _kept.extend([kernels, rows, table])
    kernel_table.add_library(kernel_abi.make_capsule(table))

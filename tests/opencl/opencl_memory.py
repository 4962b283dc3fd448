"""The memory of the first OpenCL device of this process."""

from __future__ import annotations

import ctypes
from typing import Any

from headrace.formats import kernel_abi
from headrace.kernels import opencl


def memory() -> Any:
    """Returns an hr_device_memory: in_use, live, peak, ..."""
    table, _ = kernel_abi.read_table(opencl.capsule())
    listed = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int32))(
        table.devices
    )
    address = listed(ctypes.byref(ctypes.c_int32()))[0]
    device = kernel_abi.structure("hr_device").from_address(address)
    found: Any = kernel_abi.structure("hr_device_memory")()
    ask = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(device.memory)
    ask(address, ctypes.addressof(found))
    return found

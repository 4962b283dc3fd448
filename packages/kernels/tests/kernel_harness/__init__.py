"""Calls kernels of the compiled table alone; harness.py says how."""

from kernel_harness.abi import live_buffers
from kernel_harness.harness import PreparedKernel, run_kernel
from kernel_harness.table import Device, Library, has_kernel, registrations
from kernel_harness.tensors import Variable

__all__ = [
    "Device",
    "Library",
    "PreparedKernel",
    "Variable",
    "has_kernel",
    "live_buffers",
    "registrations",
    "run_kernel",
]

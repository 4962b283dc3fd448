"""The kernel library of OpenCL devices: GPUs of any vendor, and CPUs for which it is asked.

`HEADRACE_OPENCL_DEVICES` selects devices; `python -m headrace.kernels.opencl` lists them. Without
OpenCL, the library offers no devices.
"""

from headrace.kernels.opencl._table import builds_from_source, cache_folder, capsule
from headrace.kernels.opencl.loading import configure

__all__ = ["builds_from_source", "cache_folder", "capsule"]

configure()

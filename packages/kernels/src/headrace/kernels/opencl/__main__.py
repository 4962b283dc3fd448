"""Lists the OpenCL devices of this machine, and whether they work.

python -m headrace.kernels.opencl
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from headrace.kernels.opencl import _table

NO_DEVICES = """\
No OpenCL devices: install the driver of a GPU, which puts an .icd file into /etc/OpenCL/vendors, or
pocl-opencl-icd for the CPU."""
NO_CHOICE = """\
HEADRACE_OPENCL_DEVICES is not set: GPUs are used. Set it to numbers, to parts of names or versions,
to 'all' or to 'none'."""


def describe(device: Mapping[str, Any]) -> str:
    state = "works" if device["works"] else f"does not work: {device['problem']}"
    use = "used" if device["selected"] and device["works"] else "not used"
    size = device["memory_bytes"] / 2**30
    return (
        f"{device['index']}: {device['name']} ({device['type']}, {size:.1f} GiB)\n"
        f"   platform {device['platform']}, {device['platform_version']}\n"
        f"   driver {device['driver']}\n"
        f"   {state}; {use}"
    )


def main() -> None:
    devices, problems = _table.examine()
    for device in devices:
        print(describe(device))
    for problem in problems:
        print(f"problem: {problem}")
    if not devices:
        print(NO_DEVICES)
    choice = os.environ.get("HEADRACE_OPENCL_DEVICES", "")
    print(f"HEADRACE_OPENCL_DEVICES is '{choice}'." if choice else NO_CHOICE)


if __name__ == "__main__":
    main()

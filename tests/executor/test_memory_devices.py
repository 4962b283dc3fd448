"""Sessions over the CPU and devices with memory of their own: memory_device_cases.py.

Modules: memory/device_memory, memory/device_copies, memory/device_steps, kernels/device_list,
kernels/copy_kernels, passes/memory_copies, executor/device_work, executor/executor,
executor/executor_segments.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import child_process

CASES = Path(__file__).parent / "memory_device_cases.py"
HANGS_S = 900.0


def test_programs_over_the_cpu_and_devices_with_memory_of_their_own() -> None:
    """In a process of its own: the sessions of a process that has devices use them."""
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        [*command, "-p", "no:xdist", str(CASES)],
        env={**os.environ, "HEADRACE_FAKE_DEVICE": "1", "HEADRACE_FAKE_LATENCY_US": "20"},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_devices_of_one_type_are_of_one_library(tmp_path: Path) -> None:
    """A kernel of one library cannot run on the devices of another, though both say GPU."""
    program = f"""
from pathlib import Path
import fake_device as fake
from headrace.runtime.kernels import kernel_table
from headrace.runtime.kernels.kernel_libraries import load_kernels

load_kernels()  # a library with kernels for GPUs may be among them: it finds no device
libraries = []
for name in ("first", "second"):
    folder = Path({str(tmp_path)!r}) / name
    folder.mkdir()
    libraries.append(fake.build_library(folder))
devices = [fake.make_devices(library, count, 1 << 28)
           for library, count in zip(libraries, (1, 2))]
for library in libraries:
    kernel_table.add_library(fake.make_table(library))

with hr.Session() as session:
    print([device.name.rpartition("/")[2] for device in session.list_devices()])
    x = hr.placeholder(hr.float32, [4])
    print(session.run(hr.negative(hr.negative(x)) * 2, {{x: [1, 2, 3, 4]}}).tolist())
print(devices[0][0].counts.launches > 0, devices[1][0].counts.launches)
"""
    ended = child_process.output(program, HEADRACE_OPENCL_DEVICES="none")
    assert ended.splitlines() == [
        "['device:CPU:0', 'device:GPU:0']",
        "[2.0, 4.0, 6.0, 8.0]",
        "True 0",
    ]

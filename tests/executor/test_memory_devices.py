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

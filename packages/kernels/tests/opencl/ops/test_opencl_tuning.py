"""The tuner: what it measures is kept for later processes, and can be turned off."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from kernel_device import first_device

HERE = Path(__file__).parent

# Multiplies matrices, and prints how many programs were built.
PROGRAM = """
import sys
sys.path[:0] = [{here!r}, {tests!r}]
import numpy as np
from kernel_device import assert_near, first_device
from kernel_harness import run_kernel
from headrace.kernels import opencl

rng = np.random.default_rng(0)
a, b = (rng.standard_normal((150, 150)).astype(np.float32) for _ in range(2))
assert_near(run_kernel("MatMul", a, b, device=first_device()), a.astype("d") @ b)
print("built", opencl.builds_from_source())
"""


def builds(cache: str, **variables: str) -> int:
    """Runs the program in a process. Returns: how many OpenCL programs it built."""
    program = PROGRAM.format(here=str(HERE), tests=str(HERE.parents[1]))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "HEADRACE_CACHE_DIR": cache, **variables},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split("built ")[1])


@pytest.fixture
def cache() -> str:
    first_device()
    return tempfile.mkdtemp(prefix="headrace_tuning_")


def test_variants_are_measured_once(cache: str) -> None:
    assert builds(cache, HEADRACE_OPENCL_TUNING="on") >= 3  # the probe, and variants
    assert builds(cache, HEADRACE_OPENCL_TUNING="on") == 0
    assert builds(cache, HEADRACE_OPENCL_TUNING="kept") == 0


@pytest.mark.parametrize(
    "variables",
    [
        {"HEADRACE_OPENCL_TUNING": "off"},
        {"HEADRACE_OPENCL_TUNING": "kept"},
        {"HEADRACE_OPENCL_TUNING": "on", "HEADRACE_OPENCL_DETERMINISTIC": "1"},
    ],
    ids=str,
)
def test_nothing_is_measured_unless_asked_for(cache: str, variables: dict[str, str]) -> None:
    files = set(Path(cache).rglob("*"))
    built = builds(cache, **variables)
    assert built <= 2  # the probe, and the product
    kept = [p for p in set(Path(cache).rglob("*")) - files if p.is_file()]
    assert len(kept) == built

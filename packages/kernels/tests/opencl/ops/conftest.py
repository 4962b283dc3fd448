"""The device on which these tests run kernels: the first one, through the kernel harness."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from kernel_harness import Device, Library  # noqa: E402

from headrace.kernels import opencl  # noqa: E402


@pytest.fixture(scope="session")
def device() -> Device:
    """The first OpenCL device; the test is skipped where there is none."""
    found = Library(opencl.capsule()).devices()
    if not found:
        pytest.skip("no OpenCL device works here: install pocl-opencl-icd")
    return found[0]

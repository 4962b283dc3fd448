"""Runs kernels of the OpenCL library on the first device, a CPU's unless there is a GPU."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("HEADRACE_OPENCL_DEVICES", "all")

from kernel_harness import Device, Library  # noqa: E402


@pytest.fixture(scope="session")
def device() -> Device:
    from headrace.kernels import opencl

    found = Library(opencl.capsule()).devices()
    if not found:
        pytest.skip("no OpenCL device works here")
    return found[0]

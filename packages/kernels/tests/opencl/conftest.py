"""Selects all OpenCL devices, and keeps compiled programs out of the user's cache."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

os.environ.setdefault("HEADRACE_OPENCL_DEVICES", "all")
# Each worker of pytest has a core: PoCL's threads would take those of other tests.
os.environ.setdefault("POCL_MAX_PTHREAD_COUNT", "1")
_cache = tempfile.TemporaryDirectory(prefix="headrace_opencl_cache_")
# tox keeps the compiled programs for its next run.
os.environ["HEADRACE_CACHE_DIR"] = os.environ.get("HEADRACE_TEST_OPENCL_CACHE") or _cache.name

from opencl_device import Device, devices_of  # noqa: E402

from headrace.kernels import opencl  # noqa: E402


@pytest.fixture(scope="session")
def device() -> Iterator[Device]:
    """The first OpenCL device; the test is skipped where there is none."""
    found = devices_of(opencl.capsule())
    if not found:
        pytest.skip("no OpenCL device works here: install pocl-opencl-icd")
    yield found[0]

"""Runs code in child processes that have OpenCL devices, or skips the test."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from opencl_children import Run, run_child  # noqa: E402

NO_DEVICE = "no OpenCL device works here: install pocl-opencl-icd"


@lru_cache(maxsize=1)
def _has_device(cache: str) -> bool:
    code = 'with hr.Session() as s: print(any(d.device_type == "GPU" for d in s.list_devices()))'
    return run_child(code, cache)[0].strip() == "True"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The folder of compiled programs: of all tests of this run, also in other pytest processes."""
    given = os.environ.get("HEADRACE_TEST_OPENCL_CACHE")
    if given:
        yield given
    elif "PYTEST_XDIST_WORKER" in os.environ:
        yield str(tmp_path_factory.getbasetemp().parent / "opencl_cache")
    else:
        with tempfile.TemporaryDirectory(prefix="headrace_opencl_") as folder:
            yield folder


@pytest.fixture
def run(cache: str) -> Run:
    """Runs code in a child process with OpenCL devices. Returns what it printed."""
    if not _has_device(cache):
        pytest.skip(NO_DEVICE)

    def run(script: str, **variables: str | None) -> str:
        return run_child(script, cache, **variables)[0]

    return run

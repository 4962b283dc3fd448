"""A child process for each test: devices are found once a process, and options are for all of it.

Children share one cache of compiled programs, because PoCL takes seconds for one when nothing is cached.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PRELUDE = """
import numpy as np
import headrace.graph as hr
"""
NO_DEVICE = "no OpenCL device works here: install pocl-opencl-icd"

Run = Callable[..., str]


def environment(cache: str | Path, **variables: str | None) -> dict[str, str]:
    """Returns the variables of a child process; None removes one."""
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    changed = {
        "HEADRACE_OPENCL_DEVICES": "all",
        "HEADRACE_CACHE_DIR": str(cache),
        "PYTHONPATH": path,
        **variables,
    }
    merged = {**os.environ, **{k: v for k, v in changed.items() if v is not None}}
    return {k: v for k, v in merged.items() if changed.get(k, v) is not None}


def run_child(script: str, cache: str | Path, **variables: str | None) -> tuple[str, str]:
    """Runs Python code, which must succeed. Returns what it printed, and its standard error."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script)],
        env=environment(cache, **variables),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


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

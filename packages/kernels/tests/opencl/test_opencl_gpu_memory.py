"""The same tests with memory as on a GPU: the host reaches it by copies alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from processes import environment

HERE = Path(__file__).parent


@pytest.mark.opencl
@pytest.mark.usefixtures("device")
def test_memory_of_its_own_passes_the_tests_of_memory_of_the_host() -> None:
    subjects = ["memory", "copies", "launch", "profile"]
    files = [str(HERE / f"test_opencl_{subject}.py") for subject in subjects]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    done = subprocess.run(
        command,
        # Two threads, for a kernel beside a copy.
        env=environment(HEADRACE_OPENCL_TEMPLATES="gpu", POCL_MAX_PTHREAD_COUNT="2"),
        capture_output=True,
        text=True,
        cwd=HERE,
    )
    assert done.returncode == 0, done.stdout
    assert " skipped" not in done.stdout

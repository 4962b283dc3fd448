"""Python processes that look for OpenCL devices, with an environment of their own."""

from __future__ import annotations

import ctypes.util
import os
import subprocess
import sys
import sysconfig
import tempfile
from functools import lru_cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def environment(**variables: str | None) -> dict[str, str]:
    """Returns this process's variables with changes; None removes one."""
    changed = {"HEADRACE_OPENCL_DEVICES": "all", "PYTHONPATH": str(HERE), **variables}
    merged = {**os.environ, **{k: v for k, v in changed.items() if v is not None}}
    return {k: v for k, v in merged.items() if changed.get(k, v) is not None}


def run(code: str, **variables: str | None) -> subprocess.CompletedProcess[str]:
    """Runs Python code, which must succeed."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done


def start(code: str, **variables: str | None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@lru_cache(maxsize=1)
def shim() -> str:
    """The path of shim.c as a library, which finds what it lacks in the system's OpenCL."""
    if ctypes.util.find_library("OpenCL") is None:
        pytest.skip("the system has no OpenCL loader")
    folder = Path(tempfile.mkdtemp(prefix="headrace_opencl_shim_"))
    target = folder / "libshim.so"
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()
    command = [*compiler, "-shared", "-fPIC", "-O1", "-Wl,--no-as-needed", str(HERE / "shim.c")]
    subprocess.run([*command, "-l:libOpenCL.so.1", "-ldl", "-o", str(target)], check=True)
    return str(target)

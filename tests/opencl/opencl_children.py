"""Python processes with an environment of their own, because devices are found once a process.

They share one cache of compiled programs: PoCL takes seconds for one when nothing is cached.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

# Runs code with OpenCL devices, and returns what it printed: the fixture `run`.
Run = Callable[..., str]

HERE = Path(__file__).parent
PRELUDE = """
import numpy as np
import headrace.graph as hr
"""


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

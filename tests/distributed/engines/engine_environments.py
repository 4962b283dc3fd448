"""What headrace-launch needs around it for each engine: programs, daemons, variables."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from slurm_daemons import missing_programs, slurm

HAS_MPI = bool(shutil.which("mpiexec")) or Path(sys.executable).with_name("mpiexec").exists()
HAS_RAY = importlib.util.find_spec("ray") is not None
HAS_SLURM = not missing_programs() and os.geteuid() == 0

NEEDS_MPI = pytest.mark.skipif(not HAS_MPI, reason="no mpiexec: pip install mpich")
NEEDS_RAY = pytest.mark.skipif(not HAS_RAY, reason="no Ray: pip install ray")
NEEDS_SLURM = pytest.mark.skipif(
    not HAS_SLURM, reason="no Slurm, or not root: apt install slurm-wlm munge"
)


def _engine(name: str, need: Any) -> Any:
    return pytest.param(name, marks=[pytest.mark.engines, need], id=name)


ENGINES = [
    pytest.param("local", id="local"),
    _engine("mpi", NEEDS_MPI),
    _engine("ray", NEEDS_RAY),
    _engine("slurm", NEEDS_SLURM),
]
SALLOC = ["salloc", "--quiet", "--ntasks=3", "--overcommit"]


def engine_command(engine: str, stack: ExitStack) -> tuple[list[str], dict[str, str]]:
    """Starts what an engine needs, until the stack is closed.

    Returns: the command within which headrace-launch runs, and its environment.
    """
    match engine:
        case "ray":
            return [], ray_environment(stack)
        case "slurm":
            # Paths of UNIX sockets are short: not in the folder of a test.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-"))
            return SALLOC, stack.enter_context(slurm(Path(folder)))
    return [], dict(os.environ)


def ray_environment(stack: ExitStack) -> dict[str, str]:
    """Returns an environment in which Ray keeps its files in a folder of its own."""
    folder = tempfile.mkdtemp(prefix="ray-")
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    environ = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    return environ | {"HOME": folder, "RAY_TMPDIR": folder, "RAY_USAGE_STATS_ENABLED": "0"}

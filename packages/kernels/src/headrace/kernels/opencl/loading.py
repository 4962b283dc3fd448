"""Sets up the compiled table: where its sources are, and what else it needs of Python."""

from __future__ import annotations

import atexit
import importlib.util
import logging
from pathlib import Path

from headrace.kernels.opencl import _table


def bundled_loader() -> str:
    """The OpenCL loader in pyopencl's wheel, which is not imported; "" if there is none."""
    spec = importlib.util.find_spec("pyopencl")
    if spec is None or spec.origin is None:
        return ""
    libraries = Path(spec.origin).parents[1] / "pyopencl.libs"
    return str(next(iter(sorted(libraries.glob("libOpenCL*.so*"))), ""))


def configure() -> None:
    sources = Path(__file__).parent / "sources"
    warn = logging.getLogger("headrace.kernels").warning
    _table.configure(str(sources), bundled_loader(), lambda text: warn("%s", text))
    # Drivers have threads that must not run kernels while the process takes itself apart.
    atexit.register(_table.finish)

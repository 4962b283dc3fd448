"""Sets up the compiled table: where its sources are, and what else it needs of Python."""

from __future__ import annotations

import atexit
import importlib.util
import logging
import os
from pathlib import Path

from headrace.kernels.opencl import _table


def bundled_loader() -> str:
    """The OpenCL loader in pyopencl's wheel, which is not imported; "" if there is none."""
    spec = importlib.util.find_spec("pyopencl")
    if spec is None or spec.origin is None:
        return ""
    package = Path(spec.origin).parent
    folders = (package / ".libs", package.with_name("pyopencl.libs"))
    found = [path for folder in folders for path in sorted(folder.glob("libOpenCL*.so*"))]
    if not found:
        return ""
    # That build of ocl-icd reads the variable without checking that it is set.
    os.environ.setdefault("PYOPENCL_HOME", str(package))
    return str(found[0])


def configure() -> None:
    sources = Path(__file__).parent / "sources"
    warn = logging.getLogger("headrace.kernels").warning
    _table.configure(str(sources), bundled_loader(), lambda text: warn("%s", text))
    # Drivers have threads that must not run kernels while the process takes itself apart.
    atexit.register(_table.finish)

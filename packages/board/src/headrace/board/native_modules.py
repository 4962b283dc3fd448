"""Which compiled modules are missing; each has a slower replacement in Python."""

from __future__ import annotations

import importlib
import os

from headrace.board.reading.scanner import SCANNER_CHOICE
from headrace.board.store.problems import NOTE, Problems

_SCANNER = "reading.scan_events"
# The consequence of each missing module; lists every .pyx file of the package.
MODULES = {
    _SCANNER: "logs are read about ten times slower",
    "series.curve_loops": "curves are reduced and smoothed several times slower",
    "trace.zoom.downsample_lanes": "the trace is drawn slower",
    "trace.reading.scan_step_stats": "traces are opened slower",
}


def missing_modules() -> list[str]:
    """Returns the names of the modules that were not built or cannot be imported."""
    missing = []
    for name in MODULES:
        try:
            importlib.import_module(f"headrace.board.{name}")
        except ImportError:
            missing.append(name)
    return missing


def report_missing_modules(problems: Problems) -> None:
    """Adds a problem for the missing modules, unless the Python scanner was selected explicitly."""
    missing = missing_modules()
    if os.environ.get(SCANNER_CHOICE) == "python" and _SCANNER in missing:
        missing.remove(_SCANNER)
    if missing:
        parts = "; ".join(f"{MODULES[name]} ({name})" for name in missing)
        text = (
            f"installed without compiled code: {parts}. Install again where there is a C++ compiler"
        )
        problems.put("not_compiled", NOTE, count=len(missing), text=text)

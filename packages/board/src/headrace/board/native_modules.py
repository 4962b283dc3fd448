"""Which compiled parts were built. Each has the same in Python beside it, which is slower."""

from __future__ import annotations

import importlib
import os

from headrace.board.reading.scanner import SCANNER_CHOICE
from headrace.board.store.problems import NOTE, Problems

_SCANNER = "reading.scan_events"
# What is slow without each; every .pyx of the package is here.
MODULES = {
    _SCANNER: "logs are read about ten times slower",
    "series.curve_loops": "curves are reduced and smoothed several times slower",
    "trace.zoom.downsample_lanes": "the trace is drawn slower",
    "trace.reading.scan_step_stats": "traces are opened slower",
}


def missing_modules() -> list[str]:
    """Returns the names of the parts that were not built, or do not load."""
    missing = []
    for name in MODULES:
        try:
            importlib.import_module(f"headrace.board.{name}")
        except ImportError:
            missing.append(name)
    return missing


def report_missing_modules(problems: Problems) -> None:
    """Puts the parts that are missing among the problems; a scanner chosen by name is none."""
    missing = missing_modules()
    if os.environ.get(SCANNER_CHOICE) == "python" and _SCANNER in missing:
        missing.remove(_SCANNER)
    if missing:
        parts = "; ".join(f"{MODULES[name]} ({name})" for name in missing)
        text = (
            f"installed without compiled code: {parts}. Install again where there is a C++ compiler"
        )
        problems.put("not_compiled", NOTE, count=len(missing), text=text)

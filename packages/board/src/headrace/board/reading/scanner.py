"""Selects the scanner: the native one if it was built, else the one in Python."""

from __future__ import annotations

import importlib
import os
from typing import Protocol

from headrace.board.reading.scan_batch import ScanBatch

SCANNER_CHOICE = "HEADRACE_BOARD_SCANNER"
# Reading so many series, or listing them, leaves memory that is worth releasing.
MANY_SERIES = 10_000


class Scanner(Protocol):
    """Reads one event file over many passes."""

    def scan(self, fd: int, limit: int) -> ScanBatch:
        """Scans about `limit` more bytes."""


def new_scanner() -> Scanner:
    """Returns a scanner at the first byte of a file.

    The environment variable HEADRACE_BOARD_SCANNER selects `native` or `python`.

    Raises: ImportError if `native` is selected but not built; ValueError for another value.
    """
    choice = os.environ.get(SCANNER_CHOICE, "")
    if choice not in ("", "native", "python"):
        raise ValueError(
            f"{SCANNER_CHOICE} is {choice!r}: set it to native or python, or not at all"
        )
    if choice != "python":
        try:
            return importlib.import_module("headrace.board.reading.scan_events").EventScanner()
        except ImportError:
            if choice == "native":
                raise
    from headrace.board.reading.scan_events_python import EventScanner

    return EventScanner()


def scanner_name() -> str:
    """Returns "native" or "python"."""
    return "python" if type(new_scanner()).__module__.endswith("_python") else "native"


def release_memory() -> None:
    """Returns freed memory to the system, where the native scanner was built."""
    try:
        importlib.import_module("headrace.board.reading.scan_events").release_memory()
    except ImportError:
        return

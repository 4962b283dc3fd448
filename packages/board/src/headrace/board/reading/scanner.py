"""Which scanner reads: the native one where it was built, else the one in Python."""

from __future__ import annotations

import importlib
import os
from typing import Protocol

from headrace.board.reading.scan_batch import ScanBatch

SCANNER_CHOICE = "HEADRACE_BOARD_SCANNER"


class Scanner(Protocol):
    """Reads one event file over many passes."""

    def scan(self, fd: int, limit: int) -> ScanBatch:
        """Returns what about `limit` further bytes hold."""


def new_scanner() -> Scanner:
    """Returns a scanner at a file's first byte; HEADRACE_BOARD_SCANNER=python chooses that one.

    Raises: ImportError if =native is asked for and was not built; ValueError for another choice.
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

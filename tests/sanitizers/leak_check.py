"""Has LeakSanitizer look for leaks now: as a pytest plugin, at the end of the session.

At the exit of the process would be too late: what lives as long as the process is taken down then,
and the tables that it pointed to look lost.
"""

from __future__ import annotations

import ctypes
import gc


def check() -> None:
    """Writes what is lost to the sanitizer's log; does nothing without the sanitizer."""
    look = getattr(ctypes.CDLL(None), "__lsan_do_recoverable_leak_check", None)
    if look is not None:
        gc.collect()
        look()


def pytest_unconfigure() -> None:
    check()

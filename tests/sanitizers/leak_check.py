"""A pytest plugin that runs LeakSanitizer at the end of the session.

At the exit of the process it is too late: global objects are destroyed first, and the memory that
they pointed to looks lost.
"""

from __future__ import annotations

import ctypes
import gc


def check() -> None:
    """Writes leaks to the sanitizer's log; does nothing without the sanitizer."""
    look = getattr(ctypes.CDLL(None), "__lsan_do_recoverable_leak_check", None)
    if look is not None:
        gc.collect()
        look()


def pytest_unconfigure() -> None:
    check()

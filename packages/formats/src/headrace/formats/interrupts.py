"""Work that Ctrl-C must not cut in two."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Raises a Ctrl-C that comes meanwhile once the work is done; for imports, above all.

    CPython leaves a module's import lock taken for good where Ctrl-C comes between the taking and
    the block that frees it: the next thread that imports the module then hangs. Only the main
    thread sees signals, so on others there is nothing to hold.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    came = []
    try:
        signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    except ValueError:  # the main thread of a subinterpreter
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:  # also where the work failed
            signal.raise_signal(signal.SIGINT)

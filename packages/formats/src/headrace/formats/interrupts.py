"""Defers Ctrl-C while a block runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Defers Ctrl-C until the end of the block; meant for imports above all.

    CPython can leave a module's import lock taken if KeyboardInterrupt is raised between acquiring
    the lock and entering the block that releases it. The next thread that imports the module then
    hangs. Only the main thread handles signals: on other threads this does nothing.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    received = []
    try:
        signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    except ValueError:  # the main thread of a subinterpreter
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if received:  # also if the block raised
            signal.raise_signal(signal.SIGINT)

"""Runs one function on many threads."""

from __future__ import annotations

import threading
from collections.abc import Callable


def concurrently(work: Callable[[int], object], count: int) -> None:
    """Runs work(0) to work(count - 1), each on a new thread; returns when all have ended."""
    threads = [threading.Thread(target=work, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

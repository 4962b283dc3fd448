"""Runs one function on many threads, and waits until threads wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


def concurrently(work: Callable[[int], object], count: int) -> None:
    """Runs work(0) to work(count - 1), each on a new thread; returns when all have ended."""
    threads = [threading.Thread(target=work, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def wait_until_idle(seconds: float = 30.0) -> None:
    """Returns when no thread of this process has used the CPU for 0.1 s; fails after `seconds`."""
    end = time.monotonic() + seconds
    used = -1.0
    while time.process_time() - used > 0.002:
        used = time.process_time()
        assert time.monotonic() < end, f"the process still computes after {seconds} s"
        time.sleep(0.1)

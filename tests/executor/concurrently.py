"""Runs one function on many threads, and waits until threads wait."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

QUIET_S = 0.05


def concurrently(work: Callable[[int], object], count: int) -> None:
    """Runs work(0) to work(count - 1), each on a new thread; returns when all have ended."""
    threads = [threading.Thread(target=work, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def wait_until_idle(seconds: float = 120.0) -> None:
    """Returns when all other threads of this process wait; fails after `seconds`.

    On a busy machine, a thread that is ready to run may use no CPU for long. So a thread waits only
    if the system lists it as sleeping, and if the process used no CPU between two looks.
    """
    end = time.monotonic() + seconds
    quiet = 0
    while quiet < 2:
        assert time.monotonic() < end, f"the process still computes after {seconds} s"
        quiet = quiet + 1 if _is_quiet() else 0


def wait_until_under_way(cpu_seconds: float = 0.2) -> None:
    """Returns when all other threads wait, or when they have computed for that long."""
    start, quiet = _used_by_others(), 0
    while quiet < 2 and _used_by_others() - start < cpu_seconds:
        quiet = quiet + 1 if _is_quiet() else 0


def _is_quiet() -> bool:
    """Whether no other thread computes, as seen during a short sleep and at its end."""
    before = _used_by_others()
    time.sleep(QUIET_S)
    return _used_by_others() - before < 0.001 and not _some_are_ready()


def _used_by_others() -> float:
    """The CPU time of the threads of this process except the caller, in seconds."""
    return time.process_time() - time.thread_time()


def _some_are_ready() -> bool:
    """Whether threads other than the caller run or are ready to run. False if /proc is absent."""
    try:
        ids = set(os.listdir("/proc/self/task")) - {str(threading.get_native_id())}
    except FileNotFoundError:
        return False
    return any(_state(thread) in "RD" for thread in ids)


def _state(thread: str) -> str:
    try:
        with open(f"/proc/self/task/{thread}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"  # it has ended

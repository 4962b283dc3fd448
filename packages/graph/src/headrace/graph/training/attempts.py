"""Attempts at what fails while tasks of a cluster start again: growing pauses, and a time limit."""

from __future__ import annotations

import time

from headrace.formats.errors import AbortedError, UnavailableError

# A task was lost, or started again without its state: a new session may succeed.
LOST_TASK = (AbortedError, UnavailableError)

_FIRST_PAUSE_S = 0.05
_GROWTH = 1.5


class Attempts:
    """The pauses between attempts.

    Args:
      longest_pause_s: most seconds between two attempts.
      max_wait_s: seconds after which there is no further attempt; None: no limit.
    """

    def __init__(self, longest_pause_s: float = 1.0, max_wait_s: float | None = None) -> None:
        self._longest_s = longest_pause_s
        self._max_wait_s = max_wait_s
        self._pause_s = min(_FIRST_PAUSE_S, longest_pause_s)
        self._begin = time.monotonic()

    def pause(self) -> bool:
        """Waits until the next attempt; returns False if the time is over."""
        left = float("inf")
        if self._max_wait_s is not None:
            left = self._begin + self._max_wait_s - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(self._pause_s, left))
        self._pause_s = min(self._pause_s * _GROWTH, self._longest_s)
        return True

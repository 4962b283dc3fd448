"""The core of the simulation: a clock that runs events in order, and resources with queues."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Any


class Clock:
    """Simulated time in seconds. Events of one time run in the order in which they were made."""

    def __init__(self) -> None:
        self.now = 0.0
        self.n_events = 0
        self._queue: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._numbers = itertools.count()

    def at(self, time: float, action: Callable[..., None], *arguments: Any) -> None:
        """Calls an action at a time, which is not in the past."""
        if time < self.now:
            raise ValueError(f"an event at {time} s is in the past: it is {self.now} s")
        heapq.heappush(self._queue, (time, next(self._numbers), action, arguments))

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Runs events until there are none, or until a condition holds."""
        while self._queue and not until():
            self.now, _, action, arguments = heapq.heappop(self._queue)
            self.n_events += 1
            action(*arguments)


class Resource:
    """Something that serves requests one after the other, in the order in which they come.

    Args:
      capacity: the number of requests that are served at the same time.
    Attributes:
      busy_s: the time for which it has served, or will, summed.
    """

    def __init__(self, clock: Clock, capacity: int = 1) -> None:
        self.busy_s = 0.0
        self._clock = clock
        self._free_at = [0.0] * capacity

    def use(self, seconds: float, not_before: float = 0.0) -> float:
        """Takes the next turn. Returns: the time of its end."""
        self.busy_s += seconds
        begin = max(self._clock.now, not_before, self._free_at[0])
        heapq.heapreplace(self._free_at, begin + seconds)
        return begin + seconds

"""The resources of simulated tasks: accumulators and queues, without the elements of tensors."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any


class Accumulator:
    """A ConditionalAccumulator: drops stale gradients, and gives averages of enough of them.

    Args:
      is_sum: it gives sums, not averages.
    Attributes:
      n_dropped: the gradients that were stale.
    """

    def __init__(self, is_sum: bool) -> None:
        self.is_sum = is_sum
        self.global_step = 0
        self.n_dropped = 0
        self._count, self._sum = 0, 0.0
        self._takers: deque[tuple[int, Callable[[Any], None]]] = deque()

    def apply(self, local_step: int, value: float | None) -> None:
        """Adds a gradient; value: of a scalar, otherwise None."""
        if local_step < self.global_step:
            self.n_dropped += 1
            return
        self._count += 1
        self._sum += value or 0.0
        self._serve()

    def take(self, required: int, done: Callable[[Any], None]) -> None:
        """Calls `done` with the average, once there are enough gradients."""
        self._takers.append((required, done))
        self._serve()

    def _serve(self) -> None:
        while self._takers and self._count >= self._takers[0][0]:
            average = self._sum if self.is_sum else self._sum / max(self._count, 1)
            self._count, self._sum = 0, 0.0
            self.global_step += 1
            self._takers.popleft()[1](average)


class Queue:
    """A queue without a bound."""

    def __init__(self) -> None:
        self.items: deque[Any] = deque()
        self._takers: deque[Callable[[Any], None]] = deque()

    def put(self, item: Any) -> None:
        self.items.append(item)
        self._serve()

    def take(self, done: Callable[[Any], None]) -> None:
        """Calls `done` with the first item, once there is one."""
        self._takers.append(done)
        self._serve()

    def _serve(self) -> None:
        while self._takers and self.items:
            self._takers.popleft()(self.items.popleft())

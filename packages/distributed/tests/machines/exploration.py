"""Explores every order of events of a state machine."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar


class World(Protocol):
    """A machine with its surroundings: pickled to branch, compared by `key`."""

    def actions(self) -> Iterable[tuple[object, ...]]:
        """What may happen next."""

    def act(self, action: tuple[object, ...]) -> None:
        """Lets it happen, and asserts what must hold after it."""

    def key(self) -> str:
        """Equal for worlds that go on alike."""


Explored = TypeVar("Explored", bound=World)


def explore(start: Explored, check: Callable[[Explored], None]) -> int:
    """Visits every world that actions lead to, of which there are finitely many; checks each.

    Returns: how many there are. Raises: AssertionError with the shortest history to a fault.
    """
    seen = {start.key()}
    queue: deque[tuple[bytes, tuple[object, ...]]] = deque([(pickle.dumps(start), ())])
    while queue:
        frozen, history = queue.popleft()
        for action in list(pickle.loads(frozen).actions()):
            world = pickle.loads(frozen)
            path = (*history, action)
            try:
                world.act(action)
                check(world)
            except AssertionError as error:
                lines = "\n  ".join(map(str, path))
                raise AssertionError(f"{error}\nafter:\n  {lines}") from error
            key = world.key()
            if key not in seen:
                seen.add(key)
                queue.append((pickle.dumps(world), path))
    return len(seen)

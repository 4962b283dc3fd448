"""A lock of the process that no fork leaves taken in the child."""

from __future__ import annotations

import os
import threading

_WAIT_S = 5.0


class ForkLock:
    """A recursive lock; use as `with lock.current:`.

    A fork waits until no other thread holds it, so that the child finds nothing half done: an
    import above all. It waits a few seconds at most, because the holder may wait for the forking
    thread; then the child starts with a new lock.
    """

    def __init__(self) -> None:
        self.current = threading.RLock()
        self._taken = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before,
                after_in_parent=self._after_in_parent,
                after_in_child=self._after_in_child,
            )

    def _before(self) -> None:
        self._taken = self.current.acquire(timeout=_WAIT_S)

    def _after_in_parent(self) -> None:
        if self._taken:
            self._taken = False
            self.current.release()

    def _after_in_child(self) -> None:
        if self._taken:
            self._after_in_parent()
        else:
            self.current = threading.RLock()

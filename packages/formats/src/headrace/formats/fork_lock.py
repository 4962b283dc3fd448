"""Locks that are free in a forked child."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Protocol

_WAIT_S = 5.0


class ForkLock:
    """A recursive lock that handles os.fork; use it as `with lock.current:`.

    A fork waits until no other thread holds the lock, so that the child does not inherit unfinished
    work, such as half an import. It waits 5 s at most, because the holder may wait for the forking
    thread. After that the child starts with a new lock.
    """

    def __init__(self) -> None:
        self.current = threading.RLock()
        self._acquired = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before,
                after_in_parent=self._after_in_parent,
                after_in_child=self._after_in_child,
            )

    def _before(self) -> None:
        self._acquired = self.current.acquire(timeout=_WAIT_S)

    def _after_in_parent(self) -> None:
        if self._acquired:
            self._acquired = False
            self.current.release()

    def _after_in_child(self) -> None:
        if self._acquired:
            self._after_in_parent()
        else:
            self.current = threading.RLock()


class _HasLock(Protocol):
    _lock: Any


_owners: weakref.WeakSet[_HasLock] = weakref.WeakSet()


def renew_in_child(owner: _HasLock) -> None:
    """Gives an object a new `_lock`, an RLock, in a forked child: no thread would release it there.

    For objects that come and go, where a fork cannot wait for all their locks.
    """
    _owners.add(owner)


def _renew_all() -> None:
    for owner in list(_owners):
        owner._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)

"""The prepared steps of a session: made once, kept while something holds them, or recent."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable

from headrace.distributed.master.planned_signature import Names
from headrace.distributed.master.prepared_step import PreparedStep

RECENT_SIGNATURES = 128  # stay prepared without a holder

Key = tuple[Names, bool]  # a signature, and whether it is of partial runs


class StepCache:
    """Steps by signature. It is safe to use from several threads at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._making: dict[Key, threading.Event] = {}
        self._steps: weakref.WeakValueDictionary[Key, PreparedStep] = weakref.WeakValueDictionary()
        self._recent: OrderedDict[Key, PreparedStep] = OrderedDict()
        self._dropped: deque[int] = deque()

    def get(self, key: Key, make: Callable[[], PreparedStep]) -> PreparedStep:
        """Returns the step of a signature; `make` is called by one thread at a time."""
        while True:
            with self._lock:
                found = self._steps.get(key)
                if found is not None:
                    self._remember(key, found)
                    return found
                busy = self._making.get(key)
                if busy is None:
                    self._making[key] = threading.Event()
                    break
            busy.wait()
        try:
            made = make()
            # Not at once: the last reference may go away anywhere, with any lock held.
            weakref.finalize(made, self._dropped.extend, made.numbers).atexit = False
            with self._lock:
                self._steps[key] = made
                self._remember(key, made)
            return made
        finally:
            with self._lock:
                self._making.pop(key).set()

    def dropped(self) -> list[int]:
        """Returns the numbers of the signatures whose steps are gone since the last call."""
        found = []
        while self._dropped:
            found.append(self._dropped.popleft())
        return found

    def clear(self) -> None:
        """Holds no step any longer."""
        with self._lock:
            self._recent.clear()

    def _remember(self, key: Key, step: PreparedStep) -> None:
        self._recent[key] = step
        self._recent.move_to_end(key)
        while len(self._recent) > RECENT_SIGNATURES:
            self._recent.popitem(last=False)

"""The difference that was computed last."""

from __future__ import annotations

import threading
from collections.abc import Callable

from headrace.board.graph.diff.graph_diff import Difference


class DiffCache:
    """Keeps one difference: pages request its lists and its columns one after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: tuple[tuple[int, ...], Difference] | None = None

    def get(self, key: tuple[int, ...], compute: Callable[[], Difference]) -> Difference:
        """Returns the difference of a key, computed unless it was the last one."""
        with self._lock:
            if self._last is None or self._last[0] != key:
                self._last = None  # frees the old difference before the new one is computed
                self._last = (key, compute())
            return self._last[1]

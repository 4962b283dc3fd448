"""The rows of a series in columns that grow, with their files and their restarts."""

from __future__ import annotations

import threading

import numpy as np

from headrace.board.store.growing_columns import GrowingColumns
from headrace.board.store.restarts import (
    Part,
    Restarts,
    concurrent_parts,
    find_restarts,
    is_alone,
    never_back,
    no_restarts,
)

_STEP, _WALL = 0, 1


class SeriesRows:
    """Rows in order of file; the first two columns are step and wall.

    Args:
      dtypes: dtype of each column.
    """

    __slots__ = ("columns", "drops", "plain", "lock", "_parts", "_restarts")

    def __init__(self, dtypes: tuple[np.dtype, ...]) -> None:
        self.columns = GrowingColumns(dtypes)
        self.drops = 0  # grows when rows are removed or inserted
        self.plain = True  # one file, without a restart
        self.lock = threading.Lock()
        self._parts: list[Part] = []
        self._restarts: Restarts | None = None

    def __len__(self) -> int:
        return self.columns.n

    def append(
        self,
        file: int,
        order: str,
        rows: tuple[np.ndarray, ...],
        starts: list[tuple[int, int]],
        rising: bool | None = None,
        last_wall: float | None = None,
    ) -> None:
        """Appends rows, at least one, as `Series.append`."""
        with self.lock:
            if rising is None:
                rising = never_back(rows[_STEP])
            if self.columns.n and rising:
                rising = bool(rows[_STEP][0] >= self.columns.last(_STEP))
            part, last = self._part(file, order)
            if last:
                self.columns.append(rows)
            else:
                self.columns.insert(part.end, rows)
                self.drops += 1
            count = len(rows[0])
            if last_wall is None:
                last_wall = float(np.fmax.reduce(rows[_WALL]))
            if part.first_wall != part.first_wall:
                part.first_wall = float(rows[_WALL][0])
            if not part.last_wall >= last_wall:
                part.last_wall = last_wall
            part.end += count
            if not last:
                for later in self._parts[self._parts.index(part) + 1 :]:
                    later.begin += count
                    later.end += count
            if starts:
                part.starts += starts
            self.plain = self.plain and rising and is_alone(self._parts)
            self._restarts = None

    def drop_file(self, file: int) -> int:
        """Removes the rows of a file. Returns: how many."""
        with self.lock:
            for i, part in enumerate(self._parts):
                if part.file == file:
                    self.columns.drop(part.begin, part.end)
                    count = part.end - part.begin
                    for later in self._parts[i + 1 :]:
                        later.begin -= count
                        later.end -= count
                    del self._parts[i]
                    self.plain = is_alone(self._parts) and never_back(
                        self.columns.snapshot()[_STEP]
                    )
                    self._restarts = None
                    self.drops += 1
                    return count
        return 0

    def widen(self, column: int, dtype: np.dtype) -> None:
        """Changes the dtype of a column."""
        with self.lock:
            self.columns.widen(column, dtype)

    def snapshot(self) -> tuple[tuple[np.ndarray, ...], Restarts]:
        """Returns read-only views of all rows, and their restarts."""
        with self.lock:
            return self.columns.snapshot(), self._found_restarts()

    def segments(self) -> int:
        """Returns 1 plus the number of restarts."""
        with self.lock:
            return 1 if self.plain else self._found_restarts().segments

    def last_wall_of(self, file: int) -> float:
        """Returns the greatest wall time of a file's rows so far, or NaN."""
        for part in reversed(self._parts):
            if part.file == file:
                return part.last_wall
        return float("nan")

    def writers_at_once(self) -> bool:
        """Returns whether two files grew at the same time."""
        return len(self._parts) > 1 and any(concurrent_parts(self._parts))

    def _part(self, file: int, order: str) -> tuple[Part, bool]:
        if self._parts and self._parts[-1].file == file:
            return self._parts[-1], True
        for part in self._parts:
            if part.file == file:
                return part, False
        at = sum(part.order < order for part in self._parts)
        begin = self._parts[at].begin if at < len(self._parts) else self.columns.n
        part = Part(file, order, begin, begin, float("nan"), float("nan"))
        self._parts.insert(at, part)
        return part, at == len(self._parts) - 1

    def _found_restarts(self) -> Restarts:
        if self._restarts is None:
            n = self.columns.n
            if self.plain or not n:
                self._restarts = no_restarts(n)
            else:
                step = self.columns.snapshot()[_STEP]
                self._restarts = find_restarts(step, [p for p in self._parts if p.end > p.begin])
        return self._restarts

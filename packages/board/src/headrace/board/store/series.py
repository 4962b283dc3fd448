"""What scalar and blob series have in common: rows by file, in order, and their restarts."""

from __future__ import annotations

import threading

import numpy as np

from headrace.board.store.growing_columns import GrowingColumns
from headrace.board.store.restarts import (
    Part,
    Restarts,
    concurrent_parts,
    find_restarts,
    is_plain,
    no_restarts,
)
from headrace.board.store.run import Run, Tag

_STEP, _WALL = 0, 1


class Series:
    """The rows of one tag in one run; the first two columns are step and wall."""

    __slots__ = (
        "run",
        "tag",
        "plugin_content",
        "version",
        "_columns",
        "_parts",
        "_lock",
        "_restarts",
        "_restarts_n",
        "_plain",
    )

    def __init__(self, run: Run, tag: Tag, dtypes: tuple[np.dtype, ...]) -> None:
        self.run = run
        self.tag = tag
        self.plugin_content = tag.plugin_content  # of this run, where runs differ
        self.version = 0  # grows with each change
        self._columns = GrowingColumns(dtypes)
        self._parts: list[Part] = []
        self._lock = threading.Lock()
        self._restarts: Restarts | None = None
        self._restarts_n = 0
        self._plain = True

    def __len__(self) -> int:
        return self._columns.n

    def append(
        self,
        file: int,
        order: str,
        rows: tuple[np.ndarray, ...],
        starts: list[tuple[int, int]],
    ) -> None:
        """Adds a file's further rows behind those that it has given so far.

        Args:
          file: its number.
          order: where its rows stand among those of other files.
          rows: the columns.
          starts: (row of the file, step) where a session began.
        """
        if not len(rows[0]):
            return
        with self._lock:
            part, last = self._part(file, order)
            at = part.end
            if last:
                self._columns.append(rows)
            else:
                self._columns.insert(at, rows)
                self._forget_restarts()
            count = len(rows[0])
            walls = rows[_WALL][~np.isnan(rows[_WALL])]
            if len(walls):
                if part.first_wall != part.first_wall:
                    part.first_wall = float(walls[0])
                    part.last_wall = part.first_wall
                part.last_wall = max(part.last_wall, float(walls.max()))
            part.end += count
            for later in self._parts[self._parts.index(part) + 1 :]:
                later.begin += count
                later.end += count
            if starts:
                part.starts += starts
                self._forget_restarts()
            self.version += 1

    def drop_file(self, file: int) -> None:
        """Removes the rows of a file that is gone or was replaced."""
        with self._lock:
            for i, part in enumerate(self._parts):
                if part.file == file:
                    self._columns.drop(part.begin, part.end)
                    count = part.end - part.begin
                    for later in self._parts[i + 1 :]:
                        later.begin -= count
                        later.end -= count
                    del self._parts[i]
                    self._forget_restarts()
                    self.version += 1
                    return

    def segments(self) -> int:
        """Returns 1 and the number of restarts."""
        with self._lock:
            return self._found_restarts().segments

    def last_wall_of(self, file: int) -> float:
        """Returns the greatest wall time that a file has given so far; NaN before."""
        for part in reversed(self._parts):
            if part.file == file:
                return part.last_wall
        return float("nan")

    def writers_at_once(self) -> bool:
        """Whether two files have grown at once."""
        return len(self._parts) > 1 and any(concurrent_parts(self._parts))

    def memory_bytes(self) -> int:
        """Returns what the rows take."""
        return self._columns.memory_bytes()

    def _part(self, file: int, order: str) -> tuple[Part, bool]:
        for part in reversed(self._parts):
            if part.file == file:
                return part, part is self._parts[-1]
        at = sum(part.order < order for part in self._parts)
        begin = self._parts[at].begin if at < len(self._parts) else self._columns.n
        part = Part(file, order, begin, begin, float("nan"), float("nan"))
        self._parts.insert(at, part)
        if len(self._parts) > 1:
            self._forget_restarts()
        return part, at == len(self._parts) - 1

    def _forget_restarts(self) -> None:
        self._restarts, self._restarts_n, self._plain = None, 0, True

    def _found_restarts(self) -> Restarts:
        n = self._columns.n
        if self._restarts is None or self._restarts_n != n:
            (step, *_) = self._columns.snapshot()
            if n == 0:
                self._restarts = no_restarts(0)
            elif self._plain and is_plain(step, self._parts, self._restarts_n):
                self._restarts = no_restarts(n)
            else:
                self._plain = False
                parts = [part for part in self._parts if part.end > part.begin]
                self._restarts = find_restarts(step, parts)
            self._restarts_n = n
        return self._restarts

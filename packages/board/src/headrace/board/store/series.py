"""The common base of scalar and blob series: rows in order of file, and their restarts."""

from __future__ import annotations

import itertools
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
from headrace.board.store.run import Run, Tag

_STEP, _WALL = 0, 1
# One counter for all series: a series that was removed and created again must not be mistaken for
# the old one by a cache that uses versions as keys.
_versions = itertools.count(1)


class Series:
    """The rows of one tag in one run; the first two columns are step and wall."""

    __slots__ = (
        "run",
        "tag",
        "plugin_content",
        "content_order",
        "version",
        "drops",
        "_columns",
        "_parts",
        "_lock",
        "_restarts",
        "_plain",
    )

    def __init__(self, run: Run, tag: Tag, dtypes: tuple[np.dtype, ...]) -> None:
        self.run = run
        self.tag = tag
        self.plugin_content = tag.plugin_content  # of this run, where runs differ
        self.content_order = ""  # of the file that it comes from
        self.version = next(_versions)  # grows with each change; unique among all series
        self.drops = 0  # grows when rows are removed or inserted
        self._columns = GrowingColumns(dtypes)
        self._parts: list[Part] = []
        self._lock = threading.Lock()
        self._restarts: Restarts | None = None
        self._plain = True  # one file, without a restart

    def __len__(self) -> int:
        return self._columns.n

    def append(
        self,
        file: int,
        order: str,
        rows: tuple[np.ndarray, ...],
        starts: list[tuple[int, int]],
        rising: bool | None = None,
        last_wall: float | None = None,
    ) -> None:
        """Appends rows of a file after its earlier rows.

        Args:
          file: number of the file.
          order: sorts the file among the files of the run.
          rows: the columns.
          starts: (row of the file, step) where a session started.
          rising: whether the steps of the rows never decrease; None: unknown.
          last_wall: the greatest wall time of the rows; None: unknown.
        """
        if not len(rows[0]):
            return
        with self._lock:
            if rising is None:
                rising = never_back(rows[_STEP])
            if self._columns.n and rising:
                rising = bool(rows[_STEP][0] >= self._columns.last(_STEP))
            part, last = self._part(file, order)
            if last:
                self._columns.append(rows)
            else:
                self._columns.insert(part.end, rows)
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
            self._plain = self._plain and rising and is_alone(self._parts)
            self._restarts = None
            self.version = next(_versions)

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
                    self._plain = is_alone(self._parts) and never_back(
                        self._columns.snapshot()[_STEP]
                    )
                    self._restarts = None
                    self.drops += 1
                    self.version = next(_versions)
                    return

    def segments(self) -> int:
        """Returns 1 plus the number of restarts."""
        with self._lock:
            return 1 if self._plain else self._found_restarts().segments

    def last_wall_of(self, file: int) -> float:
        """Returns the greatest wall time of a file's rows so far, or NaN."""
        for part in reversed(self._parts):
            if part.file == file:
                return part.last_wall
        return float("nan")

    def writers_at_once(self) -> bool:
        """Returns whether two files grew at the same time."""
        return len(self._parts) > 1 and any(concurrent_parts(self._parts))

    def memory_bytes(self) -> int:
        """Returns the memory that the rows occupy."""
        return self._columns.memory_bytes()

    def _part(self, file: int, order: str) -> tuple[Part, bool]:
        if self._parts and self._parts[-1].file == file:
            return self._parts[-1], True
        for part in self._parts:
            if part.file == file:
                return part, False
        at = sum(part.order < order for part in self._parts)
        begin = self._parts[at].begin if at < len(self._parts) else self._columns.n
        part = Part(file, order, begin, begin, float("nan"), float("nan"))
        self._parts.insert(at, part)
        return part, at == len(self._parts) - 1

    def _found_restarts(self) -> Restarts:
        if self._restarts is None:
            n = self._columns.n
            if self._plain or not n:
                self._restarts = no_restarts(n)
            else:
                step = self._columns.snapshot()[_STEP]
                self._restarts = find_restarts(step, [p for p in self._parts if p.end > p.begin])
        return self._restarts

"""The common base of scalar and blob series: rows in order of file, and their restarts."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from headrace.board.store.few_rows import FEW_ROWS, RowFormat
from headrace.board.store.restarts import Restarts, never_back, no_restarts
from headrace.board.store.run import Run, Tag
from headrace.board.store.series_rows import SeriesRows

_STEP, _WALL = 0, 1


class Series:
    """The rows of one tag in one run; the first two columns are step and wall.

    One thread at a time changes a series, and holds the lock of the store; others may read it.
    """

    __slots__ = ("run", "tag", "version", "_rows", "_file", "_order", "_starts", "_content")

    format: ClassVar[RowFormat]

    def __init__(self, run: Run, tag: Tag) -> None:
        self.run = run
        self.tag = tag
        # One attribute, so that readers see few rows or all columns, never something in between.
        self._rows: bytes | SeriesRows = b""
        # Of few rows: the file that they come from, and where a session started before the first.
        self._file = -1
        self._order = ""
        self._starts: list[tuple[int, int]] | None = None
        self._content: tuple[str, bytes] | None = None
        # Grows with each change; unique among all series of a store.
        self.version = run.new_version()

    def __len__(self) -> int:
        rows = self._rows
        if isinstance(rows, bytes):
            return len(rows) // self.format.record.itemsize
        return len(rows)

    @property
    def plugin_content(self) -> bytes:
        """The plugin content of this run, where runs differ."""
        return self.tag.plugin_content if self._content is None else self._content[1]

    def set_plugin_content(self, order: str, content: bytes) -> None:
        """Sets the plugin content, unless that of a file with a later order is known."""
        if self._content is None or order >= self._content[0]:
            self._content = (order, content)

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
        count = len(rows[0])
        if not count:
            return
        if count <= FEW_ROWS and isinstance(self._rows, bytes):
            if rising is None:
                rising = never_back(rows[_STEP])
            if self.append_packed(file, order, self.format.packed(rows), starts, rising):
                return
        columns = self._all_columns()
        columns.append(file, order, rows, starts, rising, last_wall)
        self._changed(count)

    def append_packed(
        self, file: int, order: str, rows: bytes, starts: list[tuple[int, int]], rising: bool
    ) -> bool:
        """Appends rows in the format of the series, if the series remains one of few plain rows.

        Returns: whether it does; else nothing has changed.
        """
        before = self._rows
        size = self.format.record.itemsize
        if (
            not isinstance(before, bytes)
            or not rising
            or len(before) + len(rows) > FEW_ROWS * size
            or any(row for row, _ in starts)
        ):
            return False
        if before:
            last = self.format.unpacked.unpack_from(before, len(before) - size)[_STEP]
            if file != self._file or self.format.unpacked.unpack_from(rows)[_STEP] < last:
                return False
        self._file, self._order = file, order
        if starts:
            self._starts = [*(self._starts or ()), *starts]
        self._rows = before + rows
        self._changed(len(rows) // size)
        return True

    def drop_file(self, file: int) -> None:
        """Removes the rows of a file that is gone or was replaced."""
        rows = self._rows
        if isinstance(rows, bytes):
            count = len(self) if file == self._file else 0
            if count:
                self._rows, self._starts, self._file, self._order = b"", None, -1, ""
        else:
            count = rows.drop_file(file)
        if count:
            self._changed(-count)

    def segments(self) -> int:
        """Returns 1 plus the number of restarts."""
        rows = self._rows
        return 1 if isinstance(rows, bytes) else rows.segments()

    def last_wall_of(self, file: int) -> float:
        """Returns the greatest wall time of a file's rows so far, or NaN."""
        rows = self._rows
        if not isinstance(rows, bytes):
            return rows.last_wall_of(file)
        if not rows or file != self._file:
            return float("nan")
        return float(np.fmax.reduce(self.format.columns(rows)[_WALL]))

    def writers_at_once(self) -> bool:
        """Returns whether two files grew at the same time."""
        rows = self._rows
        return not isinstance(rows, bytes) and rows.writers_at_once()

    def memory_bytes(self) -> int:
        """Returns the memory that the rows occupy."""
        rows = self._rows
        return len(rows) if isinstance(rows, bytes) else rows.columns.memory_bytes()

    def _snapshot(self) -> tuple[tuple[np.ndarray, ...], Restarts]:
        """Returns all rows as read-only columns, and their restarts."""
        rows = self._rows
        if not isinstance(rows, bytes):
            return rows.snapshot()
        columns = self.format.columns(rows)
        return columns, no_restarts(len(columns[_STEP]))

    def _all_columns(self) -> SeriesRows:
        """Returns the rows as columns that grow; converts few rows."""
        rows = self._rows
        if not isinstance(rows, bytes):
            return rows
        columns = SeriesRows(self.format.dtypes)
        if rows:
            few = self.format.columns(rows)
            columns.append(self._file, self._order, few, self._starts or [], rising=True)
        self._rows = columns
        self._starts = None
        return columns

    def _changed(self, added: int) -> None:
        """Counts a change that added rows, or removed them."""
        rows = self._rows
        self.run.note_restarts(self.tag.id, not isinstance(rows, bytes) and not rows.plain)
        self._count(added)
        self.version = self.run.new_version()

    def _count(self, added: int) -> None:
        raise NotImplementedError

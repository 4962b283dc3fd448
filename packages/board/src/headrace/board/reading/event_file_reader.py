"""Reads one event file into the store, pass by pass."""

from __future__ import annotations

import os
import time
from collections import deque

import numpy as np

from headrace.board.reading.file_problems import CLOCK_JUMP_S, FileProblems
from headrace.board.reading.logdir_walk import FoundFile
from headrace.board.reading.places.named_folders import LogSource
from headrace.board.reading.record_access import KnownFile, RecordAccess
from headrace.board.reading.scan_batch import DEAD, FAILED, MAX_TAGS, MORE, Rows, ScanBatch
from headrace.board.reading.scanner import Scanner, new_scanner
from headrace.board.store.blob_series import BlobSeries
from headrace.board.store.few_rows import FEW_ROWS
from headrace.board.store.run_index import RunIndex
from headrace.board.store.scalar_series import ScalarSeries

# Large enough to make the work between passes negligible, small enough to show curves early.
PASS_BYTES = 16 << 20
_MARK_BYTES = 32
# A file that cannot be read is retried after this time, which doubles with each failure.
_RETRY_S = 1.0
_LONGEST_RETRY_S = 30.0


class EventFileReader:
    """Reads the new records of a file into the store; used by one thread at a time.

    Args:
      found: the file.
      logdir: the folder that it lies in.
      index: the store.
      records: registers the file, so that single records can be read later.
    """

    def __init__(
        self, found: FoundFile, logdir: LogSource, index: RunIndex, records: RecordAccess
    ) -> None:
        self.found = found
        self._logdir = logdir
        self._index = index
        self._records = records
        self.run = index.add_run(found.run)
        self.number = records.add_file(KnownFile(found.name, found.path, found.device, found.inode))
        self._scanner: Scanner = new_scanner()
        self._series: list[ScalarSeries | BlobSeries | None] = []
        self.problems = FileProblems(index.problems, self.run, found.name)
        self._mark = b""
        self.offset = 0
        self.size = found.size
        self.seen = -1  # the file's size in the last pass
        self.state = MORE
        self.grew_at = time.monotonic()
        self.grew_wall = found.mtime
        self.replaced = False
        self.caught_up = False
        self.first_wall = float("nan")
        self.last_wall = float("nan")
        self._failures = 0  # in a row
        self._retry_at = 0.0

    def wants_reading(self) -> bool:
        """Returns whether a pass could find something new."""
        if self.state == DEAD:
            return self.replaced
        if self.state == FAILED:
            return time.monotonic() >= self._retry_at
        return self.state == MORE or self.replaced or self.size != self.seen

    def pending_bytes(self) -> int:
        """Returns the number of bytes that have not been read."""
        return 0 if self.state == DEAD else max(0, self.size - self.offset)

    def see_size(self, size: int, mtime: float) -> None:
        """Records the present size of the file."""
        if size != self.size:
            if size < self.offset:
                self.replaced = True
            self.size = size
            self.grew_at, self.grew_wall = time.monotonic(), mtime

    def read(self) -> bool:
        """Reads one pass into the store; after a system error, the file is retried later.

        Returns: whether the store changed.
        """
        try:
            fd = self._logdir.open_file(self.found.path)
        except OSError as error:
            return self._fail("opened", error)
        try:
            if not self._is_the_same(fd):
                self.replaced = True
                return False
            batch = self._scanner.scan(fd, PASS_BYTES)
            if batch.offset != self.offset:
                self._mark = _mark_before(fd, batch.offset)
        except OSError as error:
            return self._fail("read", error)
        finally:
            os.close(fd)
        changed = self._apply(batch)
        if batch.state == FAILED:
            return self._fail("read", OSError(batch.error, os.strerror(batch.error))) or changed
        if self._failures:
            self._failures = 0
            self.problems.not_unreadable()
            return True
        return changed

    def stop_reading(self, why: str) -> None:
        """Stops reading the file and reports why."""
        self.state = DEAD
        self.caught_up = True
        self.problems.stopped_reading(self.offset, self.size, why)

    def remove(self) -> None:
        """Removes the file's rows and problems from the store."""
        with self._index.lock:
            for series in [*self.run.series.values()]:
                series.drop_file(self.number)
                if not len(series):
                    self._index.remove_series(series)
        self._records.drop_file(self.number)
        self._index.problems.forget(file=self.found.name)

    def _fail(self, what: str, error: OSError) -> bool:
        """Reports a failure. Returns: whether the previous pass succeeded."""
        first = not self._failures
        self.state = FAILED
        self.caught_up = True
        self._retry_at = time.monotonic() + min(_RETRY_S * 2**self._failures, _LONGEST_RETRY_S)
        self._failures = min(self._failures + 1, 10)
        self.problems.unreadable(what, error.strerror or str(error))
        return first

    def _is_the_same(self, fd: int) -> bool:
        now = os.fstat(fd)
        if (now.st_dev, now.st_ino) != (self.found.device, self.found.inode):
            return False
        self.size = self.seen = now.st_size
        if self.size < self.offset:
            return False
        # The bytes before the offset must be unchanged: the file may have been rewritten.
        return self._mark == os.pread(fd, len(self._mark), max(0, self.offset - len(self._mark)))

    def _apply(self, batch: ScanBatch) -> bool:
        changed = bool(batch.records or batch.gaps or batch.new_tags)
        order = self.found.name
        with self._index.lock:
            self._add_tags(batch, order)
            starts: dict[int, list[tuple[int, int]]] = {}
            for tag, row, step in batch.starts:
                starts.setdefault(tag, []).append((row, step))
            self._add_points(batch, order, starts)
            bounds = batch.blobs.bounds.tolist()
            for i, tag in enumerate(batch.blobs.tags.tolist()):
                series = self._series[tag]
                if isinstance(series, BlobSeries):
                    rows = tuple(c[bounds[i] : bounds[i + 1]] for c in batch.blobs.columns)
                    series.add_rows(self.number, order, rows, starts.get(tag, []))
            if np.isfinite(batch.first_wall):
                self.first_wall = batch.first_wall
            if np.isfinite(batch.last_wall):
                self.last_wall = float(np.fmax(self.last_wall, batch.last_wall))
            self.run.start = float(np.fmin(self.run.start, self.first_wall))
            self.run.last_wall = float(np.fmax(self.run.last_wall, self.last_wall))
        self.offset = batch.offset
        self.state = batch.state
        self.problems.batch(batch, self.size)
        if batch.state != MORE:
            changed = changed or not self.caught_up
            self.caught_up = True
        return changed

    def _add_points(
        self, batch: ScanBatch, order: str, starts: dict[int, list[tuple[int, int]]]
    ) -> None:
        """Adds the points to each series; vectorized over all tags where possible."""
        if not len(batch.scalars.tags):
            return
        step, wall, value = batch.scalars.columns
        with np.errstate(over="ignore", invalid="ignore"):
            narrow = value.astype(np.float32)
        falling = tags_where(batch.scalars, step[1:] < step[:-1])
        clocks = tags_where(batch.scalars, wall[1:] < wall[:-1] - CLOCK_JUMP_S)
        odd = tags_where(batch.scalars, ~np.isfinite(value), 0) | clocks
        bounds = batch.scalars.bounds.tolist()
        first_walls = wall[batch.scalars.bounds[:-1]].tolist()
        last_walls = np.fmax.reduceat(wall, batch.scalars.bounds[:-1]).tolist()
        wides = batch.wide.tolist()
        size = ScalarSeries.format.record.itemsize
        packed = self._packed(batch.scalars, narrow)

        def rows_of(i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            rows = slice(bounds[i], bounds[i + 1])
            return step[rows], wall[rows], (value if wides[i] else narrow)[rows]

        for i, tag in enumerate(batch.scalars.tags.tolist()):
            series = self._series[tag]
            if not isinstance(series, ScalarSeries):
                continue
            begin, end = bounds[i], bounds[i + 1]
            before = series.last_wall_of(self.number)
            rising = tag not in falling
            mine = starts.get(tag, [])
            added = False
            if packed and end - begin <= FEW_ROWS and not wides[i]:
                few = packed[begin * size : end * size]
                added = series.append_packed(self.number, order, few, mine, rising)
            if not added:
                columns = rows_of(i)
                series.add_points(
                    self.number, order, columns, wides[i], mine, rising, last_walls[i]
                )
                if series.writers_at_once():
                    self.problems.writers_at_once(series)
            if tag in odd or first_walls[i] < before - CLOCK_JUMP_S:
                self.problems.points(series, rows_of(i), before)

    @staticmethod
    def _packed(rows: Rows, narrow: np.ndarray) -> bytes:
        """Returns all rows in the format of few rows, if most of the tags have few; else b""."""
        if len(narrow) > FEW_ROWS * len(rows.tags):
            return b""
        return ScalarSeries.format.packed((*rows.columns[:2], narrow))

    def _add_tags(self, batch: ScanBatch, order: str) -> None:
        # Each entry is freed once it was used: there may be 100,000 of them.
        entries = deque(batch.new_tags)
        batch.new_tags.clear()
        while entries:
            entry = entries.popleft()
            if len(self.run.series) >= MAX_TAGS:
                self._series.append(None)
                self.problems.too_many_tags()
            else:
                self._series.append(self._index.add_series(self.run, entry, order))


def _mark_before(fd: int, offset: int) -> bytes:
    """Returns the last bytes before offset, which identify the file; b"" if they cannot be read."""
    begin = max(0, offset - _MARK_BYTES)
    try:
        return os.pread(fd, offset - begin, begin)
    except OSError:
        return b""  # the rows that were scanned remain valid


def tags_where(rows: Rows, true: np.ndarray, shift: int = 1) -> set[int]:
    """Returns the tags that have a row for which a condition holds.

    Args:
      rows: rows of many tags.
      true: bool; element i is about row i + shift, so shift 1 compares a row with the one before.
    """
    places = np.flatnonzero(true) + shift
    if not len(places):
        return set()
    if shift:
        places = places[~np.isin(places, rows.bounds)]  # the rows belong to two different tags
    return set(rows.tags[np.searchsorted(rows.bounds, places, "right") - 1].tolist())

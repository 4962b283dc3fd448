"""One event file on its way into the store."""

from __future__ import annotations

import os
import time

import numpy as np

from headrace.board.reading.log_folder import LogFolder
from headrace.board.reading.logdir_walk import FoundFile
from headrace.board.reading.reading_problems import BatchWatch
from headrace.board.reading.record_access import KnownFile, RecordAccess
from headrace.board.reading.scan_batch import DEAD, END, MAX_TAGS, MORE, Rows, ScanBatch
from headrace.board.reading.scanner import Scanner, new_scanner
from headrace.board.store.blob_series import BlobSeries
from headrace.board.store.problems import WARNING
from headrace.board.store.run_index import RunIndex
from headrace.board.store.scalar_series import ScalarSeries

# Enough that the work between passes does not count, little enough to show a curve early.
PASS_BYTES = 16 << 20
_MARK_BYTES = 32


class EventFileFeed:
    """Reads a file's further records into the store; one thread at a time.

    Args:
      found: the file.
      logdir, index, records: where it lies and where its rows and its name go.
    """

    def __init__(
        self, found: FoundFile, logdir: LogFolder, index: RunIndex, records: RecordAccess
    ) -> None:
        self.found = found
        self._logdir = logdir
        self._index = index
        self._records = records
        self.run = index.add_run(found.run)
        self.number = records.add_file(KnownFile(found.name, found.path, found.device, found.inode))
        self._scanner: Scanner = new_scanner()
        self._series: list[ScalarSeries | BlobSeries | None] = []
        self.watch = BatchWatch(index.problems, self.run, found.name)
        self._mark = b""
        self.offset = 0
        self.size = found.size
        self.seen = -1  # the size that the last pass read up to
        self.state = MORE
        self.grew_at = time.monotonic()
        self.growths = 0
        self.growth_s = 0.0  # between two of them, about
        self.grew_wall = found.mtime
        self.replaced = False
        self.caught_up = False

    def pending_bytes(self) -> int:
        """Returns how many bytes are there to be read."""
        return 0 if self.state == DEAD else max(0, self.size - self.offset)

    def see_size(self, size: int, mtime: float) -> None:
        """Takes note of the file's size now."""
        if size != self.size:
            if size < self.offset:
                self.replaced = True
            self.size = size
            now = time.monotonic()
            between = now - self.grew_at
            self.growth_s = between if self.growths <= 1 else 0.9 * self.growth_s + 0.1 * between
            self.growths += 1
            self.grew_at, self.grew_wall = now, mtime
            self.watch.not_silent()

    def read(self, limit: int = PASS_BYTES) -> bool:
        """Reads one pass into the store. Returns: whether anything in the store changed."""
        try:
            fd = self._logdir.open_file(self.found.path)
        except OSError as error:
            self.state = END
            self.seen = self.size
            self.caught_up = True
            text = f"cannot be opened: {error.strerror or error}"
            self._index.problems.put(
                "unreadable", WARNING, run=self.run.id, file=self.found.name, text=text
            )
            return True
        try:
            if not self._is_the_same(fd):
                self.replaced = True
                return False
            batch = self._scanner.scan(fd, limit)
            if batch.offset != self.offset:
                self._mark = os.pread(fd, _MARK_BYTES, max(0, batch.offset - _MARK_BYTES))
        finally:
            os.close(fd)
        return self._apply(batch)

    def leave(self) -> None:
        """Takes the file's rows and problems out of the store."""
        with self._index.lock:
            for tag, series in [*self.run.series.items()]:
                series.drop_file(self.number)
                if not len(series):
                    del self.run.series[tag]
        self._records.drop_file(self.number)
        self._index.problems.forget(file=self.found.name)

    def _is_the_same(self, fd: int) -> bool:
        now = os.fstat(fd)
        if (now.st_dev, now.st_ino) != (self.found.device, self.found.inode):
            return False
        self.size = self.seen = now.st_size
        if self.size < self.offset:
            return False
        # What was read must still be there: the file may have been cut and written anew.
        return self._mark == os.pread(fd, len(self._mark), max(0, self.offset - len(self._mark)))

    def _apply(self, batch: ScanBatch) -> bool:
        changed = bool(batch.records or batch.holes or batch.new_tags)
        with self._index.lock:
            self._add_tags(batch)
            starts: dict[int, list[tuple[int, int]]] = {}
            for tag, row, step in batch.starts:
                starts.setdefault(tag, []).append((row, step))
            order = self.found.name
            bounds = batch.scalars.bounds.tolist()
            wide = batch.wide.tolist()
            falling = tags_going_back(batch.scalars)
            for i, tag in enumerate(batch.scalars.tags.tolist()):
                series = self._series[tag]
                if isinstance(series, ScalarSeries):
                    rows = tuple(c[bounds[i] : bounds[i + 1]] for c in batch.scalars.columns)
                    before = series.last_wall_of(self.number)
                    series.add_points(
                        self.number, order, rows, wide[i], starts.get(tag, []), tag not in falling
                    )
                    self.watch.points(series, rows, before)
            bounds = batch.blobs.bounds.tolist()
            for i, tag in enumerate(batch.blobs.tags.tolist()):
                series = self._series[tag]
                if isinstance(series, BlobSeries):
                    rows = tuple(c[bounds[i] : bounds[i + 1]] for c in batch.blobs.columns)
                    series.add_rows(self.number, order, rows, starts.get(tag, []))
            run = self.run
            if np.isfinite(batch.first_wall) and not run.start <= batch.first_wall:
                run.start = batch.first_wall
            if np.isfinite(batch.last_wall) and not run.last_wall >= batch.last_wall:
                run.last_wall = batch.last_wall
        self.offset = batch.offset
        self.state = batch.state
        self.watch.batch(batch, self.size)
        if batch.state != MORE:
            changed = changed or not self.caught_up
            self.caught_up = True
        return changed

    def _add_tags(self, batch: ScanBatch) -> None:
        for entry in batch.new_tags:
            if len(self.run.series) >= MAX_TAGS:
                self._series.append(None)
                self.watch.too_many_tags()
            else:
                self._series.append(self._index.add_series(self.run, entry))


def tags_going_back(rows: Rows) -> set[int]:
    """Returns the tags with a step below the one before it, found for all tags at once."""
    step = rows.columns[0]
    back = np.flatnonzero(step[1:] < step[:-1]) + 1
    if not len(back):
        return set()
    inside = back[~np.isin(back, rows.bounds)]
    return set(rows.tags[np.searchsorted(rows.bounds, inside, "right") - 1].tolist())

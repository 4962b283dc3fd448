"""One event file on its way into the store."""

from __future__ import annotations

import os
import time

import numpy as np

from headrace.board.reading.log_folder import LogFolder
from headrace.board.reading.logdir_walk import FoundFile
from headrace.board.reading.reading_problems import CLOCK_JUMP_S, BatchWatch
from headrace.board.reading.record_access import KnownFile, RecordAccess
from headrace.board.reading.scan_batch import DEAD, END, MAX_TAGS, MORE, Rows, ScanBatch
from headrace.board.reading.scanner import Scanner, new_scanner
from headrace.board.store.blob_series import BlobSeries
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
            self.watch.unreadable(error.strerror or str(error))
            return True
        self.watch.not_unreadable()
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
            self._add_points(batch, order, starts)
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

    def _add_points(
        self, batch: ScanBatch, order: str, starts: dict[int, list[tuple[int, int]]]
    ) -> None:
        """Hands each series its points; what can be done for all tags at once is."""
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
        for i, tag in enumerate(batch.scalars.tags.tolist()):
            series = self._series[tag]
            if not isinstance(series, ScalarSeries):
                continue
            rows = slice(bounds[i], bounds[i + 1])
            columns = (step[rows], wall[rows], (value if wides[i] else narrow)[rows])
            before = series.last_wall_of(self.number)
            series.add_points(
                self.number,
                order,
                columns,
                wides[i],
                starts.get(tag, []),
                tag not in falling,
                last_walls[i],
            )
            if tag in odd or first_walls[i] < before - CLOCK_JUMP_S:
                self.watch.points(series, columns, before)
            if series.writers_at_once():
                self.watch.writers_at_once(series)

    def _add_tags(self, batch: ScanBatch) -> None:
        for entry in batch.new_tags:
            if len(self.run.series) >= MAX_TAGS:
                self._series.append(None)
                self.watch.too_many_tags()
            else:
                self._series.append(self._index.add_series(self.run, entry))


def tags_where(rows: Rows, true: np.ndarray, shift: int = 1) -> set[int]:
    """Returns the tags with a row of which something is true.

    Args:
      rows: of many tags.
      true: bool; of row i + shift, so that 1 is for what is between a row and the next one.
    """
    places = np.flatnonzero(true) + shift
    if not len(places):
        return set()
    if shift:
        places = places[~np.isin(places, rows.bounds)]  # between two tags
    return set(rows.tags[np.searchsorted(rows.bounds, places, "right") - 1].tolist())

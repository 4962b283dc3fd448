"""Follows the logdir: finds event files, reads what they gain, removes what is gone."""

from __future__ import annotations

import logging
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from headrace.board.reading.event_file_reader import EventFileReader
from headrace.board.reading.logdir_walk import FoundFile, Walk, walk_logdir
from headrace.board.reading.places.named_folders import LogSource
from headrace.board.reading.record_access import RecordAccess
from headrace.board.reading.scan_batch import MORE, TORN
from headrace.board.reading.scanner import MANY_SERIES, release_memory, scanner_name
from headrace.board.store.path_text import path_text
from headrace.board.store.problems import NOTE, WARNING
from headrace.board.store.run import Run
from headrace.board.store.run_index import RunIndex
from headrace.board.store.scalar_series import ScalarSeries

_WALK_S = 2.0
_SLOW_WALK_S = 10.0
_MANY_FOLDERS = 5000
_POLL_S = 0.1  # of files that grow
_POLL_ALL_S = 0.25  # of all others, and of the folders
_POLLED_FILES = 2000
_ACTIVE_S = 60.0
_TORN_S = 5.0
_READERS = 2
_LONGEST_STOP_S = 10.0
_MISSED_WALKS = 2  # before a file counts as gone

_NAN = float("nan")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Progress:
    """Number of files; bytes read and present; loading: whether a first read is still going on."""

    files: int
    bytes_done: int
    bytes_total: int
    loading: bool


class Ingestion:
    """Walks the logdir, polls its files and reads what is new.

    Args:
      logdir: the folder to follow.
      index: the store.
      records: registers files, so that single records can be read later.
    """

    def __init__(self, logdir: LogSource, index: RunIndex, records: RecordAccess) -> None:
        self._logdir = logdir
        self._index = index
        self._records = records
        self._file_readers: dict[str, EventFileReader] = {}
        self._missed: dict[str, int] = {}
        self._walk = Walk()
        self._skipped: set[tuple[str, str]] = set()
        self._walked = False
        self._missing_folders: set[str] = set()
        self._had_all = False
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._released_at = 0  # series that there were when memory was released
        self._readers = _READERS if scanner_name() == "native" else 1

    def progress(self) -> Progress:
        """Returns how much has been read."""
        files = [*self._file_readers.values()]
        return Progress(
            len(files),
            sum(file.offset for file in files),
            sum(file.size for file in files),
            not self._walked or any(not file.caught_up for file in files),
        )

    def load(self) -> None:
        """Reads all files once, to their end."""
        self._take_walk()
        while self._read_pending() and not self._stopping.is_set():
            pass
        for file in self._file_readers.values():
            self._watch_tail(file, 0.0)
        self._index.touch()

    def start(self) -> None:
        """Starts a thread that reads all files and follows them as they grow."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._follow, name="board-reader", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stops the thread; abandons it if it hangs in a system call, as on a dead network disk."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_LONGEST_STOP_S)
            if self._thread.is_alive():
                _log.warning(
                    "headrace-board: a disk does not respond; not waiting for it any longer"
                )
            self._thread = None

    def _follow(self) -> None:
        next_walk = next_poll = 0.0
        while not self._stopping.is_set():
            try:
                now = time.monotonic()
                if now >= next_walk or (now >= next_poll and self._folders_changed()):
                    self._take_walk()
                    many = len(self._walk.folder_times) > _MANY_FOLDERS
                    next_walk = time.monotonic() + (_SLOW_WALK_S if many else _WALK_S)
                polls_all = now >= next_poll
                if polls_all:
                    next_poll = now + _POLL_ALL_S
                self._poll(polls_all)
                more = self._read_pending()
                self._watch_runs()
                if more:
                    continue  # after looking for new runs
            except Exception:
                # A bug: the board continues with what it has read.
                _log.exception("headrace-board: reading the logdir failed; trying again")
                self._stopping.wait(_WALK_S)
            self._stopping.wait(_POLL_S)

    def _take_walk(self) -> None:
        there = self._logdir.refresh()
        self._report_missing_folders()
        walk = walk_logdir(self._logdir, self._stopping.is_set) if there else Walk()
        if self._stopping.is_set():
            return  # the walk is incomplete
        self._walk = walk
        changed = not self._walked
        self._walked = True
        for name, found in walk.files.items():
            self._missed.pop(name, None)
            file = self._file_readers.get(name)
            if file is not None and _is_same(file.found, found):
                file.see_size(found.size, found.mtime)
                continue
            if file is not None:
                self._remove_rows(file)
            self._file_readers[name] = EventFileReader(
                found, self._logdir, self._index, self._records
            )
            changed = True
        for name in [name for name in self._file_readers if name not in walk.files]:
            self._missed[name] = self._missed.get(name, 0) + 1
            if self._missed[name] >= _MISSED_WALKS:
                self._drop(name)
                changed = True
        changed = self._take_traces(walk) or changed
        for what, why in self._skipped - walk.skipped:
            self._index.problems.remove("skipped", file=what, subject=why)
            changed = True
        for what, why in sorted(walk.skipped - self._skipped):
            self._index.problems.put("skipped", NOTE, file=what, text=why, subject=why)
            changed = True
        self._skipped = walk.skipped
        if changed:
            self._index.touch()

    def _report_missing_folders(self) -> None:
        missing = set(self._logdir.missing())
        if missing == self._missing_folders:
            self._had_all = self._had_all or not missing
            return
        for name in missing - self._missing_folders:
            what = "was deleted" if self._had_all else "does not exist"
            shown = path_text(name)  # pages must not see the path
            text = f"the log folder {shown} {what}; the board waits for it"
            self._index.problems.put("missing_logdir", WARNING, text=text, subject=name)
        for name in self._missing_folders - missing:
            self._index.problems.remove("missing_logdir", subject=name)
        self._missing_folders = missing
        self._had_all = self._had_all or not missing
        self._index.touch()

    def _take_traces(self, walk: Walk) -> bool:
        """Registers the trace files that a walk found. Returns: whether anything changed."""
        files = self._index.trace_files
        changed = False
        for name, found in walk.traces.items():
            state = (found.device, found.inode, found.size, found.mtime)
            changed = files.put(self._index.add_run(found.run), name, found.path, state) or changed
        gone = files.keep_only(walk.traces)
        for file in gone:
            self._drop_if_empty(file.run)
        return changed or bool(gone)

    def _drop_if_empty(self, run: Run) -> None:
        """Removes a run that has neither event files nor trace files."""
        has_events = any(file.run is run for file in self._file_readers.values())
        if not has_events and run.id not in self._index.trace_files.runs():
            self._index.drop_run(run)

    def _drop(self, name: str) -> None:
        file = self._file_readers.pop(name)
        self._missed.pop(name, None)
        if not self._remove_rows(file):
            self._drop_if_empty(file.run)

    def _remove_rows(self, file: EventFileReader) -> list[EventFileReader]:
        """Removes a file's rows and what depends on them. Returns: the other files of the run."""
        file.remove()
        run = file.run
        others = [one for one in self._file_readers.values() if one.run is run and one is not file]
        with self._index.lock:
            run.start = min(
                (f.first_wall for f in others if f.first_wall == f.first_wall), default=_NAN
            )
            run.last_wall = max(
                (f.last_wall for f in others if f.last_wall == f.last_wall), default=_NAN
            )
            for one in others:
                one.problems.withdraw_writers_at_once()
            for series in run.series.values():
                if others and isinstance(series, ScalarSeries) and series.writers_at_once():
                    others[0].problems.writers_at_once(series)
                    break
        return others

    def _folders_changed(self) -> bool:
        """Returns whether a folder gained or lost an entry, such as a new run or writer."""
        if len(self._walk.folder_times) > _POLLED_FILES:
            return False
        for path, before in self._walk.folder_times.items():
            try:
                now = self._logdir.stat(path).st_mtime_ns
            except OSError:
                now = -1
            if now != before:
                return True
        return False

    def _poll(self, all_files: bool) -> None:
        now = time.monotonic()
        files = [*self._file_readers.values()]
        if not all_files or len(files) > _POLLED_FILES:
            files = [file for file in files if now - file.grew_at < _ACTIVE_S][:_POLLED_FILES]
        for file in files:
            try:
                found = self._logdir.stat(file.found.path)
            except OSError:
                continue  # the next walk handles it
            file.see_size(found.st_size, found.st_mtime)

    def _read_pending(self) -> bool:
        """Reads one pass of each file that has new data, so that all runs appear early.

        Returns: whether more can be read at once.
        """
        files = [file for file in self._file_readers.values() if file.wants_reading()]
        if self._readers > 1 and len(files) > 1 and sum(f.pending_bytes() for f in files) > 1e6:
            with ThreadPoolExecutor(self._readers) as pool:
                changed = [*pool.map(self._read, files)]
        else:
            changed = [self._read(file) for file in files]
        for file in files:
            file.problems.not_torn()
            if file.replaced:
                self._reread(file)
        if any(changed):
            self._index.touch()
            series = self._index.totals().series
            if series >= self._released_at + MANY_SERIES:
                release_memory()
                self._released_at = series
        return any(file.state == MORE for file in self._file_readers.values())

    def _read(self, file: EventFileReader) -> bool:
        if self._stopping.is_set():
            return False
        try:
            return file.read()
        except Exception as error:
            # A bug, or no memory. The data of this pass are lost, so this file cannot continue;
            # all others can.
            _log.exception("headrace-board: %s: reading failed", file.found.name)
            file.stop_reading(f"reading failed ({type(error).__name__}: {error})")
            return True

    def _reread(self, file: EventFileReader) -> None:
        name = file.found.name
        try:
            fd = self._logdir.open_file(file.found.path)
            try:
                now = os.fstat(fd)
            finally:
                os.close(fd)
        except OSError:
            self._drop(name)  # the next walk finds what is there
            self._index.touch()
            return
        self._remove_rows(file)
        found = FoundFile(
            file.found.run,
            name,
            file.found.path,
            now.st_dev,
            now.st_ino,
            now.st_size,
            now.st_mtime,
        )
        self._file_readers[name] = EventFileReader(found, self._logdir, self._index, self._records)
        self._index.touch()

    def _watch_tail(self, file: EventFileReader, quiet_s: float) -> None:
        if file.state == TORN and time.monotonic() - file.grew_at >= quiet_s:
            file.problems.torn(file.offset, file.size)

    def _watch_runs(self) -> None:
        now = time.time()
        live: dict[Run, bool] = {}
        before = self._index.problems.rev
        for file in self._file_readers.values():
            live[file.run] = live.get(file.run, False) or now - file.grew_wall < _ACTIVE_S
            self._watch_tail(file, _TORN_S)
        changed = self._index.problems.rev != before
        for run, is_live in live.items():
            if run.live != is_live:
                run.live = is_live
                changed = True
        if changed:
            self._index.touch()


def _is_same(old: FoundFile, new: FoundFile) -> bool:
    return (old.device, old.inode, old.path) == (new.device, new.inode, new.path)

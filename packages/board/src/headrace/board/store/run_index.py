"""The store: runs, tags and their series, with a revision number."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from headrace.board.store.blob_series import BlobSeries
from headrace.board.store.path_text import path_text
from headrace.board.store.problems import Problems
from headrace.board.store.run import Run, Tag
from headrace.board.store.scalar_series import ScalarSeries
from headrace.board.store.tag_entry import TagEntry
from headrace.board.store.trace_files import TraceFiles


class Totals(NamedTuple):
    """Numbers of runs, series, points of scalar series, and rows of all other series."""

    runs: int
    series: int
    points: int
    blobs: int


class RunIndex:
    """All that has been read so far. Threads see each batch completely or not at all.

    Ids are small integers that are valid for the life of the process; `rev` grows with each change.
    """

    def __init__(self) -> None:
        self.problems = Problems()
        self.trace_files = TraceFiles()
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._rev = 0
        self._closed = False
        self._totals = Totals(0, 0, 0, 0)
        self._totals_rev = 0
        self._runs: dict[int, Run] = {}
        self._run_by_folder: dict[str, Run] = {}
        self._next_run = 0
        self._tags: dict[int, Tag] = {}
        self._tag_by_key: dict[tuple[str, str], Tag] = {}

    @property
    def rev(self) -> int:
        """The revision: the number of the last change."""
        return self._rev

    @property
    def lock(self) -> threading.RLock:
        """The lock that threads hold while they change the store."""
        return self._lock

    def runs(self) -> list[Run]:
        """Returns the runs, by name."""
        with self._lock:
            return sorted(self._runs.values(), key=lambda run: run.name)

    def run(self, run_id: int) -> Run:
        """Returns a run. Raises: KeyError."""
        with self._lock:
            return self._runs[run_id]

    def tags(self) -> list[Tag]:
        """Returns all tags that any run has, by id."""
        with self._lock:
            used = {tag for run in self._runs.values() for tag in run.series}
            return [self._tags[tag] for tag in sorted(used)]

    def tag(self, tag_id: int) -> Tag:
        """Returns a tag. Raises: KeyError."""
        with self._lock:
            return self._tags[tag_id]

    def find_tag(self, name: str, kind: str) -> Tag | None:
        """Returns the tag of that name and kind, or None."""
        with self._lock:
            return self._tag_by_key.get((name, kind))

    def series(self, run_id: int, tag_id: int) -> ScalarSeries | BlobSeries:
        """Returns the rows of a tag in a run. Raises: KeyError."""
        with self._lock:
            return self._runs[run_id].series[tag_id]  # type: ignore[return-value]

    def all_series(self) -> list[ScalarSeries | BlobSeries]:
        """Returns every series, by run and then by tag."""
        with self._lock:
            return [
                series  # type: ignore[misc]
                for run in self.runs()
                for _, series in sorted(run.series.items())
            ]

    def series_of_kind(self, kind: str) -> list[ScalarSeries | BlobSeries]:
        """Returns the series of a kind, by run and then by tag."""
        return [series for series in self.all_series() if series.tag.kind == kind]

    def totals(self) -> Totals:
        """Returns how much there is; found once for each change."""
        with self._lock:
            if self._totals_rev != self._rev:
                points = blobs = series_count = 0
                for run in self._runs.values():
                    series_count += len(run.series)
                    for series in run.series.values():
                        if isinstance(series, ScalarSeries):
                            points += len(series)
                        else:
                            blobs += len(series)
                self._totals = Totals(len(self._runs), series_count, points, blobs)
                self._totals_rev = self._rev
            return self._totals

    def wait(self, since: int, timeout: float) -> int:
        """Waits until `rev` is above since, at most `timeout` seconds. Returns: rev."""
        until = time.monotonic() + timeout
        with self._changed:
            while self._rev <= since and not self._closed:
                left = until - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
            return self._rev

    @property
    def closed(self) -> bool:
        """Whether the store will not change any more."""
        return self._closed

    def touch(self) -> None:
        """Increments the revision and wakes all waiting threads."""
        with self._changed:
            self._rev += 1
            self._changed.notify_all()

    def close(self) -> None:
        """Wakes all waiting threads; later waits return at once."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def add_run(self, folder: str) -> Run:
        """Returns the run of a folder; creates it if necessary."""
        with self._lock:
            run = self._run_by_folder.get(folder)
            if run is None:
                run = Run(self._next_run, path_text(folder) or ".", folder)
                self._next_run += 1
                self._runs[run.id] = self._run_by_folder[folder] = run
            return run

    def drop_run(self, run: Run) -> None:
        """Removes a run whose files are gone."""
        with self._lock:
            self._runs.pop(run.id, None)
            self._run_by_folder.pop(run.folder, None)
        self.problems.forget(run=run.id)

    def add_series(self, run: Run, entry: TagEntry, order: str = "") -> ScalarSeries | BlobSeries:
        """Returns the series of a tag in a run; creates it if necessary.

        Args:
          order: sorts the file of the entry among the files of the run; the plugin content of the
            last file counts, in whichever order the files are read.
        """
        with self._lock:
            key = (entry.name, entry.kind)
            tag = self._tag_by_key.get(key)
            if tag is None:
                tag = Tag(len(self._tags), entry.name, entry.kind)
                self._tags[tag.id] = self._tag_by_key[key] = tag
            tag.plugin = tag.plugin or entry.plugin
            tag.display = tag.display or entry.display
            tag.description = tag.description or entry.description
            tag.plugin_content = tag.plugin_content or entry.content
            series = run.series.get(tag.id)
            if series is None:
                series = (ScalarSeries if tag.kind == "scalar" else BlobSeries)(run, tag)
                run.series[tag.id] = series
            if entry.content and order >= series.content_order:
                same = entry.content == tag.plugin_content
                series.plugin_content = tag.plugin_content if same else entry.content
                series.content_order = order
            return series  # type: ignore[return-value]

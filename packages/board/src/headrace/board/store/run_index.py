"""The store: runs, tags and their series, with a revision number."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from headrace.board.store.blob_series import BlobSeries
from headrace.board.store.path_text import path_text
from headrace.board.store.problems import Problems
from headrace.board.store.run import Run, Tag, Versions
from headrace.board.store.scalar_series import ScalarSeries
from headrace.board.store.series import Series
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
        self._versions = Versions()
        self._runs: dict[int, Run] = {}
        self._run_by_folder: dict[str, Run] = {}
        self._next_run = 0
        self._tags: list[Tag] = []  # by id
        self._tag_by_name: dict[str, dict[str, Tag]] = {}  # by kind

    @property
    def rev(self) -> int:
        """The revision: the number of the last change."""
        return self._rev

    @property
    def lock(self) -> threading.RLock:
        """The lock that threads hold while they change the store."""
        return self._lock

    @property
    def versions(self) -> Versions:
        """The numbers of changes, which threads take that hold `lock`."""
        return self._versions

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
            return [tag for tag in self._tags if tag.uses]

    def tag(self, tag_id: int) -> Tag:
        """Returns a tag. Raises: KeyError."""
        with self._lock:
            if not 0 <= tag_id < len(self._tags):
                raise KeyError(tag_id)
            return self._tags[tag_id]

    def find_tag(self, name: str, kind: str) -> Tag | None:
        """Returns the tag of that name and kind, or None."""
        with self._lock:
            return self._tag_by_name.get(kind, {}).get(name)

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
        """Returns how much there is."""
        with self._lock:
            runs = self._runs.values()
            return Totals(
                len(runs),
                sum(len(run.series) for run in runs),
                sum(run.points for run in runs),
                sum(run.blobs for run in runs),
            )

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
                run = Run(self._next_run, path_text(folder) or ".", folder, versions=self._versions)
                self._next_run += 1
                self._runs[run.id] = self._run_by_folder[folder] = run
            return run

    def drop_run(self, run: Run) -> None:
        """Removes a run whose files are gone."""
        with self._lock:
            if self._runs.pop(run.id, None) is not None:
                for series in run.series.values():
                    series.tag.uses -= 1
            self._run_by_folder.pop(run.folder, None)
        self.problems.forget(run=run.id)

    def add_series(self, run: Run, entry: TagEntry, order: str = "") -> ScalarSeries | BlobSeries:
        """Returns the series of a tag in a run; creates it if necessary.

        Args:
          order: sorts the file of the entry among the files of the run; the plugin content of the
            last file counts, in whichever order the files are read.
        """
        with self._lock:
            tag = self._tag(entry)
            series = run.series.get(tag.id)
            if series is None:
                series = (ScalarSeries if tag.kind == "scalar" else BlobSeries)(run, tag)
                run.series[tag.id] = series
                run.removed.pop(tag.id, None)
                if not tag.uses:
                    tag.version = series.version  # clients may have dropped it
                tag.uses += 1
            if entry.content:
                same = entry.content == tag.plugin_content
                series.set_plugin_content(order, tag.plugin_content if same else entry.content)
            return series  # type: ignore[return-value]

    def remove_series(self, series: Series) -> None:
        """Removes a series from its run."""
        with self._lock:
            run, tag = series.run, series.tag
            if run.series.pop(tag.id, None) is not None:
                tag.uses -= 1
                run.removed[tag.id] = run.new_version()
                run.note_restarts(tag.id, False)

    def _tag(self, entry: TagEntry) -> Tag:
        """Returns the tag of an entry, with texts that it lacked."""
        by_name = self._tag_by_name.setdefault(entry.kind, {})
        tag = by_name.get(entry.name)
        if tag is None:
            tag = by_name[entry.name] = Tag(len(self._tags), entry.name, entry.kind)
            self._tags.append(tag)
        texts = (tag.plugin, tag.display, tag.description)
        tag.plugin = tag.plugin or entry.plugin
        tag.display = tag.display or entry.display
        tag.description = tag.description or entry.description
        tag.plugin_content = tag.plugin_content or entry.content
        if texts != (tag.plugin, tag.display, tag.description):
            tag.version = self._versions.next()
        return tag

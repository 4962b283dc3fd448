"""The board of one logdir: its store, readers, caches and saved state."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from headrace.board.embedding.embedding_index import EmbeddingIndex
from headrace.board.graph.graph_cache import GraphCache
from headrace.board.native_modules import report_missing_modules
from headrace.board.reading.ingestion import Ingestion, Progress
from headrace.board.reading.log_folder import LogFolder
from headrace.board.reading.places.log_places import Place, title_of
from headrace.board.reading.places.named_folders import LogSource, NamedFolders
from headrace.board.reading.places.remote_mirror import RemoteMirror
from headrace.board.reading.record_access import RecordAccess
from headrace.board.state_file import StateFile
from headrace.board.store.run_index import RunIndex
from headrace.board.trace.placement.placement_cache import PlacementCache
from headrace.board.trace.trace_cache import TraceCache
from headrace.formats.file_systems import is_remote, local_path


class Board:
    """The data of one logdir, which all panels of an app share.

    Args:
      logdir: folder of event files, or its URL; each folder with event files is a run. It need not
        exist yet. Several of them by name: runs have the name of their folder before their own.
      title: title of the browser tab; by default the name of the folder.
      state_file: file of notes and saved views; None: nothing is saved.
      follow_links: whether symbolic links may lead out of the logdir.
      follow: whether `start` keeps reading as files grow, in a thread; else it reads once.
    """

    def __init__(
        self,
        logdir: Place | Mapping[str, Place],
        *,
        title: str = "",
        state_file: str | os.PathLike[str] | None = None,
        follow_links: bool = False,
        follow: bool = True,
    ) -> None:
        self.name = title_of(logdir)
        self.title = title or self.name or "headrace"
        self.token_needed = False
        self.index = RunIndex()
        self._mirrors: list[RemoteMirror] = []
        self.folder = self._open(logdir, follow_links)
        report_missing_modules(self.index.problems)
        self.records = RecordAccess(self.folder)
        self.graphs = GraphCache(self)
        self.traces = TraceCache(self)
        self.placements = PlacementCache(self)
        self.embeddings = EmbeddingIndex(self.folder, self.index.problems)
        self.state = None if state_file is None else StateFile(Path(state_file))
        self._ingestion = Ingestion(self.folder, self.index, self.records)
        self._follow = follow

    @property
    def state_is_read_only(self) -> bool:
        """Whether changes of saved documents cannot be saved here."""
        return self.state is None or self.state.is_read_only()

    def load(self) -> Board:
        """Reads all event files once. Returns: itself."""
        for mirror in self._mirrors:
            mirror.sync()
        self._ingestion.load()
        return self

    def start(self) -> Board:
        """Starts reading in threads, which continues as files grow. Returns: itself."""
        if self._follow:
            for mirror in self._mirrors:
                mirror.start()
            self._ingestion.start()
        else:
            self.load()
        return self

    def stop(self) -> None:
        """Stops reading and wakes all threads that wait for changes."""
        self.index.close()
        self._ingestion.stop()
        self.records.close()
        self.folder.close()
        for mirror in self._mirrors:
            mirror.stop()

    def progress(self) -> Progress:
        """Returns how much of the logdir has been read."""
        progress = self._ingestion.progress()
        fetching = any(not mirror.synced for mirror in self._mirrors)
        return replace(progress, loading=True) if fetching else progress

    def _open(self, logdir: Place | Mapping[str, Place], follow_links: bool) -> LogSource:
        if isinstance(logdir, Mapping):
            return NamedFolders(
                {name: self._folder_of(place, follow_links) for name, place in logdir.items()}
            )
        return self._folder_of(logdir, follow_links)

    def _folder_of(self, place: Place, follow_links: bool) -> LogFolder:
        if not is_remote(place):
            return LogFolder(local_path(place), follow_links)
        mirror = RemoteMirror(os.fspath(place), self.index.problems)
        self._mirrors.append(mirror)
        return LogFolder(mirror.folder)

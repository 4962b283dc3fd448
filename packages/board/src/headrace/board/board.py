"""The board of one logdir: its store, readers, caches and saved state."""

from __future__ import annotations

import os
from pathlib import Path

from headrace.board.embedding.embedding_index import EmbeddingIndex
from headrace.board.graph.graph_cache import GraphCache
from headrace.board.native_modules import report_missing_modules
from headrace.board.reading.ingestion import Ingestion, Progress
from headrace.board.reading.log_folder import LogFolder
from headrace.board.reading.record_access import RecordAccess
from headrace.board.state_file import StateFile
from headrace.board.store.run_index import RunIndex
from headrace.board.trace.placement.placement_cache import PlacementCache
from headrace.board.trace.trace_cache import TraceCache


class Board:
    """The data of one logdir, which all panels of an app share.

    Args:
      logdir: folder of event files; each folder with event files is a run. It need not exist yet.
      title: title of the browser tab; by default the name of the folder.
      state_file: file of notes and saved views; None: nothing is saved.
      follow_links: whether symbolic links may lead out of the logdir.
      follow: whether `start` keeps reading as files grow, in a thread; else it reads once.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        *,
        title: str = "",
        state_file: str | os.PathLike[str] | None = None,
        follow_links: bool = False,
        follow: bool = True,
    ) -> None:
        self.logdir = Path(os.path.abspath(os.fspath(logdir)))
        self.title = title or self.logdir.name or "headrace"
        self.token_needed = False
        self.folder = LogFolder(self.logdir, follow_links)
        self.index = RunIndex()
        report_missing_modules(self.index.problems)
        self.records = RecordAccess(self.folder)
        self.graphs = GraphCache(self)
        self.traces = TraceCache(self)
        self.placements = PlacementCache(self)
        self.embeddings = EmbeddingIndex(self.folder, self.index.problems)
        self.state = None if state_file is None else StateFile(Path(state_file))
        self._ingestion = Ingestion(self.folder, self.index, self.records)
        self._follow = follow

    def load(self) -> Board:
        """Reads all event files once. Returns: itself."""
        self._ingestion.load()
        return self

    def start(self) -> Board:
        """Starts reading in threads, which continues as files grow. Returns: itself."""
        if self._follow:
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

    def progress(self) -> Progress:
        """Returns how much of the logdir has been read."""
        return self._ingestion.progress()

"""The board of one logdir: its store, its readers and its saved state."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from headrace.board.native_modules import tell_missing_parts
from headrace.board.reading.ingestion import Ingestion, Progress
from headrace.board.reading.log_folder import LogFolder
from headrace.board.reading.record_access import RecordAccess
from headrace.board.store.run_index import RunIndex


class Board:
    """What all panels of an app share.

    Args:
      logdir: folder of event files, in folders that are runs. It may come later.
      title: stands in the browser's tab; the folder's name by default.
      state_file: where notes and saved views are kept; None: nowhere.
      follow_links: whether symbolic links may lead out of the logdir.
      follow: whether `start` goes on reading as files grow, in a thread; else it reads once.
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
        self.state_file = None if state_file is None else Path(state_file)
        self.token_needed = False
        self.trace_shelf: Any = None  # TraceShelf, set by its panel; graphs ask it for costs
        self.folder = LogFolder(self.logdir, follow_links)
        self.index = RunIndex()
        tell_missing_parts(self.index.problems)
        self.records = RecordAccess(self.folder)
        self._ingestion = Ingestion(self.folder, self.index, self.records)
        self._follow = follow

    def load(self) -> Board:
        """Reads all that is there now. Returns: itself."""
        self._ingestion.load()
        return self

    def start(self) -> Board:
        """Reads in threads of its own, and goes on as files grow. Returns: itself."""
        if self._follow:
            self._ingestion.start()
        else:
            self.load()
        return self

    def stop(self) -> None:
        """Ends reading, and wakes whoever waits for changes."""
        self.index.close()
        self._ingestion.stop()
        self.records.close()
        self.folder.close()

    def progress(self) -> Progress:
        """Returns how far reading is."""
        return self._ingestion.progress()

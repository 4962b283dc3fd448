"""Trace files of other programs' profilers that lie in the logdir."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from headrace.board.store.run import Run


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A trace file; a file that changes gets a new id.

    name: relative to the logdir; path: to open; device, inode, size, mtime: as last seen.
    """

    id: int
    run: Run
    name: str
    path: str
    device: int
    inode: int
    size: int
    mtime: float

    @property
    def state(self) -> tuple[int, int, int, float]:
        """What changes when the file does."""
        return self.device, self.inode, self.size, self.mtime


class TraceFiles:
    """The trace files of a board, by name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[str, TraceFile] = {}
        self._next = 0
        self.version = 0  # grows with each change

    def all(self) -> list[TraceFile]:
        """Returns all files, by name."""
        with self._lock:
            return [self._files[name] for name in sorted(self._files)]

    def runs(self) -> set[int]:
        """Returns the ids of the runs that have trace files."""
        with self._lock:
            return {file.run.id for file in self._files.values()}

    def put(self, run: Run, name: str, path: str, state: tuple[int, int, int, float]) -> bool:
        """Adds a file, or replaces one that has changed. Returns: whether anything changed."""
        with self._lock:
            old = self._files.get(name)
            if old is not None and old.state == state and old.run is run:
                return False
            self._files[name] = TraceFile(self._next, run, name, path, *state)
            self._next += 1
            self.version += 1
            return True

    def keep_only(self, names: Iterable[str]) -> list[TraceFile]:
        """Forgets all other files. Returns: those."""
        kept = set(names)
        with self._lock:
            gone = [file for name, file in self._files.items() if name not in kept]
            for file in gone:
                del self._files[file.name]
            self.version += bool(gone)
        return gone

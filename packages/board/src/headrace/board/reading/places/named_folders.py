"""Several log folders as one: each below its name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Protocol

from headrace.board.reading.log_folder import LogFolder


class LogSource(Protocol):
    """What readers need of a logdir; LogFolder documents the methods."""

    follow_links: bool

    def refresh(self) -> bool: ...
    def close(self) -> None: ...
    def missing(self) -> list[str]: ...
    def roots(self) -> list[str]: ...
    def open_folder(self, path: str) -> int: ...
    def open_file(self, path: str) -> int: ...
    def resolve(self, path: str) -> str | None: ...
    def absolute(self, path: str) -> str: ...
    def stat(self, path: str) -> os.stat_result: ...


class NamedFolders:
    """Log folders, whose files have the name of their folder before their paths.

    Args:
      folders: by name; names have no slash.
    """

    def __init__(self, folders: Mapping[str, LogFolder]) -> None:
        self._folders = dict(folders)
        self._there: list[str] = []
        self.follow_links = any(folder.follow_links for folder in self._folders.values())

    def refresh(self) -> bool:
        """Opens the folders that exist. Returns: whether there is one."""
        self._there = [name for name, folder in self._folders.items() if folder.refresh()]
        return bool(self._there)

    def close(self) -> None:
        """Closes all folders."""
        for folder in self._folders.values():
            folder.close()

    def missing(self) -> list[str]:
        """Returns the names of the folders that did not exist at the last `refresh`."""
        return [name for name in self._folders if name not in self._there]

    def roots(self) -> list[str]:
        """Returns the paths at which a walk starts."""
        return list(self._there)

    def open_folder(self, path: str) -> int:
        """Returns a descriptor of a folder below one of the folders. Raises: OSError."""
        folder, below = self._split(path)
        return folder.open_folder(below)

    def open_file(self, path: str) -> int:
        """Returns a descriptor of a regular file below one of the folders. Raises: OSError."""
        folder, below = self._split(path)
        return folder.open_file(below)

    def resolve(self, path: str) -> str | None:
        """Returns the target of a link, or None if it must not be followed."""
        folder, below = self._split(path)
        target = folder.resolve(below)
        if target is None or os.path.isabs(target):
            return target
        name = path.partition(os.sep)[0]
        return os.path.join(name, target) if target else name

    def absolute(self, path: str) -> str:
        """Returns a path in the file system."""
        folder, below = self._split(path)
        return folder.absolute(below)

    def stat(self, path: str) -> os.stat_result:
        """Returns the state of a file or folder; follows links. Raises: OSError."""
        folder, below = self._split(path)
        return folder.stat(below)

    def _split(self, path: str) -> tuple[LogFolder, str]:
        if os.path.isabs(path):  # the target of a link that leads out, which is checked there
            return next(iter(self._folders.values())), path
        name, _, below = path.partition(os.sep)
        folder = self._folders.get(name)
        if folder is None:
            raise FileNotFoundError(f"{path}: in none of the log folders")
        return folder, below

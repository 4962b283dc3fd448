"""What files say, read again only when they have changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from headrace.board.embedding.config_folder import ConfigFolder
from headrace.board.embedding.embedding_error import EmbeddingError

_Said = TypeVar("_Said")


class FileCache:
    """Keeps what was read, and also that something was wrong with it. For one thread at a time."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], tuple[tuple[int, ...], Any]] = {}
        self._asked: set[tuple[str, str]] = set()

    def read(self, folder: ConfigFolder, reference: str, read: Callable[[], _Said]) -> _Said:
        """Returns what read() returns, or returned for the file as it still is.

        Raises: EmbeddingError as read() does, and if the file is not there.
        """
        version = folder.version(reference)
        key = (folder.path, reference)
        self._asked.add(key)
        kept = self._kept.get(key)
        if kept is None or kept[0] != version:
            try:
                kept = (version, read())
            except EmbeddingError as error:
                kept = (version, error)
            self._kept[key] = kept
        said = kept[1]
        if isinstance(said, EmbeddingError):
            raise EmbeddingError(str(said), said.missing)
        return said

    def forget_others(self) -> None:
        """Forgets the files that nobody has asked for since the last time."""
        self._kept = {key: kept for key, kept in self._kept.items() if key in self._asked}
        self._asked.clear()

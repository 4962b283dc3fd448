"""Caches what was read from files, until they change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from headrace.board.embedding.config_folder import ConfigFolder
from headrace.board.embedding.embedding_error import EmbeddingError

_Said = TypeVar("_Said")


class FileCache:
    """Keeps the results and the errors of reading files. Not thread-safe."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], tuple[tuple[int, ...], Any]] = {}
        self._used: set[tuple[str, str]] = set()

    def read(self, folder: ConfigFolder, reference: str, read: Callable[[], _Said]) -> _Said:
        """Returns read(), or its cached result if the file has not changed.

        Raises: EmbeddingError, as raised by read() or if the file does not exist.
        """
        version = folder.version(reference)
        key = (folder.path, reference)
        self._used.add(key)
        kept = self._kept.get(key)
        if kept is None or kept[0] != version:
            try:
                kept = (version, read())
            except EmbeddingError as error:
                kept = (version, error)
            self._kept[key] = kept
        message = kept[1]
        if isinstance(message, EmbeddingError):
            raise EmbeddingError(str(message), message.missing)
        return message

    def forget_others(self) -> None:
        """Drops the files that were not read since the last call."""
        self._kept = {key: kept for key, kept in self._kept.items() if key in self._used}
        self._used.clear()

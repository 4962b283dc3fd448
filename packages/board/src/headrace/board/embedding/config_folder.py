"""Opens the files that a projector config names, only below the config's own folder."""

from __future__ import annotations

import os
import posixpath

from headrace.board.embedding.embedding_error import EmbeddingError
from headrace.board.reading.places.named_folders import LogSource
from headrace.board.store.path_text import path_text

_MAX_LENGTH = 4096


class ConfigFolder:
    """The folder of a config.

    Args:
      logdir: the logdir that contains it.
      path: relative to the logdir; "" for the logdir itself.
    """

    def __init__(self, logdir: LogSource, path: str) -> None:
        self.path = path
        self._logdir = logdir

    def open(self, reference: str) -> int:
        """Returns a descriptor of a regular file. Raises: EmbeddingError."""
        inside = self._inside(reference)
        path = os.path.join(self.path, inside)
        try:
            return self._logdir.open_file(path)
        except PermissionError as error:
            raise EmbeddingError(f"{_shown(reference)} cannot be read: {_reason(error)}") from None
        except (OSError, ValueError) as error:
            opened = self._open_link(path)
            if opened is not None:
                return opened
            missing = isinstance(error, FileNotFoundError)
            raise EmbeddingError(
                f"{_shown(reference)} "
                + ("is not there" if missing else f"cannot be read: {_reason(error)}"),
                missing,
            ) from None

    def version(self, reference: str) -> tuple[int, ...]:
        """Returns numbers that change when the file does. Raises: EmbeddingError."""
        fd = self.open(reference)
        try:
            found = os.fstat(fd)
        finally:
            os.close(fd)
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def exists(self, reference: str) -> bool:
        """Returns whether the file exists and may be read."""
        try:
            self.version(reference)
        except EmbeddingError:
            return False
        return True

    def read(self, reference: str, max_bytes: int) -> bytes:
        """Returns a file's bytes. Raises: EmbeddingError, also for more than max_bytes."""
        fd = self.open(reference)
        try:
            size = os.fstat(fd).st_size
            if size > max_bytes:
                raise EmbeddingError(
                    f"{_shown(reference)} has {size:,} bytes, more than {max_bytes:,}"
                )
            return read_at(fd, 0, size)
        except OSError as error:
            raise EmbeddingError(f"{_shown(reference)} cannot be read: {_reason(error)}") from None
        finally:
            os.close(fd)

    def _inside(self, reference: str) -> str:
        """Returns a reference as a path relative to the folder."""
        if not reference or len(reference) > _MAX_LENGTH or "\0" in reference:
            raise EmbeddingError(f"{_shown(reference)!r} is not a file path")
        if posixpath.isabs(reference):
            for folder in {
                self._logdir.absolute(self.path),
                os.path.realpath(self._logdir.absolute(self.path)),
            }:
                folder = os.path.normpath(folder) + os.sep
                if reference.startswith(folder):
                    return self._inside(reference[len(folder) :])
            raise EmbeddingError(f"{_shown(reference)} leads out of the folder of the config")
        if ".." in reference.split("/"):
            raise EmbeddingError(f"{_shown(reference)} leads out of the folder of the config")
        return posixpath.normpath(reference)

    def _open_link(self, path: str) -> int | None:
        """Opens the target of a link within the folder (with --follow-links: anywhere)."""
        try:
            target, folder = self._logdir.resolve(path), self._logdir.resolve(self.path)
        except (OSError, ValueError):
            return None
        if target is None or folder is None:
            return None
        if not self._logdir.follow_links and folder and not target.startswith(folder + os.sep):
            return None
        try:
            return self._logdir.open_file(target)
        except OSError:
            return None


def read_at(fd: int, offset: int, size: int) -> bytes:
    """Returns `size` bytes of a file, or fewer at its end. Raises: OSError."""
    parts = []
    while size > 0:
        part = os.pread(fd, min(size, 1 << 28), offset)
        if not part:
            break
        parts.append(part)
        offset += len(part)
        size -= len(part)
    return b"".join(parts) if len(parts) != 1 else parts[0]


def _shown(reference: str) -> str:
    text = path_text(reference)
    return text if len(text) <= 200 else text[:200] + "…"


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or "not a regular file below the folder of the config"

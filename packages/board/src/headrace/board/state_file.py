"""Notes, tags, colours, archived runs and saved views: JSON documents in one file.

The file is replaced atomically after the new content has reached the disk, so a crash leaves the
old or the new file. Writers hold a lock file beside it, so several boards may share one file. This
is the only module of the board that writes files.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.board.web.json_text import dump_json

NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}\Z")
MAX_DOCUMENTS = 1000
MAX_FILE_BYTES = 64 << 20
_FORMAT = 1
_LOCK_WAIT_S = 10.0
_LOCK_PAUSE_S = 0.01


class StaleRevisionError(Exception):
    """The document was changed meanwhile; `revision` is its present revision."""

    def __init__(self, name: str, base: int, revision: int) -> None:
        super().__init__(
            f"{name} was changed meanwhile: its revision is {revision}, not {base}; "
            "read it again and repeat the change"
        )
        self.revision = revision


class StateFileError(Exception):
    """The state file cannot be read or written; the message says why."""


@dataclass(frozen=True)
class Saved:
    """A document and its revision, the number of changes; None and 0 if it was never saved."""

    revision: int
    document: Any


class StateFile:
    """The documents of a state file, which other processes may change too.

    Args:
      path: the file; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._documents: dict[str, Saved] = {}
        self._seen: tuple[int, int, int] | None = None

    def is_read_only(self) -> bool:
        """Returns whether the file is there and this process may not replace it."""
        target = self._target()
        return target.exists() and not os.access(target.parent, os.W_OK | os.X_OK)

    def all(self) -> dict[str, Saved]:
        """Returns the documents by name. Raises: StateFileError."""
        with self._lock:
            self._refresh()
            return dict(self._documents)

    def get(self, name: str) -> Saved:
        """Returns a document. Raises: StateFileError."""
        return self.all().get(name, Saved(0, None))

    def put(self, name: str, base: int, document: Any) -> int:
        """Replaces a document. Returns: its new revision.

        Args:
          name: name of the document.
          base: the revision to which the change was made.
          document: any JSON value; None empties the document.
        Raises: StaleRevisionError if the document has another revision; StateFileError.
        """
        with self._lock, self._alone():
            self._refresh()
            old = self._documents.get(name, Saved(0, None))
            if base != old.revision:
                raise StaleRevisionError(name, base, old.revision)
            if name not in self._documents and len(self._documents) >= MAX_DOCUMENTS:
                raise StateFileError(f"there are {MAX_DOCUMENTS} saved documents already")
            new = Saved(old.revision + 1, document)
            documents = {**self._documents, name: new}
            self._write(documents)
            self._documents = documents
            return new.revision

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Locks the file against other processes. Raises: StateFileError."""
        target = self._target()
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # A separate file, because each change replaces the state file.
            fd = os.open(
                target.with_name(f".{target.name}.lock"),
                os.O_RDWR | os.O_CREAT | os.O_CLOEXEC,
                0o666,
            )
        except OSError as error:
            raise StateFileError(f"the state file cannot be written: {error.strerror}") from None
        try:
            _lock_file(fd)
            yield
        finally:
            os.close(fd)

    def _target(self) -> Path:
        """Returns the file behind a symbolic link, so that the link itself is kept."""
        return Path(os.path.realpath(self._path))

    def _refresh(self) -> None:
        try:
            now = os.stat(self._path)
        except FileNotFoundError:
            self._documents, self._seen = {}, None
            return
        except OSError as error:
            raise StateFileError(f"the state file cannot be read: {error.strerror}") from None
        seen = (now.st_mtime_ns, now.st_size, now.st_ino)
        if seen != self._seen:
            self._documents = self._read(now.st_size)
            self._seen = seen

    def _read(self, size: int) -> dict[str, Saved]:
        if size > MAX_FILE_BYTES:
            raise StateFileError(f"the state file has {size} bytes, more than {MAX_FILE_BYTES}")
        try:
            raw = json.loads(self._path.read_bytes())
            if raw["format"] > _FORMAT:
                raise StateFileError(f"the state file has format {raw['format']}, a later one")
            return {
                str(name): Saved(_revision(entry["revision"]), entry["document"])
                for name, entry in raw["documents"].items()
            }
        except OSError as error:
            raise StateFileError(f"the state file cannot be read: {error.strerror}") from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise StateFileError(
                "the file is not a state file of the board; it is not changed"
            ) from None

    def _write(self, documents: dict[str, Saved]) -> None:
        text = dump_json(
            {
                "format": _FORMAT,
                "documents": {
                    name: {"revision": saved.revision, "document": saved.document}
                    for name, saved in documents.items()
                },
            }
        )
        if len(text) > MAX_FILE_BYTES:
            raise StateFileError(f"the state file would have more than {MAX_FILE_BYTES} bytes")
        target = self._target()
        folder = target.parent
        try:
            fd, temporary = tempfile.mkstemp(dir=folder, prefix=f".{target.name}.")
            try:
                with suppress(FileNotFoundError):
                    os.fchmod(fd, stat.S_IMODE(os.stat(target).st_mode))
                with os.fdopen(fd, "w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, target)
            except BaseException:
                os.unlink(temporary)
                raise
            _sync_folder(folder)
            now = os.stat(target)
            self._seen = (now.st_mtime_ns, now.st_size, now.st_ino)
        except OSError as error:
            raise StateFileError(f"the state file cannot be written: {error.strerror}") from None


def _revision(value: Any) -> int:
    """Returns a revision read from the file. Raises: ValueError if it is not one."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("no revision")
    return value


def _lock_file(fd: int) -> None:
    """Waits for the lock of a file; closing the file releases it. Raises: StateFileError."""
    until = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise StateFileError("another process keeps the state file locked") from None
            time.sleep(_LOCK_PAUSE_S)
        except OSError as error:
            raise StateFileError(f"the state file cannot be locked: {error.strerror}") from None


def _sync_folder(folder: Path) -> None:
    """Syncs the folder, so that the renaming is durable; ignores folders that cannot be synced."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError:
        pass
    finally:
        os.close(fd)

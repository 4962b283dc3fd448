"""Reads ranges of files by URL, and writes files that appear when they are complete."""

from __future__ import annotations

import io
import itertools
import os
import threading
from typing import Any, BinaryIO, cast

from headrace.formats import file_systems
from headrace.formats.errors import AbortedError, InvalidArgumentError
from headrace.formats.file_systems import errors_about, status_of

# An upload in parts has parts of this size, and readers in order fetch as much at once.
PART_BYTES = 8 << 20
_MAX_IDLE = 4
_MANY_PARTS = 1000
_numbers = itertools.count()


class RemoteReader:
    """Reads ranges of a file; threads may share it.

    A server that sends no ranges is read in order, or else the file is fetched once to a temporary
    file.

    Args:
      url: the file.
    Raises: NotFoundError; from the methods as errors_about, and AbortedError if another file
      replaced the one that was opened.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._lock = threading.Lock()
        self._idle: list[Any] = []
        self._stream: Any = None
        self._at = 0
        self._copy: Any = None
        with errors_about(url):
            self._system, self._path = file_systems.open_file_system(url)
            status = status_of(self._system.info(self._path))
            if status.is_directory:
                raise IsADirectoryError(url)
            self.size = status.size
            self.identity = status.identity
            first = self._opened()
            if self.size < 0 or not _has_ranges(first):
                self._stream = first
            else:
                self._idle.append(first)
        if self.size < 0:
            self._fetch_all()

    def read_range(self, offset: int, count: int) -> bytes:
        """Returns the bytes [offset, offset + count); fewer only at the end of the file."""
        count = max(0, min(count, self.size - offset))
        if not count:
            return b""
        with errors_about(self.url):
            if self._stream is not None or self._copy is not None:
                return self._read_in_order(offset, count)
            with self._lock:
                file = self._idle.pop() if self._idle else None
            if file is None:
                file = self._opened()
            try:
                file.seek(offset)
                data = _read_all(file, count)
            except ValueError:
                file.close()
                if not self._begin_stream(offset):
                    raise
                return self._read_in_order(offset, count)
            except BaseException:
                file.close()
                raise
            with self._lock:
                keep = len(self._idle) < _MAX_IDLE
                if keep:
                    self._idle.append(file)
            if not keep:
                file.close()
        if len(data) < count:
            raise self._replaced()
        return data

    def close(self) -> None:
        """Closes the connections."""
        with self._lock:
            files, self._idle = self._idle, []
            files += [f for f in (self._stream, self._copy) if f is not None]
            self._stream = self._copy = None
        for file in files:
            file.close()

    def _opened(self) -> Any:
        file = self._system.open(self._path, "rb", cache_type="none")
        details = getattr(file, "details", None)
        if not isinstance(details, dict) or "ETag" not in details:  # those of S3 are its own
            details = self._system.info(self._path)
        if status_of(details).identity != self.identity:
            file.close()
            raise self._replaced()
        return file

    def _begin_stream(self, offset: int) -> bool:
        """Reads from a server that sends no ranges, as it does not always say; returns success."""
        if not self.url.startswith(("http://", "https://")):
            return False
        with self._lock:
            if self._stream is None and self._copy is None:
                self._stream = self._system.open(self._path, "rb", block_size=0)
                while self._at < offset and (data := self._stream.read(offset - self._at)):
                    self._at += len(data)
        return True

    def _replaced(self) -> AbortedError:
        return AbortedError(
            None,
            None,
            f"{self.url}; another file replaced this one while it was read; open it again",
            path=self.url,
        )

    def _read_in_order(self, offset: int, count: int) -> bytes:
        with self._lock:
            if self._copy is None and offset == self._at:
                data = _read_all(self._stream, count)
                self._at += len(data)
                return data
            if self._copy is None:
                self._stream.close()
                self._stream = self._system.open(self._path, "rb", block_size=0)
                self._fetch_all()
            self._copy.seek(offset)
            return cast(bytes, self._copy.read(count))

    def _fetch_all(self) -> None:
        """Copies the stream to a temporary file."""
        import tempfile

        copy = tempfile.TemporaryFile()
        while data := self._stream.read(PART_BYTES):
            copy.write(data)
        self._stream.close()
        self._stream = None
        self.size = copy.tell()
        self._copy = copy

    def __enter__(self) -> RemoteReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _has_ranges(file: Any) -> bool:
    try:
        file.seek(1)
        file.seek(0)
    except (ValueError, OSError, NotImplementedError):
        return False
    return True


def _read_all(file: Any, count: int) -> bytes:
    """Reads count bytes; fewer only at the end."""
    data = file.read(count)
    if len(data) == count or not data:
        return bytes(data)
    parts = [data]
    missing = count - len(data)
    while missing and (data := file.read(missing)):
        parts.append(data)
        missing -= len(data)
    return b"".join(parts)


class _RawReader(io.RawIOBase):
    def __init__(self, reader: RemoteReader) -> None:
        self._reader = reader
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = max(0, offset + (0, self._at, self._reader.size)[whence])
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = self._reader.read_range(self._at, len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._reader.close()
        super().close()


def open_input(url: str, buffer_bytes: int = PART_BYTES) -> BinaryIO:
    """Opens a file for reading; it can be sought. Raises: as RemoteReader."""
    return io.BufferedReader(_RawReader(RemoteReader(url)), buffer_bytes)


class RemoteWriter:
    """Writes a file that appears, or replaces an older one, when `close` returns.

    Args:
      url: the file.
    Raises: InvalidArgumentError after `close` or `discard`; as errors_about, also from the methods.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.position = 0
        self._file: Any = None
        self._temporary: str | None = None
        with errors_about(url):
            if not file_systems.writes_objects(url):
                import socket

                name = f"{socket.gethostname()}-{os.getpid()}-{next(_numbers)}"
                self._temporary = f"{url}.tmp-{name}"
            self._system, self._path = file_systems.open_file_system(self._temporary or url)
            self._file = self._system.open(self._path, "wb", block_size=PART_BYTES)

    @property
    def closed(self) -> bool:
        """Whether `close` or `discard` was called."""
        return self._file is None

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Appends bytes."""
        if self._file is None:
            raise InvalidArgumentError(None, None, f"{self.url}: the file is closed")
        view = memoryview(data).cast("B")
        with errors_about(self.url):
            for start in range(0, len(view), PART_BYTES):
                self._file.write(view[start : start + PART_BYTES])
        self.position += len(view)
        if self.position > _MANY_PARTS * PART_BYTES and hasattr(self._file, "blocksize"):
            self._file.blocksize = 8 * PART_BYTES  # an upload has at most 10,000 parts
        return len(view)

    def tell(self) -> int:
        """Returns the number of bytes so far."""
        return self.position

    def flush(self) -> None:
        """Does nothing: readers see the file when it is closed."""

    def close(self) -> None:
        """Completes the file; later calls do nothing."""
        if self._file is None:
            return
        try:
            with errors_about(self.url):
                self._file.close()
        except BaseException:
            self.discard()
            raise
        self._file = None
        if self._temporary is not None:
            try:
                file_systems.rename(self._temporary, self.url)
            except BaseException:
                file_systems.discard(self._temporary)
                raise

    def discard(self) -> None:
        """Drops what was written; an older file stays as it was. Later calls do nothing."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            with errors_about(self.url):
                if self._temporary is not None:
                    file.close()
                    self._system.rm_file(self._path)
                elif hasattr(file, "discard"):
                    file.discard()
        finally:
            if self._temporary is None:
                # Otherwise its destructor would complete the upload.
                file.closed = True

    def __enter__(self) -> RemoteWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.discard()


def read_bytes(url: str) -> bytes:
    """Returns the contents of a file. Raises: as RemoteReader."""
    with RemoteReader(url) as reader:
        return reader.read_range(0, reader.size)


def write_bytes(url: str, data: bytes) -> None:
    """Replaces the contents of a file. Raises: as RemoteWriter."""
    with RemoteWriter(url) as writer:
        writer.write(data)

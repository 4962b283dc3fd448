"""Writes event files, and reads them while they grow."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from google.protobuf.message import DecodeError

from headrace.formats import file_systems
from headrace.formats.errors import DataLossError, NotFoundError, OpError
from headrace.formats.os_errors import os_errors_about
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.record_file import RecordReader, RecordWriter, TornRecordError, frame
from headrace.formats.remote_file import write_bytes

FILE_VERSION = "brain.Event:2"
_MARK = "tfevents"
# A store of objects cannot append: a part is written again with each flush, up to this size.
_PART_BYTES = 4 << 20
_numbers = itertools.count()


def event_file_name(when: float | None = None, suffix: str = "") -> str:
    """Returns an event file name that sorts by time and is unique on this host.

    Args:
      when: seconds since 1970; the current time by default.
      suffix: appended to the name.
    """
    seconds = int(time.time() if when is None else when)
    host = socket.gethostname() or "localhost"
    return f"events.out.{_MARK}.{seconds:010d}.{host}.{os.getpid()}.{next(_numbers):06d}{suffix}"


def is_event_file(name: str) -> bool:
    """Returns whether a file name is that of an event file."""
    return _MARK in os.path.basename(name)


def event_files(folder: str | os.PathLike[str]) -> list[str]:
    """Returns the paths of a folder's event files, oldest first; [] if the folder is missing."""
    try:
        path = os.fspath(folder)
        remote = file_systems.is_remote(path)
        names = file_systems.list_directory(path) if remote else os.listdir(path)
    except (FileNotFoundError, NotADirectoryError, NotFoundError):
        return []
    return [os.path.join(folder, name) for name in sorted(names) if is_event_file(name)]


class _Parts:
    """Event files by URL, since those stores cannot append: a flush writes the last file again.

    Each file begins with the version, as any event file.
    """

    def __init__(self, logdir: str, suffix: str) -> None:
        self._logdir = logdir
        self._suffix = suffix
        file_systems.make_directories(logdir)
        self._begin()

    def _begin(self) -> None:
        self.path = f"{self._logdir.rstrip('/')}/{event_file_name(suffix=self._suffix)}"
        self._contents = bytearray(frame(_version_event().SerializeToString()))
        self._flushed = 0

    def write(self, record: bytes) -> None:
        if len(self._contents) >= _PART_BYTES:
            self.flush()
            self._begin()
        self._contents += frame(record)

    def flush(self, sync: bool = False) -> None:
        if self._flushed < len(self._contents):
            write_bytes(self.path, bytes(self._contents))
            self._flushed = len(self._contents)

    def close(self) -> None:
        self.flush()


def _version_event() -> Any:
    return Event(wall_time=time.time(), file_version=FILE_VERSION)


class EventFileWriter:
    """Writes one event file; creates its folder if necessary.

    For a URL it writes several: each flush uploads the last one again, and from 4 MiB on the next
    events go to a new file. `path` is the last one.

    Args:
      logdir: path or URL of the folder.
      suffix: appended to the file name.
    Raises: an OpError for each failure of the file system, also from the methods: for instance
      ResourceExhaustedError on a full disk, PermissionDeniedError.
    """

    def __init__(self, logdir: str | os.PathLike[str], suffix: str = "") -> None:
        folder = os.fspath(logdir)
        self._records: RecordWriter | _Parts
        if file_systems.is_remote(folder):
            self._records = _Parts(folder, suffix)
            self.flush()
            return
        with os_errors_about(logdir):
            os.makedirs(logdir, exist_ok=True)
        path = os.path.join(folder, event_file_name(suffix=suffix))
        self._records = RecordWriter(path, exclusive=True)
        try:
            self.write(_version_event())
            self.flush()
        except BaseException:
            with contextlib.suppress(OpError):
                self._records.close()
            with contextlib.suppress(OSError):
                os.remove(self.path)
            raise

    @property
    def path(self) -> str:
        """Path of the file."""
        return self._records.path

    def write(self, event: Any) -> None:
        """Appends an Event message or a serialized one."""
        self._records.write(event if isinstance(event, bytes) else event.SerializeToString())

    def flush(self, sync: bool = False) -> None:
        """Makes all events so far visible to readers; sync also calls fsync."""
        self._records.flush(sync)

    def close(self) -> None:
        """Flushes and closes."""
        self._records.close()

    def __enter__(self) -> EventFileWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class EventFileReader:
    """Reads the events of a file that may still grow.

    Args:
      path: path or URL of the file. By URL, events that come later are seen by a new reader.
      offset: byte to start at; the `offset` of an earlier reader.
    Raises: NotFoundError if the file does not exist.
    """

    def __init__(self, path: str | os.PathLike[str], offset: int = 0) -> None:
        self._records = RecordReader(path, offset=offset)
        self.path = self._records.path
        self.torn = False

    @property
    def offset(self) -> int:
        """Byte offset of the next event."""
        return self._records.offset

    def available(self) -> Iterator[Any]:
        """Yields the complete events so far; call it again after the file has grown.

        It sets `torn` to whether the file ends inside an event.

        Raises: DataLossError for a corrupted event; `skip` steps over it if its length is intact.
        """
        self.torn = False
        while True:
            offset = self.offset
            try:
                record = self._records.read()
            except TornRecordError:
                self.torn = True
                return
            if record is None:
                return
            try:
                event = Event.FromString(record)
            except DecodeError:
                raise DataLossError(
                    None,
                    None,
                    f"{self.path}: the record at byte {offset} is not an Event",
                    path=self.path,
                    offset=offset,
                ) from None
            yield event

    def skip(self) -> bool:
        """Steps over the next record, which may be corrupted; returns False at the end."""
        return self._records.skip()

    def close(self) -> None:
        """Closes the file."""
        self._records.close()

    def __enter__(self) -> EventFileReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_events(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Yields the complete events of a file; an incomplete last event is ignored.

    Raises: as EventFileReader and `available`.
    """
    with EventFileReader(path) as reader:
        yield from reader.available()

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

from headrace.formats.errors import DataLossError, OpError
from headrace.formats.os_errors import os_errors_about
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.record_file import RecordReader, RecordWriter, TornRecordError

FILE_VERSION = "brain.Event:2"
_MARK = "tfevents"
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
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [os.path.join(folder, name) for name in sorted(names) if is_event_file(name)]


class EventFileWriter:
    """Writes one event file; creates its folder if necessary.

    Args:
      logdir: folder of the file.
      suffix: appended to the file name.
    Raises: an OpError for each failure of the file system, also from the methods: for instance
      ResourceExhaustedError on a full disk, PermissionDeniedError.
    """

    def __init__(self, logdir: str | os.PathLike[str], suffix: str = "") -> None:
        with os_errors_about(logdir):
            os.makedirs(logdir, exist_ok=True)
        self.path = os.path.join(os.fspath(logdir), event_file_name(suffix=suffix))
        self._records = RecordWriter(self.path, exclusive=True)
        try:
            self.write(Event(wall_time=time.time(), file_version=FILE_VERSION))
            self.flush()
        except BaseException:
            with contextlib.suppress(OpError):
                self._records.close()
            with contextlib.suppress(OSError):
                os.remove(self.path)
            raise

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
      path: the file.
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

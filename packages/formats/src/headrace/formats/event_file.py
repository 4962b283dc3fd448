"""Event files: named, appended to while a program runs, and read while they grow."""

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
    """Returns a name that sorts by time and that no other writer of this host takes.

    Args:
      when: seconds since 1970; now, by default.
      suffix: stands at the end.
    """
    seconds = int(time.time() if when is None else when)
    host = socket.gethostname() or "localhost"
    return f"events.out.{_MARK}.{seconds:010d}.{host}.{os.getpid()}.{next(_numbers)}{suffix}"


def is_event_file(name: str) -> bool:
    """Whether a file of this name holds events."""
    return _MARK in os.path.basename(name)


def event_files(folder: str | os.PathLike[str]) -> list[str]:
    """Returns the paths of a folder's event files, oldest first; none if there is no folder."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [os.path.join(folder, name) for name in sorted(names) if is_event_file(name)]


class EventFileWriter:
    """Writes one event file; makes its folder if need be.

    Args:
      logdir: folder of the file.
      suffix: stands at the end of the file's name.
    Raises: also from its methods, what the system says as one of our errors:
      ResourceExhaustedError where the disk is full, PermissionDeniedError, ...
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
        """Appends an Event, or the bytes of one."""
        self._records.write(event if isinstance(event, bytes) else event.SerializeToString())

    def flush(self, sync: bool = False) -> None:
        """Lets readers see all events so far; they outlive a crash of the machine, if sync."""
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
      offset: where to begin, as an earlier reader's `offset`.
    Raises: NotFoundError.
    """

    def __init__(self, path: str | os.PathLike[str], offset: int = 0) -> None:
        self._records = RecordReader(path, offset=offset)
        self.path = self._records.path
        self.torn = False

    @property
    def offset(self) -> int:
        """Where the next event begins."""
        return self._records.offset

    def available(self) -> Iterator[Any]:
        """Yields the events that are whole now; call it again when the file has grown.

        Sets `torn` to whether the file ends inside an event.
        Raises: DataLossError for damage; `skip` steps over it where the length can be trusted.
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
                    f"{self.path}: the record at byte {offset} is no Event",
                    path=self.path,
                    offset=offset,
                ) from None
            yield event

    def skip(self) -> bool:
        """Steps over the next record, which may be damaged; False at the end."""
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
    """Yields the whole events of a file; a torn tail ends it without an error."""
    with EventFileReader(path) as reader:
        yield from reader.available()

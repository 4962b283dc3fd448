"""Reads single records again when a page requests them."""

from __future__ import annotations

import os
import struct
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError

from headrace.board.reading.places.named_folders import LogSource
from headrace.board.store.blob_series import BlobRows
from headrace.formats.errors import DataLossError
from headrace.formats.masked_crc import masked_crc32c
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.proto.summary_pb2 import Summary

_HEADER = struct.Struct("<QI")
_CRC = struct.Struct("<I")
_CACHE_BYTES = 16 << 20
_MAX_OPEN = 64


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file that was scanned; device and inode show whether it is still the same file."""

    name: str
    path: str
    device: int
    inode: int


class RecordAccess:
    """Reads records of files that were scanned, checks their CRC, and caches the last events.

    Args:
      logdir: the folder of the files.
    """

    def __init__(self, logdir: LogSource) -> None:
        self._logdir = logdir
        self._lock = threading.Lock()
        self._files: dict[int, KnownFile] = {}
        self._next = 0
        self._open: OrderedDict[int, int] = OrderedDict()  # number: descriptor
        self._events: OrderedDict[tuple[int, int], tuple[Any, int]] = OrderedDict()
        self._events_bytes = 0

    def add_file(self, file: KnownFile) -> int:
        """Registers a file. Returns: its number."""
        with self._lock:
            number = self._next
            self._next += 1
            self._files[number] = file
            return number

    def drop_file(self, number: int) -> None:
        """Forgets a file that is gone or was replaced."""
        with self._lock:
            self._files.pop(number, None)
            fd = self._open.pop(number, None)
            if fd is not None:
                os.close(fd)
            for key in [key for key in self._events if key[0] == number]:
                self._events_bytes -= self._events.pop(key)[1]

    def data(self, file: int, offset: int, length: int) -> bytes:
        """Returns a record's data. Raises: DataLossError if the file no longer has it."""
        offset, length = int(offset), int(length)
        frame, name = self._read(int(file), offset, offset, length + 16)
        if len(frame) != length + 16:
            raise _lost(name, offset, f"has {len(frame)} of {length + 16} bytes")
        stored_length, length_crc = _HEADER.unpack_from(frame)
        data = frame[12:-4]
        if stored_length != length or length_crc != masked_crc32c(frame[:8]):
            raise _lost(name, offset, "has another length than when it was scanned")
        (stored,) = _CRC.unpack_from(frame, length + 12)
        actual = masked_crc32c(data)
        if stored != actual:
            raise _lost(name, offset, f"has CRC {actual:#010x} but {stored:#010x} is stored")
        return data

    def part(self, file: int, offset: int, begin: int, length: int) -> bytes:
        """Returns data[begin : begin + length] of a record, without checking its CRC again.

        Raises: DataLossError if the file no longer has it.
        """
        offset = int(offset)
        found, name = self._read(int(file), offset, offset + _HEADER.size + begin, length)
        if len(found) != length:
            raise _lost(name, offset, "has become shorter")
        return found

    def event(self, file: int, offset: int, length: int) -> Any:
        """Returns the Event of a record; do not change it. Raises: DataLossError."""
        key = (int(file), int(offset))
        with self._lock:
            kept = self._events.get(key)
            if kept is not None:
                self._events.move_to_end(key)
                return kept[0]
        data = self.data(file, offset, length)
        try:
            event = Event.FromString(data)
        except DecodeError:
            raise _lost(self._name(file), int(offset), "is not an Event") from None
        self._keep(key, event, len(data))
        return event

    def value(self, rows: BlobRows, i: int) -> Any:
        """Returns the Summary.Value of row i; do not change it. Raises: DataLossError."""
        event = self.event(rows.file[i], rows.offset[i], rows.length[i])
        place = int(rows.value[i])
        if 0 <= place < len(event.summary.value):
            return event.summary.value[place]
        if place < 0:
            return Summary.Value()
        raise _lost(self._name(rows.file[i]), int(rows.offset[i]), f"has no value {place}")

    def payload(self, rows: BlobRows, i: int) -> bytes:
        """Returns the bytes of row i of a graph or run_metadata series, in either form of logging.

        Raises: DataLossError.
        """
        event = self.event(rows.file[i], rows.offset[i], rows.length[i])
        place = int(rows.value[i])
        if place >= 0:
            strings = self.value(rows, i).tensor.string_val
            return bytes(strings[0]) if strings else b""
        what = event.WhichOneof("what")
        if what == "tagged_run_metadata":
            return bytes(event.tagged_run_metadata.run_metadata)
        return bytes(getattr(event, what)) if what in ("graph_def", "meta_graph_def") else b""

    def close(self) -> None:
        """Closes all files."""
        with self._lock:
            for fd in self._open.values():
                os.close(fd)
            self._open.clear()

    def _keep(self, key: tuple[int, int], event: Any, size: int) -> None:
        if size > _CACHE_BYTES // 4:
            return
        with self._lock:
            if key in self._events or key[0] not in self._files:
                return
            self._events[key] = (event, size)
            self._events_bytes += size
            while self._events_bytes > _CACHE_BYTES:
                _, (_, gone) = self._events.popitem(last=False)
                self._events_bytes -= gone

    def _name(self, number: int) -> str:
        with self._lock:
            file = self._files.get(int(number))
        return "a file that is gone" if file is None else file.name

    def _read(self, number: int, record: int, begin: int, length: int) -> tuple[bytes, str]:
        """Returns `length` bytes of a file, or fewer at its end, and the name of the file.

        Raises: DataLossError with the place of the record.
        """
        with self._lock:
            file = self._files.get(number)
        if file is None:
            raise _lost("a file that is gone", record, "cannot be read")
        try:
            # A duplicate descriptor, and no lock during the read: a slow disk must not block other
            # readers, and another thread may close the cached descriptor meanwhile.
            fd = self._descriptor(number, file)
            try:
                return os.pread(fd, length, begin), file.name
            finally:
                os.close(fd)
        except OSError as error:
            why = error.strerror or str(error)
            raise _lost(file.name, record, f"cannot be read: {why}") from None

    def _descriptor(self, number: int, file: KnownFile) -> int:
        """Returns a new descriptor of a file. Raises: OSError."""
        with self._lock:
            kept = self._open.get(number)
            if kept is not None:
                self._open.move_to_end(number)
                return os.dup(kept)
        fd = self._logdir.open_file(file.path)
        try:
            found = os.fstat(fd)
            if (found.st_dev, found.st_ino) != (file.device, file.inode):
                raise OSError("another file has taken its place")
            with self._lock:
                if number in self._files and number not in self._open:
                    self._open[number] = os.dup(fd)
                    while len(self._open) > _MAX_OPEN:
                        os.close(self._open.popitem(last=False)[1])
            return fd
        except OSError:
            os.close(fd)
            raise


def _lost(name: str, offset: int, what: str) -> DataLossError:
    return DataLossError(
        None, None, f"{name}: the record at byte {offset} {what}", path=name, offset=offset
    )

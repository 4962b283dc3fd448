"""Reads and writes TFRecord files.

A record consists of its length (8 bytes, little-endian), the masked CRC of the length (4 bytes),
the data, and the masked CRC of the data (4 bytes). A compressed file is one GZIP or ZLIB stream of
such records.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from headrace.formats.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)
from headrace.formats.file_systems import is_remote
from headrace.formats.masked_crc import masked_crc32c
from headrace.formats.os_errors import from_os_error
from headrace.formats.remote_file import RemoteWriter, open_input

_HEADER = struct.Struct("<QI")
_CRC = struct.Struct("<I")
_FRAME_BYTES = _HEADER.size + _CRC.size
_CHUNK_BYTES = 1 << 18
# The size limit of a protobuf message.
MAX_RECORD_BYTES = 2**31 - 1

# zlib's wbits argument by compression
_WINDOW_BITS = {"": 0, "GZIP": 31, "ZLIB": 15}


class TornRecordError(DataLossError):
    """The file ends inside a record: the writer has not finished it, or died."""


def frame(data: bytes) -> bytes:
    """Returns the framed bytes of a record: length, CRC, data, CRC."""
    length = struct.pack("<Q", len(data))
    return b"".join(
        (length, _CRC.pack(masked_crc32c(length)), data, _CRC.pack(masked_crc32c(data)))
    )


class RecordWriter:
    """Appends records to a file.

    Args:
      path: path or URL of the file. By URL, readers see it when it is closed.
      compression: "", "GZIP" or "ZLIB".
      append: append to an existing file; not for ZLIB, whose streams cannot be concatenated.
      exclusive: fail if the file exists.
    Raises: InvalidArgumentError for an unknown compression or an append to ZLIB;
      UnimplementedError for append and exclusive with a URL; an OpError for
      each failure of the file system, also from the methods: for instance AlreadyExistsError,
      NotFoundError, ResourceExhaustedError on a full disk.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        compression: str | None = "",
        append: bool = False,
        exclusive: bool = False,
    ) -> None:
        self.path = os.fspath(path)
        bits = _window_bits(compression)
        if append and bits == _WINDOW_BITS["ZLIB"]:
            raise InvalidArgumentError(None, None, f"{self.path}: cannot append to a ZLIB stream")
        self._deflate = zlib.compressobj(wbits=bits) if bits else None
        self._file: Any
        if is_remote(self.path):
            if append or exclusive:
                raise UnimplementedError(
                    None, None, f"{self.path}: a store of objects cannot append to a file"
                )
            self._file = RemoteWriter(self.path)
            return
        try:
            self._file = open(self.path, "ab" if append else "xb" if exclusive else "wb")
        except OSError as error:
            raise from_os_error(error, self.path) from None

    def write(self, record: bytes) -> None:
        """Appends one record."""
        if type(record) is not bytes:
            record = bytes(record)
        framed = frame(record)
        try:
            self._file.write(self._deflate.compress(framed) if self._deflate else framed)
        except OSError as error:
            raise from_os_error(error, self.path) from None

    def flush(self, sync: bool = False) -> None:
        """Makes all records so far visible to readers; sync also calls fsync."""
        try:
            if self._deflate:
                self._file.write(self._deflate.flush(zlib.Z_SYNC_FLUSH))
            self._file.flush()
            if sync and not isinstance(self._file, RemoteWriter):
                os.fsync(self._file.fileno())
        except OSError as error:
            raise from_os_error(error, self.path) from None

    def close(self) -> None:
        """Flushes and closes the file; later calls do nothing."""
        if self._file.closed:
            return
        try:
            try:
                if self._deflate:
                    self._file.write(self._deflate.flush())
            finally:
                self._file.close()
        except OSError as error:
            raise from_os_error(error, self.path) from None

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class RecordReader:
    """Reads records in order, also while the file grows.

    After an error the reader's position is unchanged: the next `read` retries a torn record.

    Args:
      path: path or URL of the file.
      compression: "", "GZIP" or "ZLIB".
      offset: byte to start at; the `offset` of an earlier reader.
      max_record_bytes: a longer record counts as corrupted.
    Raises: NotFoundError if the file does not exist; InvalidArgumentError for an unknown
      compression; TornRecordError if a compressed file ends before `offset`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        compression: str | None = "",
        offset: int = 0,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        self.path = os.fspath(path)
        self._max_record_bytes = max_record_bytes
        self._window_bits = _window_bits(compression)
        self._inflate = zlib.decompressobj(self._window_bits) if self._window_bits else None
        self._buffer = b""
        self._position = 0
        self._buffer_offset = 0
        self._remote_size: int | None = None
        try:
            if is_remote(self.path):
                self._file = open_input(self.path)
                self._remote_size = self._file.seek(0, os.SEEK_END)
                self._file.seek(0)
            else:
                self._file = open(self.path, "rb")
        except FileNotFoundError:
            raise NotFoundError(None, None, f"{self.path}: no such file", path=self.path) from None
        if offset:
            self._start_at(offset)

    @property
    def offset(self) -> int:
        """Byte offset of the next record in the (decompressed) file."""
        return self._buffer_offset + self._position

    def read(self) -> bytes | None:
        """Returns the next record, or None at the end of the file.

        Raises: TornRecordError if the file ends inside the record; DataLossError if the record is
          corrupted. Both have path and offset.
        """
        length = self._read_length()
        if length is None:
            return None
        end = _FRAME_BYTES + length
        if not self._fill(end):
            raise self._truncated(f"its {length} bytes of data are incomplete")
        start = self._position
        data = self._buffer[start + _HEADER.size : start + _HEADER.size + length]
        (stored,) = _CRC.unpack_from(self._buffer, start + _HEADER.size + length)
        actual = masked_crc32c(data)
        if stored != actual:
            raise self._corrupted(f"data has CRC {actual:#010x} but {stored:#010x} is stored")
        self._position = start + end
        return data

    def skip(self) -> bool:
        """Steps over the next record without checking its data, which may be corrupted.

        Returns: False at the end of the file.
        Raises: as `read`, if the length is corrupted or the record is torn.
        """
        length = self._read_length()
        if length is None:
            return False
        if not self._fill(_FRAME_BYTES + length):
            raise self._truncated(f"its {length} bytes of data are incomplete")
        self._position += _FRAME_BYTES + length
        return True

    def __iter__(self) -> Iterator[bytes]:
        while (record := self.read()) is not None:
            yield record

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> RecordReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _read_length(self) -> int | None:
        if not self._fill(_HEADER.size):
            if self._position == len(self._buffer):
                return None
            raise self._truncated("its header is incomplete")
        length, stored = _HEADER.unpack_from(self._buffer, self._position)
        actual = masked_crc32c(self._buffer[self._position : self._position + 8])
        if stored != actual:
            hint = ""
            if self.offset == 0 and self._buffer[:2] == b"\x1f\x8b" and not self._window_bits:
                hint = '; it looks like a GZIP file: open it with compression="GZIP"'
            raise self._corrupted(
                f"length has CRC {actual:#010x} but {stored:#010x} is stored{hint}"
            )
        if length > self._max_record_bytes:
            raise self._corrupted(
                f"length is {length}, above the {self._max_record_bytes} bytes allowed"
            )
        return length

    def _fill(self, count: int) -> bool:
        """Buffers `count` bytes after the position; returns False if the file has fewer."""
        if len(self._buffer) - self._position >= count:
            return True
        missing = count - (len(self._buffer) - self._position)
        if self._inflate is None and missing > _CHUNK_BYTES:
            # A corrupted length must not make the reader load the whole file.
            if self._size() - self._file.tell() < missing:
                return False
        chunks = [self._buffer[self._position :]]
        fetched = 0
        try:
            while fetched < missing and (
                chunk := self._fetch(max(_CHUNK_BYTES, missing - fetched))
            ):
                chunks.append(chunk)
                fetched += len(chunk)
        finally:
            self._buffer_offset += self._position
            self._position = 0
            self._buffer = b"".join(chunks)
        return fetched >= missing

    def _size(self) -> int:
        if self._remote_size is not None:
            return self._remote_size
        return os.fstat(self._file.fileno()).st_size

    def _fetch(self, count: int) -> bytes:
        if self._inflate is None:
            return self._file.read(count)
        out = b""
        while not out:
            pending = self._inflate.unconsumed_tail
            if self._inflate.eof:
                # A GZIP file may be a concatenation of streams.
                pending = self._inflate.unused_data or self._file.read(_CHUNK_BYTES)
                if not pending:
                    return b""
                self._inflate = zlib.decompressobj(self._window_bits)
            elif not pending:
                pending = self._file.read(_CHUNK_BYTES)
                if not pending:
                    return b""
            try:
                out = self._inflate.decompress(pending, _CHUNK_BYTES)
            except zlib.error as error:
                raise self._corrupted(f"the compressed stream is corrupted: {error}") from None
        return out

    def _start_at(self, offset: int) -> None:
        if self._inflate is None:
            self._file.seek(offset)
            self._buffer_offset = offset
            return
        while self.offset < offset:
            if not self._fill(1):
                raise self._truncated(f"the file ends before offset {offset}")
            self._position += min(len(self._buffer) - self._position, offset - self.offset)

    def _truncated(self, what: str) -> TornRecordError:
        return TornRecordError(
            None,
            None,
            f"{self.path}: truncated record at byte {self.offset}: {what}; retry when the file "
            f"has grown",
            path=self.path,
            offset=self.offset,
        )

    def _corrupted(self, what: str) -> DataLossError:
        return DataLossError(
            None,
            None,
            f"{self.path}: corrupted record at byte {self.offset}: {what}",
            path=self.path,
            offset=self.offset,
        )


def read_records(path: str | os.PathLike[str], compression: str | None = "") -> Iterator[bytes]:
    """Yields the records of a file.

    Raises: as RecordReader and its `read`.
    """
    with RecordReader(path, compression) as reader:
        yield from reader


def _window_bits(compression: Any) -> int:
    name = compression or ""
    if name not in _WINDOW_BITS:
        raise InvalidArgumentError(
            None, None, f"compression {compression!r} is unknown: use '', 'GZIP' or 'ZLIB'"
        )
    return _WINDOW_BITS[name]

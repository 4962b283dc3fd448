"""Reads and writes LevelDB's sorted tables, the format of a checkpoint's index file.

Entries are stored in blocks. A key omits the prefix that it shares with the previous key, except at
restart points, where it is complete. A block ends with the offsets of its restart points; a byte
for the compression and a masked CRC follow it. The index block maps a key at or after the last key
of each data block to that block's handle, and a footer of 48 bytes holds the index block's handle.

Source: LevelDB, doc/table_format.md.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

from headrace.formats import snappy, wire
from headrace.formats.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
)
from headrace.formats.file_systems import is_remote
from headrace.formats.masked_crc import crc32c, mask
from headrace.formats.remote_file import RemoteReader
from headrace.formats.wire import encode_varint

MAGIC = 0xDB4775248B80FB57
FOOTER_BYTES = 48
MAX_KEY_BYTES = 1 << 16
# Limit of (total bytes of unpacked keys) / (bytes of the block), against hostile files.
_MAX_EXPANSION = 64
_TRAILER_BYTES = 5
_UNCOMPRESSED, _SNAPPY = 0, 1
_U32 = struct.Struct("<I")


class TableWriter:
    """Writes a table; keys are added in increasing order.

    Args:
      file: binary file, at offset 0.
      block_bytes: size at which a block is finished.
      restart_interval: number of keys between restart points.
    """

    def __init__(
        self, file: BinaryIO, block_bytes: int = 1 << 18, restart_interval: int = 16
    ) -> None:
        self._file = file
        self._block_bytes = block_bytes
        self._block = _BlockBuilder(restart_interval)
        self._index = _BlockBuilder(1)
        self._offset = 0
        self._last_key: bytes | None = None
        # Handle of the last finished block; its index key depends on the next key.
        self._pending = b""

    def add(self, key: bytes, value: bytes) -> None:
        """Appends an entry.

        Raises: InvalidArgumentError for a key that does not follow the previous one or is longer
          than MAX_KEY_BYTES.
        """
        if self._last_key is not None and key <= self._last_key:
            raise InvalidArgumentError(
                None, None, f"table: key {key!r} does not follow {self._last_key!r}"
            )
        if len(key) > MAX_KEY_BYTES:
            raise InvalidArgumentError(
                None, None, f"table: a key of {len(key)} bytes exceeds {MAX_KEY_BYTES}"
            )
        if self._pending:
            assert self._last_key is not None
            self._index.add(_separator(self._last_key, key), self._pending)
            self._pending = b""
        self._block.add(key, value)
        self._last_key = key
        if self._block.size >= self._block_bytes:
            self._finish_block()

    def finish(self) -> None:
        """Writes the last block, the index and the footer; does not close the file."""
        if self._block.size:
            self._finish_block()
        if self._pending:
            assert self._last_key is not None
            self._index.add(_successor(self._last_key), self._pending)
        meta = self._write(_BlockBuilder(1).finish())
        index = self._write(self._index.finish())
        handles = meta + index
        self._file.write(handles.ljust(FOOTER_BYTES - 8, b"\0") + struct.pack("<Q", MAGIC))

    def _finish_block(self) -> None:
        self._pending = self._write(self._block.finish())

    def _write(self, block: bytes) -> bytes:
        kind = bytes((_UNCOMPRESSED,))
        crc = mask(crc32c(kind, crc32c(block)))
        self._file.write(block + kind + _U32.pack(crc))
        handle = encode_varint(self._offset) + encode_varint(len(block))
        self._offset += len(block) + _TRAILER_BYTES
        return handle


class _BlockBuilder:
    """Builds one block from its entries."""

    def __init__(self, restart_interval: int) -> None:
        self._interval = restart_interval
        self._reset()

    def _reset(self) -> None:
        self._parts: list[bytes] = []
        self._restarts = [0]
        self._since_restart = 0
        self._last_key = b""
        self.size = 0

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self._since_restart == self._interval:
            self._restarts.append(self.size)
            self._since_restart = 0
        else:
            shared = len(os.path.commonprefix((self._last_key, key)))
        entry = b"".join(
            (
                encode_varint(shared),
                encode_varint(len(key) - shared),
                encode_varint(len(value)),
                key[shared:],
                value,
            )
        )
        self._parts.append(entry)
        self.size += len(entry)
        self._since_restart += 1
        self._last_key = key

    def finish(self) -> bytes:
        restarts = struct.pack(f"<{len(self._restarts) + 1}I", *self._restarts, len(self._restarts))
        block = b"".join(self._parts) + restarts
        self._reset()
        return block


class _OpenFile:
    """The bytes of a file, each part read on request.

    A memory map would end the process if another one shortened the file.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(self._file.fileno()).st_size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        begin, end, _ = part.indices(self._size)
        # Of a file that became shorter the rest is zeros, whose CRC is wrong.
        return os.pread(self._file.fileno(), end - begin, begin).ljust(end - begin, b"\0")

    def __del__(self) -> None:
        self._file.close()


class _OpenRemoteFile:
    """The bytes of a file by URL, each part read on request."""

    def __init__(self, reader: RemoteReader) -> None:
        self._reader = reader

    def __len__(self) -> int:
        return self._reader.size

    def __getitem__(self, part: slice) -> bytes:
        begin, end, _ = part.indices(self._reader.size)
        return self._reader.read_range(begin, end - begin)

    def __del__(self) -> None:
        self._reader.close()


class TableReader:
    """Reads a table from a buffer.

    Args:
      data: contents of the file, as bytes or a memory map.
      path: path of the file, for errors.
    Raises: DataLossError, with path and offset, if the data is not a table or its index is
      corrupted.
    """

    def __init__(self, data: Any, path: str = "<table>") -> None:
        self._data = data
        self.path = path
        size = len(data)
        if size < FOOTER_BYTES:
            raise self._data_loss(
                0, f"{size} bytes are too few for a table; the file may be truncated"
            )
        footer_offset = size - FOOTER_BYTES
        footer = bytes(data[footer_offset:])
        (magic,) = struct.unpack("<Q", footer[40:])
        if magic != MAGIC:
            raise self._data_loss(
                footer_offset,
                f"ends in {magic:#018x}, a table in {MAGIC:#018x}; the file may be truncated",
            )
        try:
            _, position = _decode_handle(footer, 0)
            handle, _ = _decode_handle(footer, position)
        except ValueError as error:
            raise self._data_loss(footer_offset, f"the footer is corrupted: {error}") from None
        self._index = list(self._entries(handle, footer_offset))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> TableReader:
        """Opens a table file, whose blocks are read when they are needed.

        Raises: NotFoundError for a missing file; OSError for one that cannot be read; as the class.
        """
        name = os.fspath(path)
        if is_remote(name):
            return cls(_OpenRemoteFile(RemoteReader(name)), name)
        try:
            return cls(_OpenFile(open(name, "rb")), name)
        except FileNotFoundError:
            raise NotFoundError(None, None, f"{name}: no such file", path=name) from None

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Yields all (key, value) in order.

        Raises: DataLossError at the first corrupted block.
        """
        last: bytes | None = None
        for last_of_block, handle_bytes in self._index:
            handle = self._handle(handle_bytes)
            for key, value in self._entries(handle, handle[0]):
                if last is not None and key <= last:
                    raise self._data_loss(handle[0], f"key {key!r} does not follow {last!r}")
                last = key
                yield key, value
            if last is None or last > last_of_block:
                raise self._data_loss(
                    handle[0], f"the block ends in {last!r}, not {last_of_block!r}"
                )

    def get(self, key: bytes) -> bytes | None:
        """Returns the value of a key, or None.

        Raises: DataLossError if its block is corrupted.
        """
        for last_of_block, handle_bytes in self._index:
            if key <= last_of_block:
                handle = self._handle(handle_bytes)
                for found, value in self._entries(handle, handle[0]):
                    if found == key:
                        return value
                return None
        return None

    def _handle(self, encoded: bytes) -> tuple[int, int]:
        try:
            handle, _ = _decode_handle(encoded, 0)
        except ValueError as error:
            raise self._data_loss(0, f"the index is corrupted: {error}") from None
        return handle

    def _entries(
        self, handle: tuple[int, int], handle_offset: int
    ) -> Iterator[tuple[bytes, bytes]]:
        offset, size = handle
        limit = len(self._data) - FOOTER_BYTES
        if offset + size + _TRAILER_BYTES > limit:
            raise self._data_loss(
                handle_offset,
                f"a block of {size} bytes at {offset} exceeds the {limit} bytes of blocks",
            )
        block = bytes(self._data[offset : offset + size])
        trailer = bytes(self._data[offset + size : offset + size + _TRAILER_BYTES])
        (stored,) = _U32.unpack(trailer[1:])
        actual = mask(crc32c(trailer[:1], crc32c(block)))
        if stored != actual:
            raise self._data_loss(
                offset, f"the block has CRC {actual:#010x} but {stored:#010x} is stored"
            )
        if trailer[0] == _SNAPPY:
            try:
                block = snappy.unpack(block)
            except ValueError as error:
                raise self._data_loss(
                    offset, f"the compressed block is corrupted: {error}"
                ) from None
        elif trailer[0] != _UNCOMPRESSED:
            raise self._data_loss(offset, f"the block has unknown compression {trailer[0]}")
        try:
            yield from _block_entries(block)
        except (ValueError, IndexError) as error:
            raise self._data_loss(offset, f"the block is corrupted: {error}") from None

    def _data_loss(self, offset: int, what: str) -> DataLossError:
        return DataLossError(
            None, None, f"{self.path}: at byte {offset}: {what}", path=self.path, offset=offset
        )


def _separator(low: bytes, high: bytes) -> bytes:
    """Returns a short key k with low <= k < high."""
    same = len(os.path.commonprefix((low, high)))
    if same < len(low) and low[same] + 1 < high[same]:
        return low[:same] + bytes((low[same] + 1,))
    return low


def _successor(key: bytes) -> bytes:
    """Returns a short key that is not below `key`."""
    for i, byte in enumerate(key):
        if byte != 0xFF:
            return key[:i] + bytes((byte + 1,))
    return key


def _block_entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields a block's entries. Raises: ValueError or IndexError for invalid entries."""
    if len(block) < 4:
        raise ValueError("it is too small for its restart points")
    (restarts,) = _U32.unpack_from(block, len(block) - 4)
    end = len(block) - 4 * (restarts + 1)
    if end < 0:
        raise ValueError(f"{restarts} restart points do not fit its {len(block)} bytes")
    budget = _MAX_EXPANSION * len(block) + MAX_KEY_BYTES
    position = 0
    key = b""
    while position < end:
        shared = block[position]
        unshared = block[position + 1]
        length = block[position + 2]
        if (shared | unshared | length) < 128:
            position += 3
        else:
            shared, position = decode_varint(block, position)
            unshared, position = decode_varint(block, position)
            length, position = decode_varint(block, position)
        if shared > len(key) or position + unshared + length > end:
            raise ValueError(f"an entry at {position} exceeds the block")
        if shared + unshared > MAX_KEY_BYTES:
            raise ValueError(f"a key of {shared + unshared} bytes exceeds {MAX_KEY_BYTES}")
        budget -= shared + unshared
        if budget < 0:
            raise ValueError("its keys expand to many times its size")
        key = key[:shared] + block[position : position + unshared]
        position += unshared
        yield key, block[position : position + length]
        position += length


def _decode_handle(data: bytes, position: int) -> tuple[tuple[int, int], int]:
    offset, position = decode_varint(data, position)
    size, position = decode_varint(data, position)
    return (offset, size), position


def decode_varint(data: Any, position: int) -> tuple[int, int]:
    """Decodes a varint at `position`; returns its value and the position after it.

    Raises: ValueError if it does not end, or does not fit 64 bits.
    """
    value, end = wire.decode_varint(data, position, len(data))
    if end - position == 10 and data[end - 1] > 1:
        raise ValueError("a number of more than 64 bits")
    return value, end

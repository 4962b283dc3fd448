"""Finds the records of a growing, possibly corrupted file; record_frames.hpp does it in C++.

A record consists of its length (8 bytes), the masked CRC of the length (4), the data, and the
masked CRC of the data (4). After a corrupted length, reading continues at the next offset at which
both CRCs agree.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

import google_crc32c
import numpy as np

from headrace.board.reading.scan_batch import (
    BLOCK_BYTES,
    DEAD,
    END,
    FAILED,
    LOST,
    MAX_GAPS,
    MAX_RECORD_BYTES,
    MAX_RESYNC_BYTES,
    MAX_WASTED_BYTES,
    MORE,
    TORN,
    Gap,
)
from headrace.formats.masked_crc import masked_crc32c

HEADER_BYTES = 12
FRAME_BYTES = 16
_HEADER = struct.Struct("<QI")
_CRC = struct.Struct("<I")
_SEARCH_BYTES = 1 << 20


# A record with valid CRCs: (offset of its first byte, block, start, end); block[start:end] is its
# data. A plain tuple, because there are millions of them.
Frame = tuple[int, bytes, int, int]


class RecordFrames:
    """Walks a file record by record, over many passes."""

    def __init__(self) -> None:
        self.offset = 0
        self.state = END
        self.gaps: list[Gap] = []
        self.error = 0  # of the last pass, an errno
        self._gaps_ever = 0
        self._wasted = 0
        self._lost_from = -1  # offset at which the present gap begins
        self._lost_kind = ""
        self._search_at = 0
        self._candidate = -1  # a record with a valid length whose data are incomplete
        self._fd = -1
        self._size = 0
        self._block = b""
        self._block_at = 0
        self._crc_of_length: dict[bytes, int] = {}

    @property
    def open_gap(self) -> Gap | None:
        """The gap that no intact record has followed yet."""
        if self._lost_from < 0:
            return None
        end = self._candidate if self._candidate >= 0 else self._size
        return Gap(self._lost_kind, self._lost_from, end - self._lost_from, 1)

    def frames(self, fd: int, limit: int) -> Iterator[Frame]:
        """Yields the records of one pass over about `limit` bytes, then sets `state`."""
        self.gaps = []
        if self.state == DEAD:
            return
        self.error = 0
        self._fd = fd
        self._block, self._block_at = b"", 0
        stop = self.offset + limit
        unpack, crc_of = _HEADER.unpack_from, self._crc_of_length
        unpack_crc, crc32c = _CRC.unpack_from, google_crc32c.extend
        try:
            self._size = os.fstat(fd).st_size
            while True:
                if self._lost_from >= 0 and not self._search():
                    return
                if self._gaps_ever > MAX_GAPS or self._wasted > MAX_WASTED_BYTES:
                    self.state = DEAD
                    return
                if self.offset >= stop:
                    self.state = MORE
                    return
                left = self._size - self.offset
                if left < HEADER_BYTES:
                    self.state = END if left <= 0 else TORN
                    return
                at = self.offset - self._block_at
                if at + HEADER_BYTES > len(self._block) or at < 0:
                    at = self._fetch(self.offset, HEADER_BYTES)
                    if at < 0:
                        return
                length, stored = unpack(self._block, at)
                raw = self._block[at : at + 8]
                good = crc_of.get(raw)
                if good is None:
                    good = masked_crc32c(raw)
                    if len(crc_of) < 4096:
                        crc_of[raw] = good
                if good != stored or length > MAX_RECORD_BYTES:
                    if self._zeros_to_the_end():
                        self.state = TORN
                        return
                    self._lose("length", self.offset + 1)
                    continue
                whole = FRAME_BYTES + length
                if left < whole:
                    self.state = TORN
                    return
                if at + whole > len(self._block):
                    at = self._fetch(self.offset, whole)
                    if at < 0:
                        return
                start = at + HEADER_BYTES
                end = start + length
                block = self._block
                crc = crc32c(0, block[start:end])
                # masked_crc32c inlined, to save two calls
                if unpack_crc(block, end)[0] == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF:
                    offset = self.offset
                    self.offset = offset + whole
                    yield offset, block, start, end
                    continue
                followed = self._follows_a_record(self.offset + whole)
                self._wasted += length
                if followed:
                    self._note(Gap("payload", self.offset, whole, 1))
                    self.offset += whole
                else:
                    self._lose("payload", self.offset + HEADER_BYTES)
        except OSError as error:
            self.state, self.error = FAILED, error.errno or 0
        finally:
            self._block = b""

    def reject(self, gap: Gap) -> None:
        """Counts an intact record that is not an event."""
        self._note(gap)

    def _note(self, gap: Gap) -> None:
        self.gaps.append(gap)
        self._gaps_ever += 1

    def _lose(self, kind: str, search_at: int) -> None:
        self._lost_from, self._lost_kind = self.offset, kind
        self._search_at, self._candidate = search_at, -1

    def _fetch(self, offset: int, count: int) -> int:
        """Reads a block from offset on; returns 0, or -1 (state TORN) if the file has shrunk."""
        requested = max(count, min(BLOCK_BYTES, self._size - offset))
        self._block_at = offset
        self._block = _read(self._fd, requested, offset, count)
        if len(self._block) < count:
            self.state = TORN
            return -1
        return 0

    def _zeros_to_the_end(self) -> bool:
        """Returns whether only zeros follow: space that was allocated but not written yet."""
        left = self._size - self.offset
        return left <= BLOCK_BYTES and not any(_read(self._fd, left, self.offset))

    def _follows_a_record(self, offset: int) -> bool:
        if self._size - offset < HEADER_BYTES:
            return True
        header = _read(self._fd, HEADER_BYTES, offset)
        if len(header) < HEADER_BYTES:
            return True
        return self._good_length(header) >= 0

    @staticmethod
    def _good_length(header: bytes) -> int:
        length, stored = _HEADER.unpack(header)
        good = masked_crc32c(header[:8]) == stored and length <= MAX_RECORD_BYTES
        return length if good else -1

    def _search(self) -> bool:
        """Searches for the next intact record. Returns: False if this pass ends within the gap."""
        if self._candidate >= 0:
            verdict = self._check(self._candidate)
            if verdict == "whole":
                return self._found(self._candidate)
            if verdict == "bad":
                self._candidate = -1
        stop = min(self._search_at + MAX_RESYNC_BYTES, self._size - HEADER_BYTES + 1)
        while self._search_at < stop:
            count = min(_SEARCH_BYTES, stop - self._search_at)
            data = _read(self._fd, count + HEADER_BYTES - 1, self._search_at)
            for place in _good_headers(data):
                offset = self._search_at + int(place)
                verdict = self._check(offset)
                if verdict == "whole":
                    return self._found(offset)
                if verdict == "torn" and self._candidate < 0:
                    self._candidate = offset
                if self._wasted > MAX_WASTED_BYTES:
                    self.state = DEAD
                    return False
            self._search_at += count
        self.state = MORE if self._search_at <= self._size - HEADER_BYTES else LOST
        return False

    def _found(self, offset: int) -> bool:
        self._note(Gap(self._lost_kind, self._lost_from, offset - self._lost_from, 1))
        self.offset = offset
        self._lost_from = self._candidate = -1
        return True

    def _check(self, offset: int) -> str:
        length = self._good_length(_read(self._fd, HEADER_BYTES, offset).ljust(HEADER_BYTES, b"\0"))
        if length < 0:
            return "bad"
        if self._size - offset < FRAME_BYTES + length:
            return "torn"
        data = _read(self._fd, length + 4, offset + HEADER_BYTES)
        if len(data) == length + 4 and _CRC.unpack_from(data, length)[0] == masked_crc32c(
            data[:length]
        ):
            return "whole"
        self._wasted += length
        return "bad"


def _read(fd: int, count: int, offset: int, least: int = -1) -> bytes:
    """Returns up to count bytes. Raises: OSError if fewer than `least` can be read (default: all).

    A bad sector must not hide the records before it in the same block.
    """
    parts: list[bytes] = []
    got = 0
    while got < count:
        try:
            data = os.pread(fd, count - got, offset + got)
        except OSError:
            if 0 <= least <= got:
                break
            raise
        if not data:
            break
        parts.append(data)
        got += len(data)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _tables() -> np.ndarray:
    """Returns [8][256]: the CRC-32C of 8 bytes is the XOR of one table entry per byte."""
    first = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        first = np.where(first & 1, (first >> 1) ^ np.uint32(0x82F63B78), first >> 1)
    tables = [first]
    for _ in range(7):
        last = tables[-1]
        tables.append((last >> 8) ^ first[last & 0xFF])
    return np.stack(tables)


_TABLES = _tables()


def _good_headers(data: bytes) -> np.ndarray:
    """Returns the offsets in data at which 8 bytes are followed by their CRC, ascending."""
    octets = np.frombuffer(data, np.uint8)
    n = len(octets) - HEADER_BYTES + 1
    if n <= 0:
        return np.zeros(0, np.int64)
    crc = np.zeros(n, np.uint32)
    for i in range(8):
        # The CRC register starts with all ones, which affect the first four bytes.
        byte = octets[i : i + n] ^ np.uint8(0xFF) if i < 4 else octets[i : i + n]
        crc ^= _TABLES[7 - i][byte]
    crc = ~crc
    masked = ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(0xA282EAD8)
    stored = np.zeros(n, np.uint32)
    for i in range(4):
        stored |= octets[8 + i : 8 + i + n].astype(np.uint32) << np.uint32(8 * i)
    # The high bytes of a valid length are zero: 1 GiB needs 31 bits.
    sane = (octets[7 : 7 + n] | octets[6 : 6 + n] | octets[5 : 5 + n] | octets[4 : 4 + n]) == 0
    places = np.flatnonzero((masked == stored) & sane)
    return places


__all__ = ["FRAME_BYTES", "HEADER_BYTES", "Frame", "RecordFrames"]

"""Walk protobuf's wire format by hand, one message deep.

What counts as malformed is the same here and in wire_walk.hpp: a number beyond the message's
end or of more than 10 bytes, a key of more than 32 bits, field 0, groups and unknown wire types.
"""

from __future__ import annotations

from collections.abc import Iterator


class Malformed(Exception):
    """The bytes are no message."""


def varint(data: bytes | memoryview, at: int, end: int) -> tuple[int, int]:
    """Returns the number at `at`, modulo 2**64, and where it ends."""
    value = shift = 0
    while True:
        if at >= end or shift > 63:
            raise Malformed
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7


def fields(data: bytes | memoryview, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yields (field, wire type, value, stop) for each field of a message.

    value is the number itself for wire type 0 (stop then means nothing); else the bytes are
    data[value:stop].
    """
    while at < end:
        key = data[at]
        if key < 0x80:
            at += 1
        else:
            key, at = varint(data, at, end)
            if key > 0xFFFFFFFF:
                raise Malformed
        wire = key & 7
        if key < 8:
            raise Malformed
        if wire == 2:
            if at < end and data[at] < 0x80:
                size = data[at]
                at += 1
            else:
                size, at = varint(data, at, end)
            if size > end - at:
                raise Malformed
            yield key >> 3, 2, at, at + size
            at += size
        elif wire == 0:
            value, at = varint(data, at, end)
            yield key >> 3, 0, value, at
        elif wire == 1 or wire == 5:
            size = 8 if wire == 1 else 4
            if size > end - at:
                raise Malformed
            yield key >> 3, wire, at, at + size
            at += size
        else:
            raise Malformed


def as_i64(value: int) -> int:
    """Returns a varint as a signed 64-bit number."""
    return value - (1 << 64) if value >= 1 << 63 else value


def as_i32(value: int) -> int:
    """Returns a varint as a signed 32-bit number: its low 32 bits."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value

"""Iterates over the fields of a message in protobuf's wire format.

wire_format.hpp does the same in C++. Both reject the same messages as malformed: numbers that
reach beyond the end or have more than 10 bytes, keys of more than 32 bits, field number 0, groups
and unknown wire types.
"""

from __future__ import annotations

from collections.abc import Iterator


class Malformed(Exception):
    """The bytes are not a valid message."""


def varint(data: bytes | memoryview, at: int, end: int) -> tuple[int, int]:
    """Returns the varint at `at`, modulo 2**64, and the offset of its end."""
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

    For wire type 0, `value` is the number; otherwise the content is data[value:stop].
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

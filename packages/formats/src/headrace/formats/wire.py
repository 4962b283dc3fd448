"""Protobuf's wire format: numbers, and the fields of one message.

For code that reads or writes a few fields of large messages without building protobuf objects.
headrace/wire.h is the same in C; a test compares both.
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, GROUP_BEGIN, GROUP_END, FIXED32 = range(6)
_MAX_GROUPS = 100
_MASK = 0xFFFFFFFFFFFFFFFF
_ONE_BYTE = [bytes((n,)) for n in range(128)]


class MalformedError(ValueError):
    """The bytes are not a protobuf message."""


def encode_varint(number: int) -> bytes:
    """Returns a number of at most 64 bits, signed or not, in groups of seven bits."""
    if 0 <= number < 128:
        return _ONE_BYTE[number]
    number &= _MASK
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def decode_varint(data: bytes | memoryview, at: int, end: int) -> tuple[int, int]:
    """Returns the number at `at`, modulo 2**64, and the position behind it.

    Raises: MalformedError where it does not end before `end` or within ten bytes.
    """
    value = shift = 0
    while shift < 70:
        if at >= end:
            raise MalformedError("a number cut short")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & _MASK, at
        shift += 7
    raise MalformedError("a number of more than ten bytes")


def fields(data: bytes | memoryview, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yields (number, wire type, value, stop) for each field of the message data[at:end].

    The value of a VARINT field is the number. The content of a field of any other type, a group's
    included, is data[value:stop].

    Raises: MalformedError.
    """
    while at < end:
        tag = data[at]
        if 8 <= tag < 128:  # the first 15 fields have a tag of one byte
            at += 1
        else:
            tag, at = _tag(data, at, end)
        wire = tag & 7
        if wire == VARINT:
            value, at = decode_varint(data, at, end)
            yield tag >> 3, wire, value, at
            continue
        if wire == GROUP_BEGIN:
            start, stop, at = _group(data, at, end)
        else:
            start, stop = _content(data, at, end, wire)
            at = stop
        yield tag >> 3, wire, start, stop


def _tag(data: bytes | memoryview, at: int, end: int) -> tuple[int, int]:
    tag, at = decode_varint(data, at, end)
    if tag >> 35 or tag < 8:
        raise MalformedError("a field number out of range")
    return tag, at


def _content(data: bytes | memoryview, at: int, end: int, wire: int) -> tuple[int, int]:
    """The bytes of a field that is neither a number nor a group."""
    if wire == BYTES:
        size, at = decode_varint(data, at, end)
        if size > end - at:
            raise MalformedError("a length beyond the end")
        return at, at + size
    if wire not in (FIXED64, FIXED32):
        raise MalformedError("an unknown wire type")
    size = 8 if wire == FIXED64 else 4
    if size > end - at:
        raise MalformedError("a number cut short")
    return at, at + size


def _group(data: bytes | memoryview, at: int, end: int) -> tuple[int, int, int]:
    """Begin and end of a group's content, and the position behind its end tag."""
    start = before = at
    depth = 1
    while depth:
        if at >= end:
            raise MalformedError("a group without an end")
        before = at
        tag, at = _tag(data, at, end)
        wire = tag & 7
        if wire == GROUP_BEGIN:
            depth += 1
            if depth > _MAX_GROUPS:
                raise MalformedError("groups nested too deep")
        elif wire == GROUP_END:
            depth -= 1
        elif wire == VARINT:
            _, at = decode_varint(data, at, end)
        else:
            _, at = _content(data, at, end, wire)
    return start, before, at

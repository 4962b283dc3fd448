"""A plain compressor in Snappy's format, for tests of the readers."""

from __future__ import annotations

from headrace.formats.wire import encode_varint


def pack(data: bytes) -> bytes:
    """Returns data in Snappy's format, with copies of one and of two bytes of offset."""
    out = bytearray(encode_varint(len(data)))
    seen: dict[bytes, int] = {}
    at = start = 0
    while at < len(data):
        found = seen.get(data[at : at + 4])
        seen[data[at : at + 4]] = at
        if found is None or at + 4 > len(data) or at - found >= 1 << 16:
            at += 1
            continue
        length = 4
        while at + length < len(data) and length < 64 and data[found + length] == data[at + length]:
            length += 1
        _literal(out, data[start:at])
        offset = at - found
        if length < 12 and offset < 2048:
            out += bytes((1 | (length - 4) << 2 | offset >> 8 << 5, offset & 255))
        else:
            out += bytes((2 | (length - 1) << 2,)) + offset.to_bytes(2, "little")
        at = start = at + length
    _literal(out, data[start:])
    return bytes(out)


def _literal(out: bytearray, data: bytes) -> None:
    if not data:
        return
    last = len(data) - 1
    if last < 60:
        out.append(last << 2)
    else:
        extra = (last.bit_length() + 7) // 8
        out.append((59 + extra) << 2)
        out += last.to_bytes(extra, "little")
    out += data

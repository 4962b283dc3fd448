"""Unpacks data that Snappy compressed; snappy.h describes the format.

TensorFlow compresses the blocks of a checkpoint's index when it is built with Snappy, as inside of
Google, where many public models were exported.
"""

from __future__ import annotations

from headrace.formats.wire import decode_varint

# An element of three bytes stands for at most 64.
_MAX_EXPANSION = 22


def unpack(data: bytes) -> bytes:
    """Returns the unpacked bytes.

    Raises: ValueError if the data is corrupted.
    """
    size, position = decode_varint(data, 0, len(data))
    if size > _MAX_EXPANSION * len(data):
        raise ValueError(f"{len(data)} compressed bytes cannot stand for {size}")
    out = bytearray()
    while position < len(data):
        tag = data[position]
        position += 1
        kind, length = tag & 3, tag >> 2
        if kind == 0:
            if length >= 60:
                extra = length - 59
                length = _number(data, position, extra)
                position += extra
            length += 1
            if length > len(data) - position:
                raise ValueError("literal bytes are cut off")
            out += data[position : position + length]
            position += length
        else:
            extra = 4 if kind == 3 else kind
            offset = _number(data, position, extra)
            position += extra
            if kind == 1:
                offset |= length >> 3 << 8
                length = (length & 7) + 4
            else:
                length += 1
            if not 0 < offset <= len(out):
                raise ValueError(f"a copy from {offset} bytes before, of {len(out)}")
            # a copy may overlap what it writes: the bytes repeat
            piece = bytes(out[len(out) - offset :][:length])
            out += (piece * (length // len(piece) + 1))[:length]
        if len(out) > size:
            break
    if len(out) != size:
        raise ValueError(f"unpacks to {len(out)} bytes instead of {size}")
    return bytes(out)


def _number(data: bytes, position: int, size: int) -> int:
    if size > len(data) - position:
        raise ValueError("an element is cut off")
    return int.from_bytes(data[position : position + size], "little")

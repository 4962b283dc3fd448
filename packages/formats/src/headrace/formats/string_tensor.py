"""Encodes and decodes string tensors of a checkpoint.

The encoding is: all lengths as varints, the masked CRC of the lengths (4 bytes), all bytes. The CRC
of the lengths covers each length as a fixed 32-bit number, or a 64-bit one if it does not fit. The
CRC of the tensor continues that CRC over the stored CRC and the bytes.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from headrace.formats.masked_crc import crc32c, mask
from headrace.formats.sorted_table import decode_varint
from headrace.formats.wire import encode_varint


def encode_strings(array: np.ndarray) -> tuple[list[bytes], int]:
    """Encodes strings; returns the parts to write in order, and their unmasked CRC.

    Raises: TypeError for elements that are neither bytes nor str.
    """
    strings = [_as_bytes(v) for v in array.reshape(-1).tolist()]
    crc = crc32c(b"".join(_fixed(len(s)) for s in strings))
    checksum = struct.pack("<I", mask(crc))
    body = b"".join(strings)
    crc = crc32c(body, crc32c(checksum, crc))
    return [b"".join(encode_varint(len(s)) for s in strings), checksum, body], crc


def decode_strings(data: Any, count: int) -> tuple[np.ndarray, int]:
    """Decodes `count` strings; returns an object array [count] of bytes and the unmasked CRC.

    Raises: ValueError for corrupted data, or data too short for so many strings.
    """
    if count > len(data):
        raise ValueError(f"{len(data)} bytes cannot hold {count} strings")
    lengths = []
    position = 0
    for _ in range(count):
        length, position = decode_varint(data, position)
        lengths.append(length)
    crc = crc32c(b"".join(map(_fixed, lengths)))
    checksum = bytes(data[position : position + 4])
    if checksum != struct.pack("<I", mask(crc)):
        raise ValueError("the CRC of the lengths is wrong")
    position += 4
    if sum(lengths) != len(data) - position:
        raise ValueError(
            f"lengths add up to {sum(lengths)} bytes, the data has {len(data) - position}"
        )
    crc = crc32c(data[position:], crc32c(checksum, crc))
    out = np.empty(count, object)
    for i, length in enumerate(lengths):
        out[i] = bytes(data[position : position + length])
        position += length
    return out, crc


def _fixed(length: int) -> bytes:
    return struct.pack("<I" if length < 1 << 32 else "<Q", length)


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8")
    raise TypeError(f"expected bytes, got {value!r} of type {type(value).__name__!r}")

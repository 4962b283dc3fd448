"""OrderedCode: order-preserving byte strings, the keys of slices in a checkpoint.

Source: the OrderedCode library, as TensorFlow's checkpoints use it.
"""

from __future__ import annotations

from collections.abc import Sequence


def encode_slice_key(name: str, extents: Sequence[tuple[int, int]]) -> bytes:
    """Returns the checkpoint key of one slice of a tensor.

    Args:
      name: name of the tensor.
      extents: (start, length) per dimension; (0, -1) for a full dimension.
    """
    parts = [_unsigned(0), _string(name.encode("utf-8")), _unsigned(len(extents))]
    for start, length in extents:
        parts += (_signed(start), _signed(length))
    return b"".join(parts)


def is_slice_key(key: bytes) -> bool:
    """Returns whether a checkpoint key denotes a slice: only such keys start with a zero byte."""
    return key[:1] == b"\0"


def _unsigned(value: int) -> bytes:
    size = (value.bit_length() + 7) // 8
    return bytes((size,)) + value.to_bytes(size, "big")


def _string(value: bytes) -> bytes:
    # One pass: each escape sequence contains the byte that the other one escapes.
    out = bytearray()
    for byte in value:
        out.append(byte)
        if byte == 0:
            out.append(0xFF)
        elif byte == 0xFF:
            out.append(0)
    return bytes(out) + b"\0\1"


def _signed(value: int) -> bytes:
    magnitude = ~value if value < 0 else value
    size = magnitude.bit_length() // 7 + 1
    raw = bytearray(value.to_bytes(size + 1, "big", signed=True)[-size:])
    # The number of leading one bits is the size in bytes; inverted for negative numbers.
    header = ((1 << size) - 1) << (16 - size)
    raw[0] ^= header >> 8
    if size > 1:
        raw[1] ^= header & 0xFF
    return bytes(raw)

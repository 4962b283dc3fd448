"""CRC-32C with the mask that record and table files store."""

from __future__ import annotations

from typing import Any

import google_crc32c

_MASK_DELTA = 0xA282EAD8


def crc32c(data: Any, crc: int = 0) -> int:
    """Returns the CRC-32C of a buffer.

    Args:
      data: anything with the buffer protocol, contiguous.
      crc: CRC of what came before it.
    """
    if type(data) is not bytes:
        data = _readable(data)
    return google_crc32c.extend(crc, data)


def masked_crc32c(data: Any) -> int:
    """Returns the masked CRC-32C of a buffer, as stored beside it."""
    return mask(crc32c(data))


def mask(crc: int) -> int:
    """Hides a CRC, so that the CRC of bytes that hold CRCs stays a good one.

    Source: LevelDB, doc/log_format.md and util/crc32c.h.
    """
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def unmask(masked: int) -> int:
    """Returns the CRC that `mask` hid."""
    rotated = (masked - _MASK_DELTA) & 0xFFFFFFFF
    return (rotated >> 17 | rotated << 15) & 0xFFFFFFFF


def _readable(data: Any) -> Any:
    """The C function takes bytes and NumPy arrays but no memoryview or mmap."""
    view = memoryview(data)
    if not view.nbytes:
        return b""
    import numpy as np  # records alone need no NumPy

    return np.frombuffer(view, np.uint8)

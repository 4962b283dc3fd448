"""CRC-32C, and its masked form that record and table files store."""

from __future__ import annotations

from typing import Any

import google_crc32c

_MASK_DELTA = 0xA282EAD8


def crc32c(data: Any, crc: int = 0) -> int:
    """Returns the CRC-32C of a buffer.

    Args:
      data: contiguous object with the buffer protocol.
      crc: CRC of the preceding bytes.
    """
    if type(data) is not bytes:
        data = _readable(data)
    return google_crc32c.extend(crc, data)


def masked_crc32c(data: Any) -> int:
    """Returns the masked CRC-32C of a buffer, the form stored in files."""
    return mask(crc32c(data))


def mask(crc: int) -> int:
    """Masks a CRC, so that computing the CRC of data with embedded CRCs is safe.

    Source: LevelDB, doc/log_format.md and util/crc32c.h.
    """
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def unmask(masked: int) -> int:
    """Inverts `mask`."""
    rotated = (masked - _MASK_DELTA) & 0xFFFFFFFF
    return (rotated >> 17 | rotated << 15) & 0xFFFFFFFF


def _readable(data: Any) -> Any:
    """Converts memoryview and mmap, which the C function does not accept, to an array."""
    view = memoryview(data)
    if not view.nbytes:
        return b""
    import numpy as np  # records alone need no NumPy

    return np.frombuffer(view, np.uint8)

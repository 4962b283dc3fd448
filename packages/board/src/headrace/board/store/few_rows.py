"""The first rows of a series, packed into bytes.

Logs may have a hundred thousand tags of a point or two. Three arrays, a lock and a list of files
take some 1.5 KB a series; up to FEW_ROWS rows therefore are one bytes object, which never changes.
"""

from __future__ import annotations

import struct

import numpy as np

FEW_ROWS = 8
_LETTERS = {"i8": "q", "i4": "i", "f8": "d", "f4": "f"}  # of struct


class RowFormat:
    """How rows of some columns are packed: one row after another, without gaps.

    Args:
      dtypes: dtype of each column, an integer or float of 4 or 8 bytes.
    """

    __slots__ = ("dtypes", "record", "unpacked")

    def __init__(self, *dtypes: np.dtype) -> None:
        self.dtypes = dtypes
        self.record = np.dtype(
            [(f"c{i}", dtype.newbyteorder("<")) for i, dtype in enumerate(dtypes)]
        )
        self.unpacked = struct.Struct("<" + "".join(_LETTERS[dtype.str[1:]] for dtype in dtypes))

    def packed(self, rows: tuple[np.ndarray, ...]) -> bytes:
        """Returns rows as bytes; the columns are converted to the format's dtypes."""
        records = np.empty(len(rows[0]), self.record)
        for i, column in enumerate(rows):
            records[f"c{i}"] = column
        return records.tobytes()

    def columns(self, packed: bytes) -> tuple[np.ndarray, ...]:
        """Returns packed rows as read-only columns."""
        records = np.frombuffer(packed, self.record)
        columns = tuple(np.ascontiguousarray(records[name]) for name in self.record.names or ())
        for column in columns:
            column.flags.writeable = False
        return columns

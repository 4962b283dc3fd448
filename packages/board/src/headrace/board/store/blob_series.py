"""Series whose values stay in the event files: images, histograms, texts, graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.board.store.few_rows import RowFormat
from headrace.board.store.series import Series

_I64, _F64, _I32 = np.dtype("i8"), np.dtype("f8"), np.dtype("i4")


@dataclass(frozen=True, slots=True, eq=False)
class BlobRows:
    """A read-only snapshot of all rows, in order of file. RecordAccess reads the values.

    step: [n] i64; wall: [n] f64; file: [n] i32, number of the file; offset: [n] i64 of the record;
    length: [n] i64 of its data; value: [n] i32, index in the summary, -1 for a field of the event;
    superseded: [n] bool, superseded by a restart.
    """

    step: np.ndarray
    wall: np.ndarray
    file: np.ndarray
    offset: np.ndarray
    length: np.ndarray
    value: np.ndarray
    superseded: np.ndarray

    def __len__(self) -> int:
        return len(self.step)


class BlobSeries(Series):
    """The rows of one tag in one run; their values stay in the files."""

    __slots__ = ()
    format = RowFormat(_I64, _F64, _I64, _I64, _I32, _I32)

    def add_rows(
        self,
        file: int,
        order: str,
        rows: tuple[np.ndarray, ...],
        starts: list[tuple[int, int]],
    ) -> None:
        """Appends rows of a file: columns step, wall, offset, length, value."""
        self.append(file, order, (*rows, np.broadcast_to(np.int32(file), rows[0].shape)), starts)

    def rows(self) -> BlobRows:
        """Returns a snapshot of all rows, without copying them."""
        (step, wall, offset, length, value, file), restarts = self._snapshot()
        return BlobRows(step, wall, file, offset, length, value, restarts.superseded)

    def ends(self) -> tuple[int, int, int, float, float] | None:
        """Returns n, first and last step, first and last wall, without superseded rows."""
        packed = self._rows
        if isinstance(packed, bytes):
            n = len(packed) // self.format.record.itemsize
            if not n:
                return None
            first = self.format.unpacked.unpack_from(packed)
            last = self.format.unpacked.unpack_from(packed, len(packed) - len(packed) // n)
            return n, first[0], last[0], first[1], last[1]
        rows = self.rows()
        if not len(rows):
            return None
        live = np.flatnonzero(~rows.superseded)
        begin, end = int(live[0]), int(live[-1])
        steps, walls = rows.step, rows.wall
        ends = int(steps[begin]), int(steps[end]), float(walls[begin]), float(walls[end])
        return len(live), *ends

    def _count(self, added: int) -> None:
        self.run.blobs += added

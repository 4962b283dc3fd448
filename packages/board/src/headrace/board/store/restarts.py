"""Finds the points that a restart has superseded.

A program that crashes and continues from its last checkpoint logs some steps twice. The later
points count. The earlier ones are superseded: they are kept and drawn faintly, but statistics
leave them out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

_NEVER = np.iinfo(np.int64).max


@dataclass(slots=True, eq=False)
class Part:
    """The rows begin:end of a series, which come from one file.

    starts: (row within the part, step) where a session started before that row.
    first_wall, last_wall: wall time of the first row, and the greatest; NaN without rows.
    """

    file: int
    order: str
    begin: int
    end: int
    first_wall: float
    last_wall: float
    starts: list[tuple[int, int]] = field(default_factory=list)


class Restarts(NamedTuple):
    """segment: i32, the number of restarts before each row; superseded: bool."""

    segment: np.ndarray
    superseded: np.ndarray
    segments: int


def no_restarts(n: int) -> Restarts:
    """Returns the result for rows without restarts; it occupies no memory per row."""
    return Restarts(
        np.broadcast_to(np.int32(0), (n,)), np.broadcast_to(np.bool_(False), (n,)), 1 if n else 0
    )


def is_alone(parts: list[Part]) -> bool:
    """Returns whether all rows come from one file, without a session start among them."""
    if not parts or (len(parts) == 1 and not parts[0].starts):
        return True
    return len(parts) == 1 and not any(row for row, _ in parts[0].starts)


def never_back(step: np.ndarray) -> bool:
    """Returns whether steps never decrease."""
    return not bool(np.any(step[1:] < step[:-1]))


def concurrent_parts(parts: list[Part]) -> list[bool]:
    """Returns for each part whether it was written while an earlier part still grew."""
    latest = -np.inf
    found = []
    for part in parts:
        found.append(part.first_wall < latest)
        latest = max(latest, part.last_wall)
    return found


def find_restarts(step: np.ndarray, parts: list[Part]) -> Restarts:
    """Returns the segments of a series and its superseded rows.

    Within a file, a restart is a step below the one before, or the start of a session. The first
    row of a file is a restart unless its step is above all steps of earlier files. A restart
    supersedes the earlier rows from its step on (or from the session's first step). Two programs
    that write at once supersede only their own rows.

    Args:
      step: [n] i64.
      parts: in order; together they cover 0:n.
    """
    opens = np.zeros(len(step), np.bool_)
    threshold = np.full(len(step), _NEVER)
    at_once = concurrent_parts(parts)
    greatest = None
    for k, part in enumerate(parts):
        rows = slice(part.begin, part.end)
        own = step[rows]
        back = opens[rows]
        back[1:] = own[1:] < own[:-1]
        if k and (at_once[k] or own[0] <= greatest):
            back[0] = True
        floor = threshold[rows]
        floor[back] = own[back]
        for row, start in part.starts:
            if row or k:
                back[row] = True
                floor[row] = min(int(floor[row]), start, int(own[row]))
        highest = int(own.max())
        greatest = highest if greatest is None else max(greatest, highest)
    superseded = np.zeros(len(step), np.bool_)
    carried = _NEVER
    for k in range(len(parts) - 1, -1, -1):
        rows = slice(parts[k].begin, parts[k].end)
        floor = threshold[rows]
        lowest = np.minimum.accumulate(floor[::-1])[::-1]
        after = np.full(len(floor), carried)
        np.minimum(lowest[1:], carried, out=after[:-1])
        # _NEVER means no restart, but is also a valid step: it must not supersede anything.
        superseded[rows] = (after <= step[rows]) & (after != _NEVER)
        if not at_once[k]:
            carried = min(carried, int(lowest[0]))
    segment = np.cumsum(opens, dtype=np.int32)
    segment.flags.writeable = superseded.flags.writeable = False
    return Restarts(segment, superseded, int(segment[-1]) + 1)

"""Which points a restart has overtaken.

A program that dies and goes on from its last checkpoint writes some steps a second time. The later
points count; the earlier ones are superseded: kept and shown faint, and out of the statistics.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

_NEVER = np.iinfo(np.int64).max


@dataclass(slots=True, eq=False)
class Part:
    """A series' rows from one file: begin:end.

    starts: (row within the part, step) where a session began before that row.
    first_wall, last_wall: of the first row, and the greatest; NaN before.
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
    """Returns what holds for rows that no restart has touched; takes no memory for them."""
    return Restarts(
        np.broadcast_to(np.int32(0), (n,)), np.broadcast_to(np.bool_(False), (n,)), 1 if n else 0
    )


def is_alone(parts: list[Part]) -> bool:
    """Whether all rows come from one file, and no session began among them."""
    if not parts or (len(parts) == 1 and not parts[0].starts):
        return True
    return len(parts) == 1 and not any(row for row, _ in parts[0].starts)


def never_back(step: np.ndarray) -> bool:
    """Whether no step lies below the one before it."""
    return not bool(np.any(step[1:] < step[:-1]))


def concurrent_parts(parts: list[Part]) -> list[bool]:
    """Returns, for each part, whether it was written while an earlier part still grew."""
    latest = -np.inf
    found = []
    for part in parts:
        found.append(part.first_wall < latest)
        latest = max(latest, part.last_wall)
    return found


def find_restarts(step: np.ndarray, parts: list[Part]) -> Restarts:
    """Returns the segments of a series and its superseded rows.

    Within a file a restart is a step that goes back, or a session's start; a file's first row is
    one if it does not lie behind all earlier files' steps. It supersedes the earlier rows from its
    step on (or from the session's first step). Two programs that write at once supersede only
    their own rows.

    Args:
      step: [n] i64.
      parts: in order; their rows are 0:n.
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
        # _NEVER stands for no restart, and is a step, too: nothing is superseded by that.
        superseded[rows] = (after <= step[rows]) & (after != _NEVER)
        if not at_once[k]:
            carried = min(carried, int(lowest[0]))
    segment = np.cumsum(opens, dtype=np.int32)
    segment.flags.writeable = superseded.flags.writeable = False
    return Restarts(segment, superseded, int(segment[-1]) + 1)

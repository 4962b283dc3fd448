"""Stalls: the significant waits of a step, each with the slice that was waited for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.board.trace.reading.step_trace import RECV, SYNC, TRANSFER, StepTrace

_OF_STEP = 0.01
_OF_MEDIAN = 3
_KIND_NAMES = {RECV: "receive", SYNC: "sync", TRANSFER: "copy"}
QUEUE = "queue"


@dataclass(frozen=True)
class Stall:
    """A wait of a slice; source is the slice that released it, or -1 if unknown."""

    source: int
    target: int
    wait_ns: int
    kind: str  # receive, sync, copy, or queue: ready, and the thread was busy
    begin_ns: int


def find_stalls(trace: StepTrace, most: int = 500) -> list[Stall]:
    """Finds waits above 1 % of the step and 3 times the median wait of their kind.

    Returns: at most `most` stalls, the longest first.
    """
    if not len(trace):
        return []
    found: list[Stall] = []
    sender = dict(
        zip(trace.transfers.target.tolist(), trace.transfers.source.tolist(), strict=True)
    )
    for kind, title in _KIND_NAMES.items():
        at = np.flatnonzero(trace.kind == kind)
        for i in _outstanding(trace.duration[at], trace.duration_ns, most).tolist():
            slice_ = int(at[i])
            wait, begin = int(trace.duration[slice_]), int(trace.start[slice_])
            found.append(Stall(sender.get(slice_, -1), slice_, wait, title, begin))
    found += _unseen_transfers(trace, most)
    queued = trace.start - trace.scheduled
    for at in _outstanding(queued, trace.duration_ns, most).tolist():
        # The slice waited for the previous one on its lane.
        ahead = at - 1 if at and trace.lane[at - 1] == trace.lane[at] else -1
        found.append(
            Stall(
                ahead,
                at,
                int(queued[at]),
                QUEUE,
                int(trace.scheduled[at]),
            )
        )
    found.sort(key=lambda stall: (-stall.wait_ns, stall.begin_ns))
    return found[:most]


def _unseen_transfers(trace: StepTrace, most: int) -> list[Stall]:
    """Returns waits for tensors of other devices whose _Recv is not in the trace.

    Such a wait lasts from the time when the tensor was computed and the lane of its first reader
    was free, until the reader was scheduled.
    """
    moves = trace.transfers
    at = np.flatnonzero(~moves.direct)
    if not len(at):
        return []
    # Of what a slice waited for, the last to be made.
    at = at[np.lexsort((trace.end[moves.source[at]], moves.target[at]))]
    target = moves.target[at]
    last = np.append(target[1:] != target[:-1], True)
    source, target = moves.source[at][last], target[last]
    ahead = np.maximum(target - 1, 0)
    free = np.where(
        (target > 0) & (trace.lane[ahead] == trace.lane[target]),
        trace.end[ahead],
        trace.end[source],
    )
    begin = np.maximum(trace.end[source], free)
    wait = trace.scheduled[target] - begin
    return [
        Stall(int(source[i]), int(target[i]), int(wait[i]), _KIND_NAMES[RECV], int(begin[i]))
        for i in _outstanding(wait, trace.duration_ns, most).tolist()
    ]


def _outstanding(waits: np.ndarray, step_ns: int, most: int) -> np.ndarray:
    """Returns i64[k]: the indices of significant waits, the longest first."""
    some = waits[waits > 0]
    if not len(some):
        return np.empty(0, np.int64)
    least = max(_OF_STEP * step_ns, _OF_MEDIAN * float(np.median(some)) if len(some) > 2 else 0.0)
    at = np.flatnonzero(waits > least)
    return at[np.argsort(-waits[at], kind="stable")][:most]

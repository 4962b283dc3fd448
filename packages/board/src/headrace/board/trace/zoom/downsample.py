"""Reduces a window of a trace to its pixels: long slices stay, short ones are merged."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.board.trace.reading.step_trace import MERGED, StepTrace

downsample_lanes: Callable[..., tuple[np.ndarray, ...]] | None
try:
    from headrace.board.trace.zoom.downsample_lanes import downsample_lanes
except ImportError:  # not compiled
    downsample_lanes = None

_MAX_NS = 1 << 62
_MAX_CELLS = 1 << 22  # of the table of time by merged item and op


@dataclass(frozen=True)
class DownsampledTrace:
    """Items in order of lane and time; the items of a lane do not overlap."""

    lane: np.ndarray  # i32[k]
    start: np.ndarray  # i64[k]
    end: np.ndarray  # i64[k]
    slice: np.ndarray  # i64[k]: the slice; of a merged item, the longest of its dominant op
    op: np.ndarray  # i32[k]
    kind: np.ndarray  # u8[k], MERGED where the item is many slices
    count: np.ndarray  # i64[k]
    busy_ns: np.ndarray  # i64[k], of all its slices
    wait_ns: np.ndarray  # i64[k], before a slice's start
    critical_ns: np.ndarray  # i64[k], of it on the critical path
    n: int  # number of slices in the window

    def __len__(self) -> int:
        return len(self.start)


def downsample_trace(
    trace: StepTrace,
    t0: float,
    t1: float,
    px: int,
    lanes: Sequence[int] | None = None,
    critical: np.ndarray | None = None,
) -> DownsampledTrace:
    """Reduces a window of time to its pixels.

    Slices of at least one pixel are kept; consecutive shorter ones that start in the same pixel are
    merged into one item. A lane has at most 2 px items, and the busy_ns of its items add up to the
    duration of its slices.

    Args:
      t0: start of the window in ns; slices that reach into it are included.
      t1: end of the window in ns, above t0.
      px: width of the window in pixels, at least 1.
      lanes: ids of lanes; None: all.
      critical: bool[n], the slices on the critical path.
    """
    # One pixel is reserved for slices that started before the window.
    pixel_ns = (t1 - t0) / max(1, px - 1)
    spans = _spans(trace, t0, t1, lanes)
    n = sum(high - low for _, low, high in spans)
    if downsample_lanes is None:
        return _downsample_by_numpy(trace, spans, n, t0, pixel_ns, critical)
    marked = None if critical is None else critical.view(np.uint8)
    columns: tuple[Any, ...] = downsample_lanes(
        spans,
        trace.start,
        trace.end,
        trace.scheduled,
        trace.op,
        trace.kind,
        marked,
        t0,
        pixel_ns,
        len(trace.ops),
        MERGED,
    )
    return DownsampledTrace(*[*columns, n])


def _downsample_by_numpy(
    trace: StepTrace,
    spans: list[tuple[int, int, int]],
    n: int,
    t0: float,
    pixel_ns: float,
    critical: np.ndarray | None,
) -> DownsampledTrace:
    """Does the same as downsample_lanes, if that is not compiled."""
    if n == 0:
        return _nothing()
    index = np.concatenate([np.arange(low, high) for _, low, high in spans])
    every = len(index) == len(trace)
    lane, start, end = trace.lane, trace.start, trace.end
    duration, op = trace.duration, trace.op
    if not every:
        lane, start, end, duration, op = (
            column[index] for column in (lane, start, end, duration, op)
        )
    pixel = np.floor((start - t0) / pixel_ns)
    alone = duration >= pixel_ns
    fresh = np.empty(len(index), bool)
    fresh[0] = True
    np.not_equal(pixel[1:], pixel[:-1], out=fresh[1:])
    fresh[1:] |= lane[1:] != lane[:-1]
    fresh[1:] |= alone[1:] | alone[:-1]
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(index)) - 1
    count = last - first + 1
    shown = index[first]
    merged = np.flatnonzero(count > 1)
    item_op = op[first].astype(np.int32)
    if len(merged):
        item_op[merged], shown[merged] = _dominant(first, count, merged, op, duration, index)
    busy = np.add.reduceat(duration, first)
    kind = np.where(count > 1, np.uint8(MERGED), trace.kind[index[first]])
    wait = np.where(count > 1, 0, trace.start[shown] - trace.scheduled[shown])
    if critical is None:
        on_path = np.zeros(len(first), np.int64)
    else:
        on_path = np.add.reduceat(np.where(critical[index], duration, 0), first)
    return DownsampledTrace(
        lane[first],
        start[first],
        end[last],
        shown,
        item_op,
        kind,
        count,
        busy,
        wait,
        on_path,
        len(index),
    )


def _spans(
    trace: StepTrace, t0: float, t1: float, lanes: Sequence[int] | None
) -> list[tuple[int, int, int]]:
    """Returns for each lane its id and the slices [low, high) that reach into the window."""
    chosen = trace.lanes if lanes is None else [trace.lanes[i] for i in sorted(set(lanes))]
    # Integers, because NumPy would convert the whole column to search for a float.
    after, since, until = (
        np.int64(min(max(t, -_MAX_NS), _MAX_NS))
        for t in (math.floor(t0), math.ceil(t0), math.floor(t1))
    )
    spans = []
    for lane in chosen:
        span = slice(lane.first, lane.last)
        low = int(np.searchsorted(trace.end[span], after, side="right"))
        # A slice of zero duration is in the window if it starts there.
        low = min(low, int(np.searchsorted(trace.start[span], since, side="left")))
        high = int(np.searchsorted(trace.start[span], until, side="right"))
        if high > low:
            spans.append((lane.id, lane.first + low, lane.first + high))
    return spans


def _dominant(
    first: np.ndarray,
    count: np.ndarray,
    merged: np.ndarray,
    op: np.ndarray,
    duration: np.ndarray,
    index: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Finds the op that takes most time in each merged item.

    Returns: these ops, and the longest slice of the op in each item.
    """
    size = count[merged]
    block = np.repeat(np.arange(len(merged), dtype=np.int32), size)
    begins = np.cumsum(size) - size
    if int(size.sum()) == len(index):
        member = slice(None)  # all slices, without copying
    else:
        member = np.arange(len(block)) + np.repeat(first[merged] - begins, size)
    ops, took, who = op[member], duration[member], index[member]
    n_ops = int(op.max()) + 1
    if len(merged) * n_ops <= _MAX_CELLS:
        cell = block * np.int32(n_ops) + ops
        total = np.bincount(cell, took, len(merged) * n_ops).reshape(len(merged), n_ops)
        # If all slices have zero duration, the first op is the dominant one.
        most = np.where(total.max(axis=1) > 0, total.argmax(axis=1), ops[begins])
    else:
        cell, inverse = np.unique(block.astype(np.int64) * n_ops + ops, return_inverse=True)
        total = np.bincount(inverse, took, len(cell))
        order = np.lexsort((total, cell // n_ops))
        ends = np.searchsorted(cell[order] // n_ops, np.arange(len(merged)), side="right") - 1
        most = cell[order][ends] % n_ops
    of_most = np.where(ops == most[block], took, -1)
    longest = np.maximum.reduceat(of_most, begins)
    at = np.flatnonzero(of_most == longest[block])
    _, once = np.unique(block[at], return_index=True)
    return most.astype(np.int32), who[at[once]]


def _nothing() -> DownsampledTrace:
    whole = np.empty(0, np.int64)
    small = np.empty(0, np.int32)
    kind = np.empty(0, np.uint8)
    return DownsampledTrace(small, whole, whole, whole, small, kind, whole, whole, whole, whole, 0)

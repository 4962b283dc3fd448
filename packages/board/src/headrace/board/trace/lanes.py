"""Which lane each slice lies on: a thread of a device of a task, or a stream, or its transfers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.board.trace.device_name import DeviceName, in_reading_order
from headrace.board.trace.step_columns import StepColumns

try:
    from headrace.board.trace.scan_step_stats import rows_of
except ImportError:  # not compiled
    from headrace.board.trace.scan_step_stats_python import rows_of

_TRANSFERS = np.int64(1) << 32  # the thread of what arrived over the network


@dataclass(frozen=True)
class Lane:
    """A row of slices that do not overlap: [first, last) of the trace's columns."""

    id: int
    task: str
    device: str
    device_title: str
    thread: str
    row: int  # 0, or more where slices of one thread overlap
    first: int
    last: int
    busy_ns: int


def lay_lanes(
    columns: StepColumns,
    devices: list[DeviceName],
    arrived: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
) -> tuple[list[Lane], np.ndarray, np.ndarray]:
    """Assigns slices to lanes.

    Args:
      columns: of the trace.
      devices: one for each of columns.devices.
      arrived: bool[n], the slices that are transfers between tasks: their own lanes.
      start: i64[n], on the common clock.
      end: i64[n], on the common clock.
    Returns: the lanes in order of the page; the order of slices, i64[n], by lane and time; the lane
      of each slice in that order, i32[n].
    """
    thread = np.where(arrived, _TRANSFERS, columns.thread.astype(np.int64))
    keys, group = _groups(columns.device, thread)
    places = [_place(devices[d], t, columns.thread_names.get((d, t), "")) for d, t in keys]
    by_page = sorted(range(len(places)), key=lambda i: places[i][0])
    rank = np.empty(len(places), np.int32)
    rank[by_page] = np.arange(len(places), dtype=np.int32)
    rank_of_slice = rank[group]
    # Of those that start together the longer goes first, so that a caller lies above its callees;
    # but what takes no time goes before it, and so on the same row.
    order = np.lexsort((-end, end > start, start, rank_of_slice))
    bounds = np.searchsorted(rank_of_slice[order], np.arange(len(places) + 1))
    row = np.zeros(len(order), np.int32)
    for r in range(len(places)):
        part = order[bounds[r] : bounds[r + 1]]
        begins, ends = start[part], end[part]
        if len(part) > 1 and (np.maximum.accumulate(ends)[:-1] > begins[1:]).any():
            row[bounds[r] : bounds[r + 1]] = rows_of(begins, ends)
    final = np.lexsort((row, rank_of_slice[order]))  # stable: keeps the order of time within a row
    order, row = order[final], row[final]
    ranked = rank_of_slice[order].astype(np.int64)
    fresh = np.flatnonzero(np.diff((ranked << 32) | row, prepend=-1))
    edges = np.append(fresh, len(order)).astype(np.int64)
    took = np.append(0, np.cumsum((end - start)[order]))
    lanes = []
    for i, first in enumerate(fresh.tolist()):
        place = places[by_page[int(ranked[first])]]
        last = int(edges[i + 1])
        busy = int(took[last] - took[first])
        lanes.append(Lane(i, *place[1:], int(row[first]), first, last, busy))
    lane = np.repeat(np.arange(len(lanes), dtype=np.int32), np.diff(edges))
    return lanes, order, lane


def _groups(device: np.ndarray, thread: np.ndarray) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Returns: the distinct pairs, and the index of each slice's pair among them."""
    known, short = np.unique(thread, return_inverse=True)
    pair, group = np.unique(device.astype(np.int64) * len(known) + short, return_inverse=True)
    keys = [(int(p) // len(known), int(known[int(p) % len(known)])) for p in pair]
    return keys, group


def _place(device: DeviceName, thread: int, name: str) -> tuple[list, str, str, str, str]:
    """Returns: a key that sorts lanes, then task, device and stream, its title, and thread."""
    arrived = thread == int(_TRANSFERS)
    title = device.device + (f" {device.stream.replace(':', ' ')}" if device.stream else "")
    key = "/".join(part for part in (device.device, device.stream) if part)
    shown = "transfers" if arrived else name or (f"thread {thread}" if not device.stream else "")
    order = [
        in_reading_order(device.task),
        in_reading_order(device.device),
        # all that a device did, then its streams, then its copies
        (
            device.stream != "",
            device.stream != "stream:all",
            device.stream.startswith("memcpy"),
            in_reading_order(device.stream),
        ),
        (arrived, thread),
    ]
    return order, device.task, key, title, shown

"""Assigns slices to lanes: a thread or stream of a device, or the transfers of a device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.board.trace.reading.device_name import DeviceName, in_reading_order
from headrace.board.trace.reading.step_columns import StepColumns

try:
    from headrace.board.trace.reading.scan_step_stats import numbered_pairs, rows_of
except ImportError:  # not compiled
    from headrace.board.trace.reading.scan_step_stats_python import numbered_pairs, rows_of

_TRANSFERS = np.int64(1) << 32  # thread number of the lane for network transfers


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
) -> tuple[list[Lane], np.ndarray, np.ndarray]:
    """Assigns slices to lanes.

    Args:
      columns: the slices; times may be on the clock of each task, since a lane belongs to one task.
      devices: one for each of columns.devices.
      arrived: bool[n], the transfers between tasks, which get lanes of their own.
    Returns: the lanes in order of display; i64[n], the order of slices by lane and time; i32[n],
      the lane of each slice in that order.
    """
    start, end = columns.start, columns.end
    thread = columns.thread.astype(np.int64)
    thread[arrived] = _TRANSFERS
    begins, group = numbered_pairs(columns.device, thread)
    keys = list(zip(columns.device[begins].tolist(), thread[begins].tolist(), strict=True))
    places = [_place(devices[d], t, columns.thread_names.get((d, t), "")) for d, t in keys]
    by_page = sorted(range(len(places)), key=lambda i: places[i][0])
    # NumPy sorts 16-bit integers by radix sort, which is faster.
    rank = np.empty(len(places), np.uint16 if len(places) < 1 << 16 else np.int32)
    rank[by_page] = np.arange(len(places))
    rank_of_slice = rank[group]
    order = np.argsort(rank_of_slice, kind="stable")
    bounds = np.cumsum(np.bincount(rank_of_slice, minlength=len(places)))
    lanes: list[Lane] = []
    at = 0
    for r, until in enumerate(bounds.tolist()):
        place = places[by_page[r]]
        part = _by_time(order[at:until], start, end)
        begins, ends = start[part], end[part]
        if len(part) > 1 and (np.maximum.accumulate(ends)[:-1] > begins[1:]).any():
            row = rows_of(begins, ends)
            part = part[np.argsort(row, kind="stable")]  # keeps the order of time within a row
            sizes = np.bincount(row).tolist()
        else:
            sizes = [len(part)]
        order[at:until] = part
        for k, size in enumerate(sizes):
            mine = part[:size]
            part = part[size:]
            busy = int((end[mine] - start[mine]).sum())
            lanes.append(Lane(len(lanes), *place[1:], k, at, at + size, busy))
            at += size
    sizes = [lane.last - lane.first for lane in lanes]
    return lanes, order, np.repeat(np.arange(len(lanes), dtype=np.int32), sizes)


def _by_time(part: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Sorts slices by start.

    Of slices that start together the longer comes first, so that a caller is above its callees;
    slices of zero duration come before it and stay in the same row.
    """
    begins = start[part]
    if (begins[1:] < begins[:-1]).any():
        by_start = np.argsort(begins, kind="stable")
        part, begins = part[by_start], begins[by_start]
    if (begins[1:] == begins[:-1]).any():
        ends = end[part]
        part = part[np.lexsort((-ends, ends > begins, begins))]
    return part


def _place(device: DeviceName, thread: int, name: str) -> tuple[list, str, str, str, str]:
    """Returns a sort key for lanes, then task, device and stream, title, and thread."""
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

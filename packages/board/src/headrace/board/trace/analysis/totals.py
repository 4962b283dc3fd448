"""Sums over a window of a trace by op, device, lane and node, exact to the nanosecond."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.board.trace.analysis.unique_slices import unique_slices
from headrace.board.trace.reading.step_trace import StepTrace

MAX_NODES = 200


@dataclass(frozen=True)
class Totals:
    """Rows are JSON objects of the reply, the largest total first."""

    by_op: list[dict[str, Any]]
    by_device: list[dict[str, Any]]
    by_lane: list[dict[str, Any]]
    by_node: list[dict[str, Any]]
    slices: int
    total_ns: int


def totals_of(
    trace: StepTrace,
    t0: float | None = None,
    t1: float | None = None,
    lanes: Sequence[int] | None = None,
) -> Totals:
    """Adds up the parts of slices that lie in a window.

    Of slices within slices, each counts only the time that it does not spend in a callee.
    Slices that duplicate others (see `unique_slices`) count only by lane and device.

    Args:
      t0: start of the window in ns; None: start of the step.
      t1: end of the window in ns; None: end of the step.
      lanes: ids; all if None.
    """
    low = 0 if t0 is None else int(np.floor(t0))
    high = trace.duration_ns if t1 is None else int(np.ceil(t1))
    chosen = range(len(trace.lanes)) if lanes is None else sorted(set(lanes))
    parts = []
    for i in chosen:
        lane = trace.lanes[i]
        span = slice(lane.first, lane.last)
        begin = lane.first + int(np.searchsorted(trace.end[span], low, side="left"))
        end = lane.first + int(np.searchsorted(trace.start[span], high, side="right"))
        if end > begin:
            parts.append(np.arange(begin, end))
    at = np.concatenate(parts) if parts else np.empty(0, np.int64)
    took = np.minimum(trace.end[at], high) - np.maximum(trace.start[at], low)
    own = took if trace.nested is None else _own_time(trace, at, low, high)
    device_names = [_device_of(trace, i) for i in range(len(trace.lanes))]
    devices = sorted(set(device_names))
    numbers = {name: i for i, name in enumerate(devices)}
    device_of_lane = np.array([numbers[d] for d in device_names], np.int64)
    once = unique_slices(trace)[at]
    op, name = trace.op[at], trace.name[at]
    return Totals(
        by_op=_rows("op", trace.ops, op[once], own[once], None),
        by_device=_rows("device", devices, device_of_lane[trace.lane[at]], own, None),
        by_lane=_rows("lane", list(range(len(trace.lanes))), trace.lane[at], took, None),
        by_node=_with_ops(trace, _rows("node", trace.names, name[once], own[once], MAX_NODES)),
        slices=len(at),
        total_ns=int(own.sum()),
    )


def _own_time(trace: StepTrace, at: np.ndarray, low: int, high: int) -> np.ndarray:
    """Returns i64: the time of some slices in a window, without that of what they call."""
    inside = np.minimum(trace.end, high) - np.maximum(trace.start, low)
    inside = np.maximum(inside, 0)
    assert trace.nested is not None
    caller = trace.nested.caller
    called = caller >= 0
    callees = np.bincount(caller[called], inside[called], len(trace)).astype(np.int64)
    return np.asarray(np.maximum(inside - callees, 0)[at])


def _device_of(trace: StepTrace, lane: int) -> str:
    found = trace.lanes[lane]
    return f"{found.task}/{found.device}" if found.task else found.device


def _rows(
    key: str, titles: Sequence[Any], group: np.ndarray, took: np.ndarray, most: int | None
) -> list[dict[str, Any]]:
    n = len(titles)
    count = np.bincount(group, minlength=n)
    # Sums of ns in double precision are exact up to 2^53, a hundred days.
    total = np.bincount(group, took, n).astype(np.int64)
    longest = np.zeros(n, np.int64)
    np.maximum.at(longest, group, took)
    there = np.flatnonzero(count)
    order = there[np.lexsort((there, -total[there]))][:most]
    return [
        {
            key: titles[i],
            "count": int(count[i]),
            "total_ns": int(total[i]),
            "max_ns": int(longest[i]),
        }
        for i in order.tolist()
    ]


def _with_ops(trace: StepTrace, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for row in rows:
        row["op"] = trace.ops[int(trace.op[trace.slices_of(trace.name_ids[row["node"]])[0]])]
    return rows

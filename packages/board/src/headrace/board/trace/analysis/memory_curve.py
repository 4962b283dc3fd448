"""How much memory each allocator held during a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.board.trace.analysis.critical_path import Predecessors
from headrace.board.trace.reading.graph_edges import GraphEdges
from headrace.board.trace.reading.step_trace import StepTrace

RECORDS, IN_USE, OUTPUTS = "records", "in_use", "outputs"


@dataclass(frozen=True)
class MemoryCurve:
    """Bytes held from each time until the next."""

    allocator: str
    task: str
    source: str  # records: allocations and releases; in_use: what the allocator reported;
    # outputs: an estimate, each output held from its node's start to its last reader's end
    time: np.ndarray  # i64[k], ns, rising
    bytes: np.ndarray  # i64[k]

    @property
    def peak(self) -> int:
        return int(self.bytes.max()) if len(self.bytes) else 0

    @property
    def peak_ns(self) -> int:
        return int(self.time[self.bytes.argmax()]) if len(self.bytes) else 0


def memory_curves(trace: StepTrace, graph_edges: GraphEdges | None = None) -> list[MemoryCurve]:
    """Returns a curve for each allocator of each task, from the best data that the trace has."""
    columns = trace.columns
    if not len(columns.memory_slice):
        return _estimated(trace, graph_edges or GraphEdges())
    at = np.empty(len(trace), np.int64)
    at[trace.row] = np.arange(len(trace))
    slices = at[columns.memory_slice]
    tasks = sorted({lane.task for lane in trace.lanes})
    number = {task: i for i, task in enumerate(tasks)}
    task_of_lane = np.array([number[lane.task] for lane in trace.lanes], np.int64)
    task = task_of_lane[trace.lane[slices]]
    group = task * len(columns.allocators) + columns.memory_allocator
    shift = np.array([trace.skew_ns.get(t or "this process", 0) for t in tasks], np.int64)
    curves = []
    for mine in _parted(group):
        key = int(group[mine[0]])
        records = mine[columns.memory_micros[mine] >= 0]
        if len(records):
            absolute = columns.memory_micros[records] * 1000 + shift[task[records]]
            time, change = absolute - trace.origin_ns, columns.memory_bytes[records]
            order = np.argsort(time, kind="stable")
            time, held = _steps(time[order], np.cumsum(change[order]))
            # Allocations before the step are not recorded; the curve is raised above zero.
            held = held - min(0, int(held.min()))
            source = RECORDS
        else:
            time = trace.end[slices[mine]]
            order = np.argsort(time, kind="stable")
            time, held = _steps(time[order], columns.memory_bytes[mine][order])
            source = IN_USE
        allocator = columns.allocators[key % len(columns.allocators)]
        curves.append(
            MemoryCurve(allocator, tasks[key // len(columns.allocators)], source, time, held)
        )
    return curves


def reduce_curve(
    curve: MemoryCurve, t0: float, t1: float, px: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns times and bytes, at most the first, smallest, largest and last of each pixel."""
    time, held = curve.time, curve.bytes
    low = max(0, int(np.searchsorted(time, t0, side="right")) - 1)
    high = int(np.searchsorted(time, t1, side="right")) + 1
    time, held = time[low:high], held[low:high]
    if len(time) <= 4 * px:
        return time, held
    pixel = np.floor((time - t0) * (px / (t1 - t0))).astype(np.int64)
    first = np.flatnonzero(np.diff(pixel, prepend=pixel[0] - 1))
    last = np.append(first[1:], len(pixel)) - 1
    block = np.repeat(np.arange(len(first)), last - first + 1)
    keep = np.concatenate(
        [first, last, *(_where_first(held, block, first, f) for f in (np.minimum, np.maximum))]
    )
    keep = np.unique(keep)
    return time[keep], held[keep]


def _parted(group: np.ndarray) -> list[np.ndarray]:
    """Returns the indices of each group in order, sorted by group."""
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


def _where_first(
    held: np.ndarray, block: np.ndarray, first: np.ndarray, extreme: np.ufunc
) -> np.ndarray:
    at = np.flatnonzero(held == extreme.reduceat(held, first)[block])
    return at[np.unique(block[at], return_index=True)[1]]


def _steps(time: np.ndarray, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns one point per time, the last one of each."""
    last = np.flatnonzero(np.diff(time, append=time[-1] + 1)) if len(time) else np.empty(0, int)
    return time[last], held[last]


def _estimated(trace: StepTrace, graph_edges: GraphEdges) -> list[MemoryCurve]:
    feeds = Predecessors(trace, graph_edges)
    result = np.flatnonzero(trace.output_bytes > 0)
    if not len(result) or not feeds:
        return []
    last_reader = np.zeros(len(trace.names), np.int64)
    for name in np.unique(trace.name).tolist():
        until = int(trace.end[trace.slices_of(name)[-1]])
        for feed in feeds.of(name):
            last_reader[feed] = max(last_reader[feed], until)
    until = np.maximum(last_reader[trace.name[result]], trace.end[result])
    until[last_reader[trace.name[result]] == 0] = (
        trace.duration_ns
    )  # without a reader it is a result
    curves = []
    tasks = sorted({lane.task for lane in trace.lanes})
    number = {task: i for i, task in enumerate(tasks)}
    of_lane = np.array([number[lane.task] for lane in trace.lanes], np.int64)
    group = of_lane[trace.lane[result]]
    for mine in _parted(group):
        task = tasks[int(group[mine[0]])]
        time = np.concatenate([trace.start[result][mine], until[mine]])
        change = np.concatenate(
            [trace.output_bytes[result][mine], -trace.output_bytes[result][mine]]
        )
        order = np.argsort(time, kind="stable")
        time, held = _steps(time[order], np.cumsum(change[order]))
        curves.append(MemoryCurve("outputs", task, OUTPUTS, time, held))
    return curves

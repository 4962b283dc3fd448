"""The critical path of a step: the chain of slices that ends with the last slice to finish."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from headrace.board.trace.reading.graph_edges import GraphEdges
from headrace.board.trace.reading.step_trace import RECV, TRANSFER, StepTrace

END, INPUT, LANE, SENT, TIME = "end", "input", "lane", "sent", "time"
_MAX_HOPS = 64  # consecutive nodes without a slice that are followed
_MAX_BETWEEN = 4096  # nodes without a slice that are followed for one slice


@dataclass(frozen=True)
class CriticalPath:
    """Slices in order of time; each one determined when the next one started."""

    slices: np.ndarray  # i64[p]
    why: list[str]  # how each released the next: as its input, on its lane, or by sending to it
    self_ns: np.ndarray  # i64[p], the part of the path that the slice covers
    gap_ns: np.ndarray  # i64[p], from the end of the previous slice to its start
    cut_short: int = 0  # nodes with too many inputs to follow all of them

    def __len__(self) -> int:
        return len(self.slices)


_EMPTY = np.empty(0, np.int64)
NO_PATH = CriticalPath(_EMPTY, [], _EMPTY, _EMPTY)


def critical_path(trace: StepTrace, graph_edges: GraphEdges | None = None) -> CriticalPath:
    """Walks back from the slice that ended last.

    A slice waited for whichever of these ended last: the slices of its inputs (from the labels of
    the trace, else from the graph), the _Send of a _Recv, and the previous slice on its lane unless
    the slice was scheduled after that one ended. A slice without any of these waited for the last
    slice in any lane that ended before it.

    Args:
      graph_edges: the graph that ran, for traces whose labels do not name inputs.
    """
    n = len(trace)
    if not n:
        return NO_PATH
    feeds = Predecessors(trace, graph_edges or GraphEdges())
    walk = _Walk(trace, feeds)
    at = int(np.lexsort((trace.start, trace.end))[-1])
    slices, why, begins, ends = [at], [END], [], [int(trace.end[at])]
    while True:
        found = walk.before(at)
        if found is None:
            break
        at, reason, until = found
        begins.append(until)
        slices.append(at)
        why.append(reason)
        ends.append(until)
    begins.append(int(trace.start[at]))
    start = trace.start[np.array(slices)]
    begin = np.maximum(np.array(begins), start)
    self_ns = np.maximum(0, np.array(ends) - begin)
    gap_ns = np.maximum(0, start - np.array(begins))
    return CriticalPath(
        np.array(slices[::-1]),
        why[::-1],
        self_ns[::-1].copy(),
        gap_ns[::-1].copy(),
        feeds.cut_short,
    )


class Predecessors:
    """Finds the names whose slices feed the slices of a name, through nodes without slices."""

    def __init__(self, trace: StepTrace, graph_edges: GraphEdges) -> None:
        self._trace, self._graph_edges = trace, graph_edges
        self.cut_short = 0  # names with too many nodes without slices to follow all of them
        self._found: dict[int, tuple[int, ...]] = {}
        self._arrivals = self._tensors_that_arrived()
        self._fused_into: dict[str, str] = {}
        self._of_name: dict[str, list[str]] = {}
        self._fused: dict[str, tuple[str, ...]] = {}
        pair = np.unique(trace.name.astype(np.int64) * max(1, len(trace.labels)) + trace.label)
        for name, label in (divmod(p, max(1, len(trace.labels))) for p in pair.tolist()):
            read, node = trace.labels[label], trace.names[name]
            if read.inputs:
                self._of_name.setdefault(node, []).extend(read.inputs)
            if read.fused:
                self._fused[node] = read.fused
                self._fused_into.update((part, node) for part in read.fused)

    def __bool__(self) -> bool:
        return bool(self._of_name or self._graph_edges)

    def of(self, name: int) -> tuple[int, ...]:
        """Returns the ids of the names that feed a name."""
        known = self._found.get(name)
        if known is None:
            known = self._found[name] = self._walk(name)
        return known

    def _walk(self, name: int) -> tuple[int, ...]:
        node = self._trace.names[name]
        found: dict[int, None] = {}
        seen = {node}
        edge = [p for part in self._fused.get(node, (node,)) for p in self._inputs(part)]
        seen.update(self._fused.get(node, ()))
        for _ in range(_MAX_HOPS):
            beyond: list[str] = []
            for feed in edge:
                if feed in seen:
                    continue
                seen.add(feed)
                at = self._trace.name_ids.get(self._fused_into.get(feed, feed))
                if at is not None:
                    found[at] = None
                else:
                    if len(beyond) <= _MAX_BETWEEN:
                        beyond += self._inputs(feed)
            edge = beyond
            if not edge:
                break
            if len(seen) > _MAX_BETWEEN:
                self.cut_short += 1
                break
        found.pop(name, None)
        return tuple(found)

    def _inputs(self, node: str) -> tuple[str, ...] | list[str]:
        arrived = self._arrivals.get(node)
        if arrived is not None:
            return (arrived,)
        return self._of_name.get(node) or self._graph_edges.inputs.get(node, ())

    def _tensors_that_arrived(self) -> dict[str, str]:
        """Returns the _Recv nodes whose tensor has a RecvTensor slice, with the tensor."""
        return {
            node: rendezvous.tensor
            for node, rendezvous in self._graph_edges.rendezvous.items()
            if rendezvous.tensor in self._trace.name_ids
        }


class _Walk:
    def __init__(self, trace: StepTrace, feeds: Predecessors) -> None:
        self._trace, self._feeds = trace, feeds
        # Indexing a memoryview is several times faster than indexing an array.
        self._start, self._end, self._scheduled, self._name, self._lane, self._kind = (
            np.ascontiguousarray(column).data
            for column in (
                trace.start,
                trace.end,
                trace.scheduled,
                trace.name,
                trace.lane,
                trace.kind,
            )
        )
        order, bounds = trace.by_name
        self._named, self._named_ends = order.data, trace.end[order].data
        self._bounds = bounds.tolist()
        moves = trace.transfers
        self._sender = dict(zip(moves.target.tolist(), moves.source.tolist(), strict=True))
        self._by_end: np.ndarray | None = None
        self._ends: np.ndarray | None = None

    def before(self, at: int) -> tuple[int, str, int] | None:
        """Returns the slice that another one waited for, how, and until when; None at the start."""
        start, end = self._start[at], self._end[at]
        kind = self._kind[at]
        best: tuple[int, int, int, str] | None = None  # until, preference, slice, why
        sender = self._sender.get(at)
        if sender is not None and self._earlier(sender, at):
            waits_inside = kind in (RECV, TRANSFER)
            until = min(self._end[sender], end if waits_inside else start)
            best = (until, 3, sender, SENT)
        for name in self._feeds.of(self._name[at]):
            for fed in self._latest(name, start):
                if self._earlier(fed, at):
                    best = _later(best, (min(self._end[fed], start), 2, fed, INPUT))
        ahead = at - 1
        if ahead >= 0 and self._lane[ahead] == self._lane[at] and self._earlier(ahead, at):
            waited = self._end[ahead] > self._scheduled[at] or self._scheduled[at] == start
            if waited or best is None:
                best = _later(best, (self._end[ahead], 1, ahead, LANE))
        if best is None:
            last = self._last_before(start)
            if last is not None and self._earlier(last, at):
                best = (self._end[last], 0, last, TIME)
        return None if best is None else (best[2], best[3], best[0])

    def _earlier(self, a: int, b: int) -> bool:
        """Returns whether a is before b in a total order, so that every walk ends."""
        return (self._end[a], self._start[a], a) < (self._end[b], self._start[b], b)

    def _latest(self, name: int, start: int) -> list[int]:
        """Returns the last slices of a name that ended, or started, by a time."""
        low, high = self._bounds[name], self._bounds[name + 1]
        if high - low == 1:
            only = self._named[low]
            return [only] if self._start[only] <= start else []
        ended = bisect_right(self._named_ends, start, low, high)
        found = [self._named[ended - 1]] if ended > low else []
        # A node propagates its outputs shortly before its end is recorded.
        if ended < high and self._start[self._named[ended]] < start:
            found.append(self._named[ended])
        return found

    def _last_before(self, start: int) -> int | None:
        if self._by_end is None or self._ends is None:
            self._by_end = np.argsort(self._trace.end, kind="stable")
            self._ends = self._trace.end[self._by_end]
        i = int(np.searchsorted(self._ends, start, side="right"))
        return int(self._by_end[i - 1]) if i else None


def _later(
    a: tuple[int, int, int, str] | None, b: tuple[int, int, int, str]
) -> tuple[int, int, int, str]:
    return b if a is None or (b[0], b[1]) > (a[0], a[1]) else a

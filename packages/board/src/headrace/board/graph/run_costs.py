"""Time and memory of each node, over the traced steps that somebody chose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.board.graph.graph_columns import GraphColumns
from headrace.board.trace.step_trace import OP, RECV, SEND, SYNC, StepTrace


def run_costs(
    columns: GraphColumns, traces: Sequence[StepTrace]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Returns header and columns of /graph/ID/costs, by node.

    A node that ran several times in a step counts with the sum. `runs` is the number of traces in
    which it ran; where that is 0 the figures are -1.
    """
    n = len(columns)
    index = {name: at for at, name in reversed(list(enumerate(columns.names)))}
    times = np.full((max(len(traces), 1), n), np.nan)
    memory = np.full((max(len(traces), 1), n), np.nan)
    devices: dict[str, int] = {}
    device = np.full(n, -1, np.int32)
    unknown = 0
    for row, trace in enumerate(traces):
        of_name = np.array([_find(index, name) for name in trace.names] or [-1], np.int64)
        node = of_name[trace.name]
        found = (node >= 0) & np.isin(trace.kind, (OP, RECV, SEND, SYNC))
        unknown += int((node < 0).sum())
        at = node[found]
        ran = np.bincount(at, minlength=n) > 0
        micros = (trace.end - trace.start)[found] / 1000.0
        times[row, ran] = np.bincount(at, micros, n)[ran]
        memory[row, ran] = np.bincount(at, _memory(trace)[found], n)[ran]
        numbers = [devices.setdefault(lane.device, len(devices)) for lane in trace.lanes]
        device[at] = np.array(numbers or [0], np.int32)[trace.lane[found]]
    runs = (~np.isnan(times)).sum(axis=0).astype(np.uint32)
    seen = runs > 0
    out: dict[str, np.ndarray] = {"runs": runs, "device": device}
    for name, table in (("time_us", times), ("memory", memory)):
        for which, reduce in (("min", np.min), ("median", np.median), ("max", np.max)):
            figures = np.full(n, -1.0)
            some = table[:, seen]
            if some.size:
                full = np.isnan(some).any(axis=0)
                figures[seen] = reduce(np.nan_to_num(some), axis=0)
                for column in np.flatnonzero(full).tolist():
                    values = some[:, column]
                    figures[np.flatnonzero(seen)[column]] = reduce(values[~np.isnan(values)])
            out[f"{name}_{which}"] = figures
    header = {"traces": len(traces), "devices": list(devices), "unknown_slices": unknown}
    return header, out


def _find(index: dict[str, int], name: str) -> int:
    """The node of a slice; a label such as "name:MatMul" is the node's name and its op."""
    at = index.get(name)
    if at is None:
        at = index.get(name.partition(":")[0], -1)
    return at


def _memory(trace: StepTrace) -> np.ndarray:
    """Bytes that each slice allocated, or put out where it says nothing of allocations."""
    columns = trace.columns
    held = (columns.memory_micros >= 0) & (columns.memory_bytes > 0)
    rows = len(columns.offset)
    allocated = np.bincount(columns.memory_slice[held], columns.memory_bytes[held], rows)
    return np.maximum(allocated[trace.row], trace.output_bytes)

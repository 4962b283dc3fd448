"""Time and memory of each node over several traced steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.board.graph.slice_names import SliceNames
from headrace.board.graph.structure.graph_columns import GraphColumns
from headrace.board.trace.analysis.unique_slices import unique_slices
from headrace.board.trace.reading.step_trace import OP, RECV, SEND, SYNC, StepTrace

_MAX_STEPS = 64
_FEWEST_STEPS = 4
_TABLE_BYTES = 256 << 20


def steps_to_read(steps: int, nodes: int) -> list[int]:
    """Returns the indices of the steps to read: all if there are few, else evenly spaced ones."""
    fits = _TABLE_BYTES // (16 * max(1, nodes))
    most = max(_FEWEST_STEPS, min(_MAX_STEPS, fits))
    if steps <= most:
        return list(range(steps))
    return np.unique(np.linspace(0, steps - 1, most).astype(np.int64)).tolist()


class RunCosts:
    """Accumulates traces, which are added one by one and need not stay in memory.

    Args:
      columns: the nodes of the graph.
      names: finds the nodes of slices in the same graph.
      steps: maximum number of traces.
    """

    def __init__(self, columns: GraphColumns, names: SliceNames, steps: int):
        self._names = names
        self._times = np.full((steps, len(columns)), np.nan)
        self._memory = np.full((steps, len(columns)), np.nan)
        self._devices: dict[str, int] = {}
        self._device = np.full(len(columns), -1, np.int32)
        self._unknown = 0
        self._steps = 0

    def add(self, trace: StepTrace) -> None:
        """Adds a step; a node that ran several times in it counts with the sum."""
        n = len(self._device)
        counts = unique_slices(trace) & np.isin(trace.kind, (OP, RECV, SEND, SYNC))
        node = self._names.nodes_of(trace.names, trace.ops_of_names())[trace.name]
        found = counts & (node >= 0)
        at = node[found]
        ran = np.bincount(at, minlength=n) > 0
        micros = (trace.end - trace.start)[found] / 1000.0
        row = self._steps
        self._times[row, ran] = np.bincount(at, micros, n)[ran]
        self._memory[row, ran] = np.bincount(at, _memory(trace)[found], n)[ran]
        numbers = [self._devices.setdefault(x.device, len(self._devices)) for x in trace.lanes]
        self._device[at] = np.array(numbers or [0], np.int32)[trace.lane[found]]
        self._unknown += int(np.count_nonzero(counts & (node < 0)))
        self._steps += 1

    def header_and_columns(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Returns header and columns of /graph/ID/costs, by node.

        `runs` is the number of traces in which a node ran; the figures are -1 if that is 0.
        """
        n = len(self._device)
        runs = (~np.isnan(self._times)).sum(axis=0)
        out: dict[str, np.ndarray] = {"runs": runs.astype(np.uint32), "device": self._device}
        at = np.flatnonzero(runs)
        low, high = (runs[at] - 1) // 2, runs[at] // 2
        for name, table in (("time_us", self._times), ("memory", self._memory)):
            rising = np.sort(table[:, at], axis=0)  # NaN (did not run) sorts last
            column = np.arange(len(at))
            for which, figure in (
                ("min", rising[0] if len(rising) else np.empty(0)),
                ("median", (rising[low, column] + rising[high, column]) / 2),
                ("max", rising[runs[at] - 1, column]),
            ):
                figures = np.full(n, -1.0)
                figures[at] = figure
                out[f"{name}_{which}"] = figures
        header = {
            "traces": self._steps,
            "devices": list(self._devices),
            "unknown_slices": self._unknown,
        }
        return header, out


def _memory(trace: StepTrace) -> np.ndarray:
    """Returns the bytes that each slice allocated; the bytes of its outputs if those are larger."""
    columns = trace.columns
    held = (columns.memory_micros >= 0) & (columns.memory_bytes > 0)
    rows = len(columns.offset)
    allocated = np.bincount(columns.memory_slice[held], columns.memory_bytes[held], rows)
    return np.maximum(allocated[trace.row], trace.output_bytes)

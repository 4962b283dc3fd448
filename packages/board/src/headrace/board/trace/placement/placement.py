"""The nodes of a placement as columns, with the times of the trace that has it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from headrace.board.trace.placement.node_times import node_times
from headrace.board.trace.reading.device_name import read_device
from headrace.board.trace.reading.step_trace import StepTrace
from headrace.formats.proto.plan_pb2 import PlacementReport

REASONS = {number: name.lower() for name, number in PlacementReport.Reason.items()}


class Placement:
    """Where the nodes of a step run. Times are microseconds; NaN: not known.

    Args:
      report: of the runtime; not changed.
      trace: of the step. A node that it has no slice of keeps the measured time of the report.
      graph_nodes: the name of each node in the run's graph, "" if the graph does not have it.
    """

    def __init__(
        self, report: PlacementReport, trace: StepTrace, graph_nodes: Sequence[str]
    ) -> None:
        nodes = report.node
        self.report, self.graph_nodes = report, graph_nodes
        self.step_us = trace.duration_ns / 1000.0
        self.names = [node.name for node in nodes]
        self.ops = [node.op for node in nodes]
        self.reasons = [REASONS.get(node.reason, str(node.reason)) for node in nodes]
        of_transfers = [(move.from_device, move.to_device) for move in report.transfer]
        named = [*(d.name for d in report.device), *(node.device for node in nodes)]
        self.devices = list(dict.fromkeys([*named, *(d for pair in of_transfers for d in pair)]))
        self.titles = device_titles(self.devices)
        numbers = {name: i for i, name in enumerate(self.devices)}
        self.device = np.array([numbers[node.device] for node in nodes], np.int64)
        self.start = _times(node.start_us for node in nodes)
        self.expected = _times(node.expected_us for node in nodes)
        self.bytes = np.array([max(0, node.output_bytes) for node in nodes], np.int64)
        of_trace = node_times(trace)
        here = _times(of_trace.get(name, -1.0) for name in self.names)
        self.of_trace = ~np.isnan(here)
        earlier = _times(node.measured_us for node in nodes)
        self.measured = np.where(self.of_trace, here, earlier)
        # Of a node that is expected to take no time, no measured time is too long.
        ratio = np.full(len(nodes), np.nan)
        self.ratio = np.divide(self.measured, self.expected, out=ratio, where=self.expected > 0)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def found_by(self) -> list[str]:
        """The text of each node in which a search looks: its name and its op, in lower case."""
        return [f"{name}\n{op}".lower() for name, op in zip(self.names, self.ops, strict=True)]

    @cached_property
    def by_graph_name(self) -> dict[str, int]:
        """The node of each name in the run's graph, and of each name that is the node's own."""
        named = {name: i for i, name in enumerate(self.graph_nodes) if name}
        return {**named, **{name: i for i, name in enumerate(self.names)}}

    def title(self, device: str) -> str:
        """Returns the short name of a device, which need not have nodes."""
        return self._title_of.get(device, device)

    @cached_property
    def _title_of(self) -> dict[str, str]:
        return dict(zip(self.devices, self.titles, strict=True))

    def device_sums(self) -> list[dict[str, Any]]:
        """Returns a row for each device that has nodes; `id` is its index among all of them."""
        count = np.bincount(self.device, minlength=len(self.devices))
        known = ~np.isnan(self.measured)
        timed = np.bincount(self.device[known], minlength=len(self.devices))
        expected = np.bincount(self.device, np.nan_to_num(self.expected), len(self.devices))
        measured = np.bincount(self.device[known], self.measured[known], len(self.devices))
        return [
            {
                "id": i,
                "name": self.devices[i],
                "title": self.titles[i],
                "nodes": int(count[i]),
                "expected_us": float(expected[i]),
                "measured_us": float(measured[i]) if timed[i] else None,
                "measured_nodes": int(timed[i]),
            }
            for i in np.flatnonzero(count).tolist()
        ]


def device_titles(names: Sequence[str]) -> list[str]:
    """Returns short names: `CPU:0`, or `worker 1 · CPU:0` where there are several tasks."""
    read = [read_device(name) for name in names]
    if len({device.task for device in read}) <= 1:
        titles = [device.device for device in read]
    else:
        titles = [f"{d.title_of_task} · {d.device}" if d.task else d.device for d in read]
    return titles if len(set(titles)) == len(names) else list(names)


def _times(values: Iterable[float]) -> np.ndarray:
    """Returns f64[n]; what is negative or not finite becomes NaN."""
    times = np.fromiter(values, np.float64)
    return np.where(np.isfinite(times) & (times >= 0), times, np.nan)

"""The cost model of a run (GraphOptions.build_cost_model), from the trace of its nodes."""

from __future__ import annotations

from collections import Counter
from typing import Any

from headrace.graph.framework.graph import Graph

# The lane in which a device with memory of its own reports when its work ran: as "name:op", the
# copies of values included.
_STREAM = "/stream:all"


class CostModel:
    """Decides which runs of a session are measured, and converts their traces to cost graphs.

    Args:
      config: ConfigProto of the session, or None. Its `graph_options.build_cost_model` is the
        number of runs between two cost graphs (0: none), `build_cost_model_after` the number of
        runs before the first.
    """

    def __init__(self, config: Any) -> None:
        options = getattr(config, "graph_options", None)
        self._every = int(getattr(options, "build_cost_model", 0))
        self._after = int(getattr(options, "build_cost_model_after", 0))
        self._runs = 0

    def is_due(self) -> bool:
        """Counts a run with RunMetadata; returns whether it is measured."""
        if self._every <= 0:
            return False
        self._runs += 1
        runs = self._runs - self._after
        return runs > 0 and runs % self._every == 0


def add_cost_graph(graph: Graph, metadata: Any) -> None:
    """Sets the cost graph of a RunMetadata from its trace: the traced nodes and their inputs.

    Args:
      graph: the graph of the session, which has the edges.
      metadata: RunMetadata with step_stats.
    """
    cost = metadata.cost_graph
    cost.SetInParent()
    traced = [
        (device.device, stats)
        for device in metadata.step_stats.dev_stats
        if not device.device.endswith(_STREAM)
        for stats in device.node_stats
    ]
    runs = Counter(stats.node_name for _, stats in traced)
    on_stream = _stream_micros(graph, metadata, runs)
    numbers: dict[str, int] = {}
    for _, stats in traced:
        numbers.setdefault(stats.node_name, len(numbers))
    done: set[str] = set()
    for device, stats in traced:
        if stats.node_name not in done:  # of a node of a loop, only the first iteration
            done.add(stats.node_name)
            _add_node(cost, graph, device, stats, numbers, on_stream.get(stats.node_name))
    for name, number in numbers.items():  # inputs that the run did not compute: feeds, constants
        if name not in done:
            cost.node.add(name=name, id=number)


def _stream_micros(graph: Graph, metadata: Any, runs: Counter[str]) -> dict[str, int]:
    """Returns the mean time of nodes on their devices, all pieces of their work, without copies.

    Args:
      runs: how often each node ran.
    """
    found: Counter[str] = Counter()
    for device in metadata.step_stats.dev_stats:
        if device.device.endswith(_STREAM):
            for stats in device.node_stats:
                name, _, op = stats.node_name.rpartition(":")
                operation = graph._by_name.get(name)  # noqa: SLF001
                if operation is not None and operation.type == op:
                    found[name] += stats.op_end_rel_micros - stats.op_start_rel_micros
    return {name: micros // max(runs[name], 1) for name, micros in found.items()}


def _add_node(
    cost: Any,
    graph: Graph,
    device: str,
    stats: Any,
    numbers: dict[str, int],
    on_stream: int | None,
) -> None:
    # The thread that enqueues work of a device is done long before the device.
    micros = on_stream
    if micros is None:
        micros = stats.op_end_rel_micros - stats.op_start_rel_micros
    node = cost.node.add(
        name=stats.node_name,
        device=device,
        id=numbers[stats.node_name],
        compute_cost=micros,
        compute_time=micros,
    )
    operation = graph._by_name.get(stats.node_name)  # noqa: SLF001
    if operation is not None:
        for tensor in operation.inputs:
            number = numbers.setdefault(tensor.op.name, len(numbers))
            node.input_info.add(preceding_node=number, preceding_port=tensor.value_index)
        for control in operation.control_inputs:
            if control.name in numbers:
                node.control_input.append(numbers[control.name])
    for output in sorted(stats.output, key=lambda output: output.slot):
        described = output.tensor_description
        info = node.output_info.add(
            size=described.allocation_description.requested_bytes,
            alias_input_port=-1,
            dtype=described.dtype,
        )
        info.shape.CopyFrom(described.shape)

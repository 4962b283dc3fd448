"""Plans of graphs over several tasks, without workers: where each node is placed, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import headrace.graph as hr
from headrace.formats.proto.plan_pb2 import PlacementReport
from headrace.formats.proto.run_pb2 import ConfigProto, RunMetadata
from headrace.formats.services import RUNTIMES, find_service

TASKS = tuple(f"/job:worker/replica:0/task:{i}" for i in range(3))
ONE_EACH = tuple(f"{task}/device:CPU:0" for task in TASKS)
ALL, ONE, NONE = "all_tasks", "one_task", "none"


def config(simulate: str = ALL, threads: int = 1, **transfer: float) -> ConfigProto:
    """A config with soft placement and the simulation among these devices.

    Args:
      transfer: latency_us, gigabytes_per_second.
    """
    made = ConfigProto(allow_soft_placement=True, intra_op_parallelism_threads=threads)
    made.experimental.placement_simulation = simulate
    for field, value in transfer.items():
        setattr(made.experimental, f"transfer_{field}", value)
    return made


def planner(graph: hr.Graph, options: ConfigProto | None = None) -> Any:
    """A planner with this graph."""
    made = find_service(RUNTIMES, "local")().open_planner((options or config()).SerializeToString())
    made.extend(graph.as_graph_def().SerializeToString())
    return made


def report(
    plans: Any,
    feeds: Sequence[str],
    fetches: Sequence[str],
    devices: Sequence[str] = ONE_EACH,
    targets: Sequence[str] = (),
) -> PlacementReport:
    """The PlacementReport of a signature."""
    return PlacementReport.FromString(plans.placement(feeds, fetches, list(targets), devices))


def devices_of(placement: PlacementReport) -> dict[str, str]:
    """The device of each node, by name."""
    return {node.name: node.device for node in placement.node}


def trace_of(times_us: Mapping[str, float], sizes: Mapping[str, int] | None = None) -> bytes:
    """A RunMetadata in which nodes took these times and had outputs of these sizes in bytes."""
    metadata = RunMetadata()
    stats = metadata.step_stats.dev_stats.add(device=ONE_EACH[0])
    for name, took in times_us.items():
        node = stats.node_stats.add(
            node_name=name, timeline_label=f"{name} = Op", op_end_rel_nanos=round(took * 1000)
        )
        if sizes and name in sizes:
            output = node.output.add(slot=0).tensor_description
            output.allocation_description.requested_bytes = sizes[name]
    return metadata.SerializeToString()

"""Plans the signatures of a session over the devices of its tasks."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from headrace.distributed.master.cluster_view import ClusterView
from headrace.distributed.master.graph_feeds import GraphInputs
from headrace.distributed.master.planned_signature import Names, PlannedSignature
from headrace.distributed.rpc.deadline import Deadline
from headrace.formats import errors
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.plan_pb2 import PartitionPlan, PlacementReport
from headrace.formats.services import Planner

_DISCOVERY_S = 1.0  # for which the first plan waits for tasks to tell their devices
_MARKER = "_headrace/done/"


class SignaturePlanner:
    """The planner of a session.

    Args:
      planner: the runtime's, with an empty graph.
      view: the tasks.
      operation_s: the time limit of an operation.
    """

    def __init__(self, planner: Planner, view: ClusterView, operation_s: float) -> None:
        self._planner = planner
        self._view = view
        self._operation_s = operation_s
        self._lock = threading.Lock()
        self._asked = False
        self._graphs: list[bytes] = []  # that `inputs` does not have yet
        self._inputs = GraphInputs()
        self._marked: dict[str, str] = {}

    def extend(self, graph_def: bytes) -> None:
        """Adds nodes; as services.Planner.extend."""
        with self._lock:
            self._planner.extend(graph_def)
            self._graphs.append(graph_def)

    def plan(self, number: int, names: Names) -> PlannedSignature:
        """Plans a signature.

        Raises: InvalidArgumentError and NotFoundError; as services.Planner.plan.
        """
        if not self._asked:
            self._asked = True
            self._ask(min(_DISCOVERY_S, self._operation_s))
        try:
            return self._plan(number, names)
        except (errors.InvalidArgumentError, errors.NotFoundError):
            # It may need a device of a task that has not answered yet.
            if not self._view.unknown() or not self._ask(self._operation_s):
                raise
        return self._plan(number, names)

    def _ask(self, timeout_s: float) -> bool:
        return bool(self._view.ask(self._view.unknown(), Deadline.after(timeout_s)))

    def _plan(self, number: int, names: Names) -> PlannedSignature:
        devices = self._view.device_names()
        with self._lock:
            wire = self._planner.plan(names.feeds, names.fetches, names.targets, devices)
            plan = PartitionPlan.FromString(wire)
            dtypes = [0] * len(names.feeds)
            for edge in plan.edge:
                if not edge.send_task:
                    dtypes[edge.feed] = edge.dtype
            for i, name in enumerate(names.feeds):
                dtypes[i] = dtypes[i] or self._planner.tensor_spec(name)[1]
        return PlannedSignature(number, names, plan, tuple(dtypes), tuple(devices))

    def placement(self, signature: PlannedSignature, trace: bytes) -> PlacementReport:
        """Returns why the nodes of a signature run where they do, expected and measured.

        Args:
          trace: the serialized RunMetadata of a run of it; later plans take it into account.
        """
        names = signature.names
        with self._lock:
            self._planner.observe(trace)
            wire = self._planner.placement(
                names.feeds, names.fetches, names.targets, signature.devices
            )
        now = PlacementReport.FromString(wire)
        if not signature.may_move:
            return now
        # Placed now, its nodes might go elsewhere.
        report = PlacementReport()
        report.CopyFrom(signature.plan.placement)
        _note_measured(report, {node.name: node.measured_us for node in now.node})
        return report

    def is_stale(self, signature: PlannedSignature) -> bool:
        """Says whether the tasks of a plan have other devices than it was made for."""
        now = self._view.device_names()
        return any(
            [name for name in signature.devices if name.startswith(task + "/")]
            != [name for name in now if name.startswith(task + "/")]
            for task in signature.tasks
        )

    def mark(self, targets: Sequence[str]) -> list[str]:
        """Adds a constant behind each operation: a tensor that is there once the operation has run.

        Returns: the names of the tensors.
        """
        new = [target for target in targets if target not in self._marked]
        graph = GraphDef()
        for target in new:
            node = graph.node.add(name=f"{_MARKER}{target}", op="Const", input=[f"^{target}"])
            node.device = self.inputs.devices.get(target, "")
            node.attr["dtype"].type = 10  # DT_BOOL
            node.attr["value"].tensor.dtype = 10
            node.attr["value"].tensor.tensor_shape.SetInParent()
            node.attr["value"].tensor.bool_val.append(True)
        if new:
            self.extend(graph.SerializeToString())
            self._marked.update((target, f"{_MARKER}{target}:0") for target in new)
        return [self._marked[target] for target in targets]

    @property
    def inputs(self) -> GraphInputs:
        """The inputs of all nodes, read when they are needed."""
        with self._lock:
            graphs, self._graphs = self._graphs, []
            for wire in graphs:
                self._inputs.extend(GraphDef.FromString(wire))
            return self._inputs


def _note_measured(report: PlacementReport, measured_us: Mapping[str, float]) -> None:
    devices = {device.name: device for device in report.device}
    for device in report.device:
        device.measured_us = 0
    for node in report.node:
        node.measured_us = measured_us.get(node.name, -1.0)
        if node.measured_us >= 0:
            devices[node.device].measured_us += node.measured_us

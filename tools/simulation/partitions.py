"""Plans of the runtime's planner in the form that simulated tasks run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import headrace.graph as hr
from headrace.formats.proto.graph_pb2 import GraphDef, NodeDef
from headrace.formats.proto.plan_pb2 import PartitionPlan

UNKNOWN = 2  # elements of a dimension that the graph does not know
_LOOPS = {"Switch", "RefSwitch", "Merge", "RefMerge", "Enter", "RefEnter", "NextIteration", "Exit"}
_WITHOUT_WORK = {"Const", "Identity", "Reshape", "VariableV2", "Variable", "Assign", "NoOp"}


@dataclass(slots=True)
class Node:
    """A node of a partition.

    Attributes:
      key: of the state of the node, if it has some.
      inputs: the nodes whose values it takes.
      edge: of a `_Send` or `_Recv`.
      value: of a constant with one element, and the initial one of a variable.
      work_bytes: that its kernel writes.
      share: of the time of the training step that it computes.
    """

    op: str
    name: str
    key: str
    inputs: tuple[int, ...]
    edge: int
    value: Any
    work_bytes: float
    share: float
    is_sum: bool


@dataclass(frozen=True)
class Partition:
    """What one task runs. `recvs` are nodes by edge; `pending` counts the inputs of each node."""

    nodes: list[Node]
    consumers: list[list[int]]
    pending: list[int]
    recvs: dict[int, int]


@dataclass(frozen=True)
class Edge:
    target: str  # empty: the master
    size: int


@dataclass(frozen=True)
class Signature:
    """A planned signature: partitions by task."""

    partitions: dict[str, Partition]
    edges: dict[int, Edge]

    def renamed(self, old: str, new: str) -> Signature:
        """Returns the signature of another worker, whose graph is the same but for its task."""
        edges = {
            i: replace(edge, target=new if edge.target == old else edge.target)
            for i, edge in self.edges.items()
        }
        partitions = {new if task == old else task: p for task, p in self.partitions.items()}
        return Signature(partitions, edges)


def bytes_of_tensors(graph: hr.Graph) -> dict[str, int]:
    """Returns the size of each tensor of a graph, by name; unknown dimensions are UNKNOWN."""
    sizes = {}
    for operation in graph.get_operations():
        for tensor in operation.outputs:
            dimensions = tensor.shape.as_list() if tensor.shape.ndims is not None else []
            n = math.prod(UNKNOWN if d is None else d for d in dimensions)
            sizes[tensor.name] = n * tensor.dtype.base_dtype.size
    return sizes


def signature_of(wire: bytes, sizes: Mapping[str, int], shares: Mapping[str, float]) -> Signature:
    """Reads a plan.

    Args:
      wire: a serialized PartitionPlan.
      sizes: bytes by tensor.
      shares: which part of the time of a training step a node takes, by name.
    """
    plan = PartitionPlan.FromString(wire)
    partitions = {
        part.task: _partition(GraphDef.FromString(part.graph_def), sizes, shares)
        for part in plan.partition
    }
    edges = {edge.id: Edge(edge.recv_task, sizes.get(edge.tensor, 1)) for edge in plan.edge}
    return Signature(partitions, edges)


def _partition(
    graph_def: GraphDef, sizes: Mapping[str, int], shares: Mapping[str, float]
) -> Partition:
    number = {node.name: i for i, node in enumerate(graph_def.node)}
    nodes, pending = [], []
    consumers: list[list[int]] = [[] for _ in number]
    recvs = {}
    for i, node in enumerate(graph_def.node):
        if node.op in _LOOPS:
            raise ValueError(f"{node.name}: the simulation runs no {node.op}")
        sources = [number[name.lstrip("^").split(":")[0]] for name in node.input]
        for source in sources:
            consumers[source].append(i)
        is_recv = node.op == "_Recv"
        pending.append(len(sources) + is_recv)  # of a Recv, the value that comes
        if is_recv:
            recvs[node.attr["_edge"].i] = i
        data = tuple(s for s, name in zip(sources, node.input) if name[0] != "^")
        nodes.append(_node(node, data, sizes, shares))
    return Partition(nodes, consumers, pending, recvs)


def _node(
    node: NodeDef, inputs: tuple[int, ...], sizes: Mapping[str, int], shares: Mapping[str, float]
) -> Node:
    attr = node.attr
    return Node(
        op=node.op,
        name=node.name,
        key=(attr["shared_name"].s.decode() if "shared_name" in attr else "") or node.name,
        inputs=inputs,
        edge=attr["_edge"].i if "_edge" in attr else -1,
        value=_value(node),
        work_bytes=_work_bytes(node, sizes),
        share=shares.get(node.name, 0.0),
        is_sum="reduction_type" in attr and attr["reduction_type"].s == b"SUM",
    )


def _value(node: NodeDef) -> Any:
    if node.op == "Const":
        value = hr.make_ndarray(node.attr["value"].tensor)
        return value.item() if value.size == 1 and value.dtype.kind in "iuf" else None
    if node.op == "VariableV2":
        return 0 if hr.as_dtype(node.attr["dtype"].type).is_integer else None
    return None


def _work_bytes(node: NodeDef, sizes: Mapping[str, int]) -> float:
    if node.op in _WITHOUT_WORK or node.op.startswith("_"):
        return 0.0
    if "Scatter" in node.op or node.op.endswith("ApplyGradient") or "SparseApply" in node.op:
        # The last inputs are the updates; what is updated may be much larger.
        return max((_size(name, sizes) for name in node.input[2:]), default=0.0)
    return _size(node.name, sizes)


def _size(name: str, sizes: Mapping[str, int]) -> float:
    name = name.removesuffix("/_recv")
    return sizes.get(name if ":" in name else f"{name}:0", 0)

"""The edges between nodes, from the graph of a run or the partition graphs of a step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from google.protobuf.message import DecodeError

from headrace.board.trace.reading.timeline_label import is_recv, is_send, is_transfer, node_of
from headrace.formats.proto import graph_pb2
from headrace.formats.wire import MalformedError, fields

_PARTITION_GRAPHS = 3  # of RunMetadata


@dataclass(frozen=True)
class Rendezvous:
    """Attributes of a _Send or _Recv node of a partition graph."""

    op: str
    tensor: str
    source: str  # device
    target: str  # device


@dataclass
class GraphEdges:
    """The inputs of each node by name; the _Send of a tensor is an input of its _Recv."""

    inputs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ops: dict[str, str] = field(default_factory=dict)
    rendezvous: dict[str, Rendezvous] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.inputs)


def read_edges(graphs: Iterable[graph_pb2.GraphDef]) -> GraphEdges:
    """Reads the edges of one graph, or of the partition graphs of one step."""
    result = GraphEdges()
    sends: dict[tuple[str, str, str], str] = {}
    recvs: list[tuple[str, tuple[str, str, str]]] = []
    for graph in graphs:
        for node in graph.node:
            result.inputs[node.name] = tuple(node_of(i) for i in node.input)
            result.ops[node.name] = node.op
            if not is_transfer(node.op):
                continue
            tensor, source, target = (
                node.attr[key].s.decode("utf-8", "replace") if key in node.attr else ""
                for key in ("tensor_name", "send_device", "recv_device")
            )
            result.rendezvous[node.name] = Rendezvous(node.op, tensor, source, target)
            key = (tensor, source, target)
            if is_send(node.op):
                sends[key] = node.name
            elif is_recv(node.op):
                recvs.append((node.name, key))
    for name, key in recvs:
        if key in sends:
            result.inputs[name] = (*result.inputs[name], sends[key])
    return result


def partitions_of(metadata: bytes | memoryview) -> list[graph_pb2.GraphDef]:
    """Returns the partition_graphs of a RunMetadata, without those that cannot be parsed."""
    found = []
    view = memoryview(metadata)
    try:
        for number, wire, begin, end in fields(view, 0, len(view)):
            if number == _PARTITION_GRAPHS and wire == 2:
                found.append(graph_pb2.GraphDef.FromString(view[begin:end].tobytes()))
    except (MalformedError, DecodeError):
        pass
    return found

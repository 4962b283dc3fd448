"""Partitions of sessions that call this worker by another name than it has."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.message import DecodeError

from headrace.formats.errors import InvalidArgumentError
from headrace.formats.proto.graph_pb2 import GraphDef, NodeDef


def renamed_graph(graph_def: bytes, task: str, own: str) -> bytes:
    """Replaces a task in the devices of a GraphDef.

    A session whose ConfigProto brings a cluster along may use a server under any job name.

    Args:
      graph_def: a serialized GraphDef.
      task: what the session calls the worker, "/job:ps/replica:0/task:3".
      own: what the worker calls itself.
    Raises: InvalidArgumentError for bytes that are no GraphDef.
    """
    try:
        graph = GraphDef.FromString(graph_def)
    except DecodeError as error:
        raise InvalidArgumentError(None, None, f"the partition is no GraphDef: {error}") from None
    for node in _nodes(graph):
        if node.device.startswith(task + "/") or node.device == task:
            node.device = own + node.device[len(task) :]
    return graph.SerializeToString()


def _nodes(graph: GraphDef) -> Iterator[NodeDef]:
    yield from graph.node
    for function in graph.library.function:
        yield from function.node_def

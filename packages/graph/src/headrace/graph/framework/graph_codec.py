"""Serializes a graph as a GraphDef message, without creating protobuf objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headrace.formats.wire import encode_varint as varint
from headrace.graph.framework.attributes import encode_shape

if TYPE_CHECKING:
    from headrace.graph.framework.operation import Operation

# The versions written by as_graph_def: TensorFlow 1.x accepts graphs of this producer.
GRAPH_DEF_VERSION = 1087
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0


def graph_wire(
    graph: Any, from_version: int = 0, versions: bool = True, known_library: bytes | None = None
) -> bytes:
    """Serializes the nodes added since a version, and the functions, as a GraphDef message.

    Args:
      from_version: number of nodes to skip.
      versions: also write the versions field.
      known_library: functions that the reader has; if they are all, they are left out.
    """
    parts = _node_parts(graph._ops[from_version:])
    if versions:
        body = version_wire(graph)
        parts.append(b'"' + varint(len(body)) + body)
    if graph._functions and graph._library_wire() is not known_library:
        library = graph._library_wire()
        parts.append(b"\x12" + varint(len(library)) + library)
    return b"".join(parts)


def version_wire(graph: Any) -> bytes:
    """Serializes the VersionDef message of a graph."""
    out = b"\x08" + varint(graph._producer or GRAPH_DEF_VERSION)
    if GRAPH_DEF_VERSION_MIN_CONSUMER:
        out += b"\x10" + varint(GRAPH_DEF_VERSION_MIN_CONSUMER)
    return out


def _node_parts(ops: Iterable[Operation]) -> list[bytes]:
    parts: list[bytes] = []
    names: dict[Operation, bytes] = {}  # input field for output 0
    types: dict[str, bytes] = {}
    small = [bytes((n,)) for n in range(128)]
    for op in ops:
        name = op.name.encode()
        size = len(name)
        length = small[size] if size < 128 else varint(size)
        type_field = types.get(op.type)
        if type_field is None:
            kind = op.type.encode()
            type_field = types[op.type] = b"\x12" + varint(len(kind)) + kind
        node = b"\n" + length + name + type_field
        names[op] = b"\x1a" + length + name
        for t in op.inputs:
            source = t.op
            if t.value_index:
                text = f"{source.name}:{t.value_index}".encode()
                node += b"\x1a" + varint(len(text)) + text
                continue
            field = names.get(source)
            if field is None:
                text = source.name.encode()
                field = names[source] = b"\x1a" + varint(len(text)) + text
            node += field
        for control in op.control_inputs:
            text = b"^" + control.name.encode()
            node += b"\x1a" + varint(len(text)) + text
        if op.device:
            text = op.device.encode()
            node += b'"' + varint(len(text)) + text
        attrs = op._attrs
        node += attrs._wire if attrs._wire is not None else attrs.wire()
        size = len(node)
        parts.append(b"\n" + (small[size] if size < 128 else varint(size)) + node)
    return parts


def node_wire(op: Operation) -> bytes:
    """Serializes the NodeDef message of a node."""
    field = _node_parts([op])[0]
    at = 1
    while field[at] > 127:
        at += 1
    return field[at + 1 :]


def version_def(graph: Any) -> Any:
    """Returns the VersionDef message of a graph."""
    from headrace.formats.proto.graph_pb2 import VersionDef

    return VersionDef.FromString(version_wire(graph))


def as_graph_def(graph: Any, from_version: int = 0, add_shapes: bool = False) -> Any:
    """Returns the GraphDef message; see Graph.as_graph_def."""
    from headrace.formats.proto.graph_pb2 import GraphDef

    message = GraphDef.FromString(graph_wire(graph, from_version))
    if add_shapes:
        for node, op in zip(message.node, graph._ops[from_version:]):
            node.attr["_output_shapes"].Clear()
            shapes = node.attr["_output_shapes"].list
            for t in op.outputs:
                shapes.shape.add().MergeFromString(encode_shape(t._shape))
    return message

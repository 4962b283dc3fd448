"""Values that a Saver's RestoreV2 nodes cannot read: of format V1, or under names of objects."""

from __future__ import annotations

from typing import Any

from headrace.formats.bundle_reader import BundleReader
from headrace.formats.errors import InvalidArgumentError, NotFoundError
from headrace.formats.slice_file import SliceFileReader
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.graph import Graph
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.variables.save_slice_info import parse_slice_spec

OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


class ReaderByFullName:
    """Reads a checkpoint of objects by the names that their variables had in the graph.

    Args:
      path: prefix of the checkpoint.
    Raises: NotFoundError if it is missing or no checkpoint of objects.
    """

    def __init__(self, path: str) -> None:
        self._reader = BundleReader(path)
        self._keys = {
            attribute.full_name: attribute.checkpoint_key
            for node in object_graph_of(self._reader).nodes
            for attribute in node.attributes
        }

    def _key(self, name: str) -> str:
        if name not in self._keys:
            raise NotFoundError(
                None, None, f"Key {name} not found in checkpoint {self._reader.prefix}"
            )
        return self._keys[name]

    def dtype(self, name: str) -> Any:
        """Returns the dtype of a variable. Raises: NotFoundError for an unknown name."""
        return self._reader.dtype(self._key(name))

    def shape(self, name: str) -> tuple[int, ...]:
        """Returns the shape of a variable. Raises: NotFoundError for an unknown name."""
        return self._reader.shape(self._key(name))

    def read(self, name: str) -> Any:
        """Returns the value of a variable. Raises: as BundleReader.read."""
        return self._reader.read(self._key(name))

    def read_slice(self, name: str, starts: Any, lengths: Any) -> Any:
        """Returns a part of a variable. Raises: as BundleReader.read_slice."""
        return self._reader.read_slice(self._key(name), starts, lengths)


def object_graph_of(reader: BundleReader) -> Any:
    """Returns the TrackableObjectGraph of a checkpoint. Raises: NotFoundError if it has none."""
    from headrace.formats.proto.trackable_object_graph_pb2 import TrackableObjectGraph

    if OBJECT_GRAPH_KEY not in reader:
        raise NotFoundError(
            None, None, f"Key {OBJECT_GRAPH_KEY} not found in checkpoint {reader.prefix}"
        )
    return TrackableObjectGraph.FromString(reader.read(OBJECT_GRAPH_KEY).item())


def values_to_restore(
    graph: Graph, restore_op_name: str, reader: SliceFileReader | ReaderByFullName
) -> dict[Tensor, Any]:
    """Reads what the RestoreV2 nodes before an operation would read, to be fed in their place.

    Args:
      graph: the graph of the Saver.
      restore_op_name: the operation that restores.
      reader: the checkpoint.
    Raises: NotFoundError for a tensor that the checkpoint lacks; InvalidArgumentError for another
      dtype or shape; DataLossError for a corrupted file.
    """
    values: dict[Tensor, Any] = {}
    seen: set[Operation] = set()
    ahead = [graph.get_operation_by_name(restore_op_name)]
    while ahead:
        node = ahead.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.type == "RestoreV2":
            values.update(_of_node(reader, node))
            continue
        ahead.extend(t.op for t in node.inputs)
        ahead.extend(node.control_inputs)
    return values


def _of_node(reader: SliceFileReader | ReaderByFullName, node: Operation) -> dict[Tensor, Any]:
    names, slices = (constant_value(t) for t in node.inputs[1:])
    if names is None or slices is None:
        return {}
    found = {}
    for tensor, name, spec in zip(node.outputs, names.tolist(), slices.tolist()):
        key = name.decode()
        dtype = reader.dtype(key)
        if dtype is not tensor.dtype.base_dtype:
            raise InvalidArgumentError(
                node.node_def,
                node,
                f"tensor_name = {key}; expected dtype {tensor.dtype.name} does not equal original "
                f"dtype {dtype.name}",
            )
        if not spec:
            found[tensor] = reader.read(key)
            continue
        shape, starts, lengths = parse_slice_spec(spec.decode())
        if tuple(shape) != reader.shape(key):
            raise InvalidArgumentError(
                node.node_def,
                node,
                f"tensor_name = {key}; shape in shape_and_slice spec {shape} does not match the "
                f"shape stored in checkpoint: {list(reader.shape(key))}",
            )
        found[tensor] = reader.read_slice(key, starts, lengths)
    return found

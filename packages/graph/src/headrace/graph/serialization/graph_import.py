"""import_graph_def: checks the nodes of a GraphDef and adds them to a graph.

Errors are InvalidArgumentErrors, or NotFoundErrors for unknown ops; both are also ValueErrors, the
class that TF 1.x raises.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.formats import op_catalogue
from headrace.formats.errors import InvalidArgumentError, NotFoundError
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.framework.attributes import AttrSet, RawAttr
from headrace.graph.framework.create_op import add_node
from headrace.graph.framework.device_spec import canonical
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_codec import GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_PRODUCER
from headrace.graph.framework.node_messages import (
    attr_values,
    callable_signature,
    input_problem,
)
from headrace.graph.framework.op_registry import call_shape_function
from headrace.graph.framework.op_template import output_types
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scope import check_op_name
from headrace.graph.typing.aliases import Proto

_CALLS = ("PartitionedCall", "StatefulPartitionedCall")


class InvalidGraphError(InvalidArgumentError, ValueError):
    """A GraphDef that cannot be imported."""


class UnknownOpError(NotFoundError, ValueError):
    """A GraphDef with an op that is not in the catalogue."""


def import_graph_def(
    graph_def: Proto,
    input_map: dict[str, Any] | None = None,
    return_elements: Iterable[str] | None = None,
    name: str | None = None,
    op_dict: object | None = None,
    producer_op_list: object | None = None,
) -> list[Any] | None:
    """Adds the nodes of a GraphDef to the default graph.

    Args:
      graph_def: the message, or its bytes.
      input_map: maps names in the message ("x", "x:0", "^x") to replacing tensors.
      return_elements: names of operations ("x") or tensors ("x:0") in the message.
      name: prefix of the names; "import" if None, no prefix if "".
      op_dict: ignored, as in TF 1.x.
      producer_op_list: ignored: the catalogue knows all defaults.
    Returns: the return_elements in order, or None without return_elements.
    Raises: ValueError, also an InvalidArgumentError or NotFoundError, for an invalid graph
      (duplicate name, dangling edge, cycle, unknown op, wrong dtypes or shapes, producer or
      consumer version out of range); TypeError for arguments of other types.
    """
    message = _parsed(graph_def)
    input_map = dict(input_map or {})
    if not all(isinstance(key, (str, bytes)) for key in input_map):
        raise TypeError("input_map must be a dictionary mapping strings to Tensor objects.")
    graph = get_default_graph()
    graph._check_not_finalized()
    with graph.name_scope("import" if name is None else name or None) as scope:
        plan = _Import(graph, message, scope[:-1] if name != "" else "")
        plan.map_inputs(input_map)
        plan.add_nodes()
        plan.check_input_map()
    if return_elements is None:
        return None
    return [plan.element(item) for item in return_elements]


def _parsed(graph_def: Any) -> Any:
    from headrace.formats.proto.graph_pb2 import GraphDef

    if isinstance(graph_def, GraphDef):
        return graph_def
    wire = graph_def
    if hasattr(
        graph_def, "SerializeToString"
    ):  # a GraphDef of another library: the serialized form is equal
        if graph_def.DESCRIPTOR.name != "GraphDef":
            raise TypeError(f"graph_def must be a GraphDef proto, got {type(graph_def)}")
        wire = graph_def.SerializeToString()
    if not isinstance(wire, (bytes, bytearray, memoryview)):
        raise TypeError(f"graph_def must be a GraphDef proto, got {type(graph_def)}")
    from google.protobuf.message import DecodeError

    try:
        return GraphDef.FromString(bytes(wire))
    except DecodeError as error:
        raise InvalidGraphError(None, None, f"these bytes are not a GraphDef: {error}") from error


class _Import:
    """State of one import: message, prefix, and the nodes added so far."""

    def __init__(self, graph: Any, message: Any, prefix: str) -> None:
        self._graph = graph
        self._nodes = message.node
        self._prefix = prefix + "/" if prefix else ""
        self._input_map: dict[str, Any] = {}
        self._given_keys: dict[str, str] = {}  # key of _input_map -> the caller's
        self._used_keys: set[str] = set()
        self._made: dict[str, Operation] = {}
        self._sets: dict[Any, AttrSet] = {}
        self._check_versions(message)
        self._add_library(message)
        self._index = self._indexed()

    # -- checks of the message -----------------------------------------------------------------

    def _check_versions(self, message: Any) -> None:
        versions = message.versions
        if versions.min_consumer > GRAPH_DEF_VERSION:
            raise InvalidGraphError(
                None,
                None,
                f"this GraphDef requires a reader of version {versions.min_consumer} at least; "
                f"this one is {GRAPH_DEF_VERSION}: update headrace-graph",
            )
        if versions.producer < GRAPH_DEF_VERSION_MIN_PRODUCER:
            raise InvalidGraphError(
                None,
                None,
                f"this GraphDef was written by version {versions.producer}, older than "
                f"{GRAPH_DEF_VERSION_MIN_PRODUCER}: write it again",
            )
        if GRAPH_DEF_VERSION in versions.bad_consumers:
            raise InvalidGraphError(
                None,
                None,
                f"this GraphDef excludes readers of version {GRAPH_DEF_VERSION}: "
                "update headrace-graph",
            )
        graph = self._graph
        if versions.producer:
            known = [versions.producer]
            if graph._producer is not None or graph._ops:
                known.append(graph._producer or GRAPH_DEF_VERSION)
            graph._producer = min(known)

    def _add_library(self, message: Any) -> None:
        if message.HasField("library"):
            self._graph._add_library(message.library)

    def _indexed(self) -> dict[str, int]:
        index: dict[str, int] = {}
        for i, node in enumerate(self._nodes):
            name = node.name
            try:
                check_op_name(name)
            except ValueError as error:
                raise InvalidGraphError(node, None, f"node {i}: {error}") from None
            if index.setdefault(name, i) != i:
                raise InvalidGraphError(
                    node, None, f"Node '{name}' is not unique: two nodes have this name"
                )
        return index

    # -- input map -----------------------------------------------------------------------------

    def map_inputs(self, input_map: dict[str, Any]) -> None:
        """Converts the replacements of the caller to tensors.

        Raises: ValueError for tensors of another graph, or other values without a prefix.
        """
        for key, value in input_map.items():
            key = key.decode() if isinstance(key, bytes) else key
            if key.startswith("^"):
                self._input_map[key] = value.op if isinstance(value, Tensor) else value
                self._given_keys[key] = key
                continue
            if not isinstance(value, Tensor):
                if not self._prefix:
                    raise ValueError(
                        "import_graph_def() requires a non-empty `name` if `input_map` contains "
                        "non-Tensor values. Try calling convert_to_tensor() on `input_map` values "
                        "before calling import_graph_def()."
                    )
                with self._graph.name_scope("_inputs"):
                    value = convert_to_tensor(value)
            elif self._graph.building_function:
                value = self._graph.capture(value)
            elif value.graph is not self._graph:
                raise ValueError(
                    f"input_map[{key!r}] is {value!r} of another graph than the default one"
                )
            whole = key if ":" in key else key + ":0"
            self._input_map[whole] = value
            self._given_keys[whole] = key

    def check_input_map(self) -> None:
        """Raises InvalidGraphError for unused replacements."""
        shown = [
            self._given_keys[key]
            for key in self._input_map
            if key not in self._used_keys and not self._exists(key)
        ]
        if shown:
            raise InvalidGraphError(
                None,
                None,
                f"Attempted to map inputs that were not found in graph_def: [{', '.join(shown)}]",
            )

    def _exists(self, key: str) -> bool:
        """Returns whether the message has the control input or the tensor of a key."""
        if key.startswith("^"):
            return key[1:] in self._index
        name, _, number = key.rpartition(":")
        made = self._made.get(name)
        return made is not None and number.isdigit() and int(number) < len(made.outputs)

    # -- nodes ---------------------------------------------------------------------------------

    def add_nodes(self) -> None:
        """Adds all nodes in topological order; the back edges of loops are added at the end."""
        back_edges: list[tuple[Operation, int, str]] = []
        scope = self._graph._local.scope.changed(controllers=(), colocation=())
        for i in self._order():
            self._add_node(self._nodes[i], scope, back_edges)
        for merge, position, source in back_edges:
            inputs = list(merge.inputs)
            inputs[position] = self._tensor(source, merge.name)
            merge.inputs = tuple(inputs)
        if back_edges:
            self._graph._consumers_upto = 0
            self._graph._consumers.clear()

    def _order(self) -> list[int]:
        """Returns a topological order of the nodes, close to that of the message."""
        sources = [self._sources(node) for node in self._nodes]
        order: list[int] = []
        state = bytearray(len(sources))  # 0: not visited, 1: waiting for inputs, 2: done
        for first in range(len(sources)):
            if state[first]:
                continue
            waiting = [first]
            while waiting:
                i = waiting[-1]
                missing = [s for s in sources[i] if state[s] != 2]
                if not missing:
                    state[i] = 2
                    order.append(i)
                    waiting.pop()
                    while waiting and state[waiting[-1]] == 2:
                        waiting.pop()
                    continue
                if any(state[s] == 1 for s in missing):
                    raise self._cycle(sources, next(s for s in missing if state[s] == 1))
                state[i] = 1
                waiting.extend(missing)
        return order

    def _sources(self, node: Any) -> list[int]:
        """Returns the indices of a node's inputs, without the back edge of a loop."""
        found = []
        is_merge = node.op in ("Merge", "RefMerge")
        for text in node.input:
            if self._input_map and (text in self._input_map or text + ":0" in self._input_map):
                continue
            source = self._index.get(_node_of(text))
            if source is None:
                raise InvalidGraphError(
                    node, None, f"Node '{node.name}': Unknown input node '{_node_of(text)}'"
                )
            if is_merge and self._nodes[source].op in ("NextIteration", "RefNextIteration"):
                continue
            found.append(source)
        return found

    def _cycle(self, sources: list[list[int]], start: int) -> InvalidGraphError:
        """Returns the error for a cycle through a node."""
        came_from: dict[int, int] = {}
        ahead = [start]
        while start not in came_from:
            i = ahead.pop()
            for s in sources[i]:
                if s not in came_from:
                    came_from[s] = i
                    ahead.append(s)
        path = [start]
        while len(path) == 1 or path[-1] != start:
            path.append(came_from[path[-1]])
        names = " -> ".join([self._nodes[i].name for i in path])
        return InvalidGraphError(
            self._nodes[start], None, f"the graph has a cycle that is not a while loop: {names}"
        )

    def _add_node(
        self, node: Any, scope: Any, back_edges: list[tuple[Operation, int, str]]
    ) -> None:
        graph = self._graph
        full = graph._unique(self._prefix + node.name)
        inputs: list[Tensor] = []
        controls: list[Operation] = []
        mine: list[tuple[int, str]] = []
        for text in node.input:
            if text.startswith("^"):
                controls.append(self._control(text))
                continue
            if controls:
                raise InvalidGraphError(
                    node,
                    None,
                    f"{node.op} '{node.name}': input {text!r} stands after a control input",
                )
            source = _node_of(text)
            if source in self._index and source not in self._made and not self._mapped(text):
                mine.append((len(inputs), text))  # from a NextIteration that is added later
                inputs.append(inputs[0] if inputs else None)  # type: ignore[arg-type]
                continue
            inputs.append(self._tensor(text, node.name))
        if mine and inputs[0] is None:
            raise InvalidGraphError(
                node, None, f"{node.op} '{node.name}': its first input comes from a NextIteration"
            )
        attrs = self._attrs(node)
        if attrs.signature is not None:
            problem = input_problem(attrs.signature, attrs, [t.dtype for t in inputs])
            if problem:
                raise InvalidGraphError(node, None, f"{node.op} '{node.name}': {problem}")
        try:
            device = canonical(node.device) if node.device else ""
            result = add_node(
                graph, scope, node.op, tuple(inputs), attrs, full, tuple(controls), device
            )
        except ValueError as error:
            raise InvalidGraphError(node, None, str(error)) from None
        if mine:
            for t in result.outputs[:1]:
                t._shape = None  # the value of the next iteration may have another shape
            back_edges.extend([(result, position, text) for position, text in mine])
        self._made[node.name] = result
        if node.op in _CALLS or graph._is_function(node.op):
            call_shape_function()(result)

    def _mapped(self, text: str) -> bool:
        return (text if ":" in text else text + ":0") in self._input_map

    def _tensor(self, text: str, reader: str) -> Tensor:
        key = text if ":" in text else text + ":0"
        mapped = self._input_map.get(key)
        if mapped is not None:
            self._used_keys.add(key)
            return mapped
        name, _, number = key.rpartition(":")
        outputs = self._made[name].outputs
        if not number.isdigit() or int(number) >= len(outputs):
            raise InvalidGraphError(
                None,
                None,
                f"Node '{reader}': Connecting to invalid output {number} of source node {name} "
                f"which has {len(outputs)} outputs.",
            )
        return outputs[int(number)]

    def _control(self, text: str) -> Operation:
        mapped = self._input_map.get(text)
        if mapped is not None:
            self._used_keys.add(text)
            return mapped
        return self._made[text[1:]]

    def _attrs(self, node: Any) -> AttrSet:
        op_type = node.op
        key = None
        attr = node.attr
        if op_type != "Const":
            key = (op_type, *sorted([(k, attr[k].SerializeToString()) for k in attr]))
            found = self._sets.get(key)
            if found is not None:
                return found
        signature = op_catalogue.find(op_type)
        if signature is None:
            signature = self._function_signature(node)
        elif signature.internal:
            raise InvalidGraphError(
                node, None, f"{op_type} '{node.name}': only the executor's own passes make this op"
            )
        try:
            values = attr_values(op_type, signature, attr)
            for requested in signature.attrs:
                if requested.name not in values:
                    raise ValueError(
                        f"NodeDef missing attr '{requested.name}' ({requested.kind}) from "
                        f"Op<name={op_type}>"
                    )
        except (TypeError, ValueError, InvalidArgumentError) as error:
            raise InvalidGraphError(node, None, f"{op_type} '{node.name}': {error}") from None
        if "_class" in values:
            values["_class"] = self._colocation(node)
        if self._prefix and op_type in ("Enter", "RefEnter"):
            values["frame_name"] = self._prefix + values["frame_name"]
        try:
            types = output_types(signature, values)
        except (TypeError, KeyError) as error:
            raise InvalidGraphError(node, None, f"{op_type} '{node.name}': {error}") from None
        result = AttrSet(op_type, signature, values, types)
        if key is not None:
            self._sets[key] = result
        return result

    def _function_signature(self, node: Any) -> Any:
        try:
            return callable_signature(self._graph, node.op)
        except NotFoundError as error:
            raise UnknownOpError(node, None, f"node '{node.name}': {error.message}") from None

    def _colocation(self, node: Any) -> Any:
        value = node.attr["_class"]
        if value.WhichOneof("value") != "list":
            return RawAttr(value.SerializeToString())
        groups = []
        for item in value.list.s:
            text = item.decode(errors="replace")
            if text.startswith("loc:@"):
                other = text[5:]
                if other not in self._index:
                    raise InvalidGraphError(
                        node,
                        None,
                        f"Node '{node.name}' expects to be colocated with unknown node '{other}'",
                    )
                text = f"loc:@{self._prefix}{other}"
            groups.append(text)
        return tuple(groups)

    # -- return elements ---------------------------------------------------------------------

    def element(self, name: Any) -> Any:
        """Returns the operation or tensor of a name in the message. Raises: InvalidGraphError."""
        name = name.decode() if isinstance(name, bytes) else name
        if not isinstance(name, str):
            raise TypeError(f"return_elements must be a list of strings, got {name!r}")
        op_name, colon, number = name.rpartition(":")
        result = self._made.get(op_name if colon else name)
        if colon and not number.isdigit():
            problem = f"Cannot convert {name!r} to a tensor name."
        elif result is None:
            problem = f"Requested return node {(op_name or name)!r} not found in graph def"
        elif not colon:
            return result
        elif int(number) >= len(result.outputs):
            problem = (
                f"Invalid return output {number} of node {op_name!r}, which has "
                f"{len(result.outputs)} output(s)"
            )
        else:
            problem = ""
        if problem or result is None:
            raise InvalidGraphError(None, None, problem)
        return result.outputs[int(number)]


def _node_of(text: str) -> str:
    if text.startswith("^"):
        return text[1:]
    name, colon, _ = text.rpartition(":")
    return name if colon else text

"""Export and import of MetaGraphDefs: graphs with their collections."""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from collections.abc import Callable
from typing import Any

from headrace.formats import op_catalogue
from headrace.formats.errors import NotFoundError
from headrace.graph.framework.graph import Graph, get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.import_scope import prepend_name_scope, strip_name_scope
from headrace.graph.platform import gfile
from headrace.graph.platform.atomic_write import write_atomically
from headrace.graph.serialization.graph_import import import_graph_def
from headrace.graph.serialization.message_origin import COLLECTION_DEF, GRAPH_DEF, MessageOrigin
from headrace.graph.typing.aliases import Proto

_UNBOUND = "$unbound_inputs_"

# collection -> (function that returns the message class, to_proto, from_proto)
_proto_functions: dict[Any, tuple[Any, Any, Any]] = {}


def register_proto_function(
    collection_name: Any,
    proto_type: Any = None,
    to_proto: Callable[..., Any] | None = None,
    from_proto: Callable[..., Any] | None = None,
) -> None:
    """Registers the conversion of a collection's values to messages and back.

    Args:
      collection_name: name of the collection.
      proto_type: message class, or a function without arguments that returns it.
      to_proto: `f(value, export_scope=None)` that returns a message, or None to omit the value.
      from_proto: `f(message, import_scope=None)` that returns a value.
    Raises: TypeError if to_proto or from_proto is not callable.
    """
    if to_proto is not None and not callable(to_proto):
        raise TypeError("to_proto must be callable.")
    if from_proto is not None and not callable(from_proto):
        raise TypeError("from_proto must be callable.")
    _proto_functions[collection_name] = (proto_type, to_proto, from_proto)


def _message_class(key: Any) -> Any:
    kind = _proto_functions[key][0]
    return kind if hasattr(kind, "DESCRIPTOR") else kind()


def _variable_def() -> Any:
    from headrace.formats.proto.variable_pb2 import VariableDef

    return VariableDef


def _cond_context_def() -> Any:
    from headrace.formats.proto.control_flow_pb2 import CondContextDef

    return CondContextDef


def _while_context_def() -> Any:
    from headrace.formats.proto.control_flow_pb2 import WhileContextDef

    return WhileContextDef


def _queue_runner_def() -> Any:
    from headrace.formats.proto.queue_runner_pb2 import QueueRunnerDef

    return QueueRunnerDef


def _queue_runner_from(message: Any, import_scope: str | None = None) -> Any:
    from headrace.graph.ops.synchronisation.queue_runner import QueueRunner

    return QueueRunner.from_proto(message, import_scope)


def _variable_from(message: Any, import_scope: str | None = None) -> Any:
    from headrace.graph.variables.variable import Variable

    return Variable.from_proto(message, import_scope)


def _cond_from(message: Any, import_scope: str | None = None) -> Any:
    from headrace.graph.control_flow.context import CondContext

    return CondContext.from_proto(message, import_scope)


def _while_from(message: Any, import_scope: str | None = None) -> Any:
    from headrace.graph.control_flow.context import WhileContext

    return WhileContext.from_proto(message, import_scope)


def _own_message(value: Any, export_scope: str | None = None) -> Any:
    return value.to_proto(export_scope)


for _key in GraphKeys._VARIABLE_COLLECTIONS:
    register_proto_function(_key, _variable_def, _own_message, _variable_from)
register_proto_function(GraphKeys.COND_CONTEXT, _cond_context_def, _own_message, _cond_from)
register_proto_function(GraphKeys.WHILE_CONTEXT, _while_context_def, _own_message, _while_from)
register_proto_function(
    GraphKeys.QUEUE_RUNNERS, _queue_runner_def, _own_message, _queue_runner_from
)


# ---- writing -------------------------------------------------------------------------------------


def export_scoped_meta_graph(
    filename: str | None = None,
    graph_def: Proto | None = None,
    graph: Graph | None = None,
    export_scope: str | None = None,
    as_text: bool = False,
    unbound_inputs_col_name: str = "unbound_inputs",
    clear_devices: bool = False,
    saver_def: Proto | None = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    meta_info_def: Proto | None = None,
    collection_list: Any = None,
    save_debug_info: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """Exports a graph, or a scope of it, as a MetaGraphDef, and optionally writes it to a file.

    Args:
      filename: file to write, or None.
      graph_def: GraphDef to use instead of the graph's nodes.
      graph: the graph; by default the default graph.
      export_scope: export only nodes in this scope, and remove it from their names.
      as_text: write text format.
      unbound_inputs_col_name: collection for the names of inputs from outside of the scope.
      clear_devices: clear the devices of the nodes.
      saver_def: SaverDef to include.
      clear_extraneous_savers: omit the collection SAVERS.
      strip_default_attrs: remove attributes with default values.
      collection_list: keys of the collections to export; None exports all.
    Returns: (MetaGraphDef, dict from names without the scope to variables).
    Raises: the OpErrors of writing, such as ResourceExhaustedError.
    """
    graph = get_default_graph() if graph is None else graph
    scope = None
    if export_scope:
        scope = export_scope[:-1] if export_scope.endswith("/") else export_scope
    if graph_def is None:
        graph_def = graph.as_graph_def()
    unbound: set[str] = set()
    if scope or clear_devices or strip_default_attrs:
        graph_def = _scoped(graph_def, scope, clear_devices, strip_default_attrs, unbound)
    variables: dict[str, Any] = {}
    for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
        name = variable.name.partition(":")[0]
        if scope is None or name.startswith(scope + "/"):
            variables[strip_name_scope(name, scope)] = variable
    message = create_meta_graph_def(
        meta_info_def, graph_def, saver_def, collection_list, graph, scope, clear_extraneous_savers
    )
    if unbound:
        message.collection_def[unbound_inputs_col_name].bytes_list.value.extend(
            sorted([u.encode() for u in unbound])
        )
    if filename:
        write_meta_graph(message, filename, as_text)
    return message, variables


def _scoped(
    graph_def: Any, scope: str | None, clear_devices: bool, strip_defaults: bool, unbound: set[str]
) -> Any:
    from headrace.formats.proto.graph_pb2 import GraphDef

    out = GraphDef(versions=graph_def.versions, library=graph_def.library)
    for node in graph_def.node:
        if scope is not None and not node.name.startswith(scope + "/"):
            continue
        new = out.node.add()
        new.CopyFrom(node)
        if clear_devices:
            new.device = ""
        if strip_defaults:
            _strip_defaults(new)
        if scope is None:
            continue
        new.name = strip_name_scope(node.name, scope)
        del new.input[:]
        for text in node.input:
            if text.lstrip("^").startswith(scope + "/"):
                new.input.append(strip_name_scope(text, scope))
            elif not text.startswith("^"):
                unbound.add(text)
                new.input.append(_UNBOUND + text)
        if "_class" in new.attr:
            kept = [
                strip_name_scope(c.decode(), scope).encode()
                for c in node.attr["_class"].list.s
                if c.decode().startswith(f"loc:@{scope}/")
            ]
            del new.attr["_class"]
            if kept:
                new.attr["_class"].list.s.extend(kept)
    return out


def _strip_defaults(node: Any) -> None:
    if op_catalogue.find(node.op) is None:
        return
    for attr in op_catalogue.op_def(node.op).attr:
        if attr.HasField("default_value") and attr.name in node.attr:
            if node.attr[attr.name] == attr.default_value:
                del node.attr[attr.name]


def create_meta_graph_def(
    meta_info_def: Proto | None = None,
    graph_def: Proto | None = None,
    saver_def: Proto | None = None,
    collection_list: Any = None,
    graph: Graph | None = None,
    export_scope: str | None = None,
    exclude_savers: bool = False,
) -> Any:
    """Creates a MetaGraphDef: nodes, signatures of their ops, collections, SaverDef."""
    from headrace.formats.proto.meta_graph_pb2 import MetaGraphDef

    graph = get_default_graph() if graph is None else graph
    message = MetaGraphDef()
    if meta_info_def is not None:
        message.meta_info_def.MergeFrom(meta_info_def)
    message.graph_def.MergeFrom(graph.as_graph_def() if graph_def is None else graph_def)
    if not message.meta_info_def.HasField("stripped_op_list"):
        used = {node.op for node in message.graph_def.node}
        for function in message.graph_def.library.function:
            used.update([node.op for node in function.node_def])
        for op_type in sorted(used):
            if op_catalogue.find(op_type) is not None:
                message.meta_info_def.stripped_op_list.op.append(op_catalogue.op_def(op_type))
    if saver_def is not None:
        message.saver_def.MergeFrom(saver_def)
    keys = graph.get_all_collection_keys() if collection_list is None else collection_list
    for key in keys:
        if exclude_savers and key == GraphKeys.SAVERS:
            continue
        add_collection_def(message, key, graph, export_scope)
    return message


def add_collection_def(
    meta_graph_def: Proto, key: Any, graph: Graph | None = None, export_scope: str | None = None
) -> None:
    """Adds a collection to a MetaGraphDef; warns and omits it if it cannot be converted."""
    graph = get_default_graph() if graph is None else graph
    values = graph.get_collection(key)
    if not values:
        return
    target = meta_graph_def.collection_def[key]
    try:
        to_proto = _proto_functions.get(key, (None, None, None))[1]
        if to_proto is not None:
            target.bytes_list.SetInParent()
            for value in values:
                proto = to_proto(value, export_scope=export_scope)
                if proto is not None:
                    target.bytes_list.value.append(proto.SerializeToString(deterministic=True))
            return
        _write_plain(target, values, export_scope)
    except (TypeError, ValueError, AttributeError) as error:
        warnings.warn(
            f"collection {key!r} is left out of the MetaGraphDef, which has no place for its "
            f"values: {error}",
            stacklevel=3,
        )
        del meta_graph_def.collection_def[key]


def _write_plain(target: Any, values: list[Any], export_scope: str | None) -> None:
    first = values[0]
    if isinstance(first, int):
        target.int64_list.value.extend([int(v) for v in values])
    elif isinstance(first, float):
        target.float_list.value.extend(values)
    elif isinstance(first, (str, bytes)):
        target.bytes_list.value.extend([v.encode() if isinstance(v, str) else v for v in values])
    elif getattr(first, "DESCRIPTOR", None) is not None and first.DESCRIPTOR.name == "Any":
        target.any_list.value.extend(values)
    else:
        target.node_list.SetInParent()
        for value in values:
            name = value.name
            if not isinstance(name, str):
                raise TypeError(f"{value!r} has no name")
            if not export_scope or name.startswith(export_scope + "/"):
                target.node_list.value.append(strip_name_scope(name, export_scope))


def write_meta_graph(message: Any, filename: str, as_text: bool = False) -> None:
    """Writes a message to a file atomically. Raises: as write_atomically."""
    from google.protobuf import text_format

    data = text_format.MessageToString(message).encode() if as_text else message.SerializeToString()
    write_atomically(filename, data)


# ---- reading -------------------------------------------------------------------------------------


def read_meta_graph_file(filename: str) -> Any:
    """Reads a MetaGraphDef in binary or text format.

    Raises: OSError if the file does not exist; DataLossError if it is not a MetaGraphDef.
    """
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    from headrace.formats.errors import DataLossError
    from headrace.formats.proto.meta_graph_pb2 import MetaGraphDef

    if not gfile.Exists(filename):
        raise OSError(f"File does not exist. Received: {filename}.")
    with gfile.GFile(filename, "rb") as stream:
        data = stream.read()
    try:
        return MetaGraphDef.FromString(data)
    except DecodeError:
        pass
    try:
        return text_format.Parse(data.decode(), MetaGraphDef())
    except (UnicodeDecodeError, text_format.ParseError) as error:
        raise DataLossError(
            None,
            None,
            f"{filename} is not a MetaGraphDef, neither binary nor text: {error}",
            path=filename,
            offset=0,
        ) from None


def import_scoped_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    graph: Graph | None = None,
    import_scope: str | None = None,
    input_map: Any = None,
    unbound_inputs_col_name: str = "unbound_inputs",
    restore_collections_predicate: Callable[[Any], bool] = lambda key: True,
    origin: MessageOrigin | None = None,
) -> dict[str, Any]:
    """Adds the nodes and collections of a MetaGraphDef to a graph.

    Args:
      meta_graph_or_file: message or file name.
      clear_devices: clear the devices of the nodes.
      graph: the graph; by default the default graph.
      import_scope: prefix of all names.
      input_map: maps names of unbound inputs to tensors.
      unbound_inputs_col_name: collection with the names of unbound inputs.
      restore_collections_predicate: function from a key to whether to import the collection.
      origin: origin of a message, for errors.
    Returns: dict from names without the scope to variables.
    Raises: ValueError for an invalid graph or unmapped unbound inputs; OSError for a missing file;
      DataLossError, with path and offset, for a corrupted file.
    """
    message = meta_graph_or_file
    if isinstance(message, (str, os.PathLike)):
        origin = MessageOrigin(os.fspath(message))
        message = read_meta_graph_file(origin.path)
    blamed = _unchanged_errors if origin is None else origin.blamed
    graph = get_default_graph() if graph is None else graph
    if unbound_inputs_col_name and unbound_inputs_col_name in message.collection_def:
        with blamed(COLLECTION_DEF, unbound_inputs_col_name):
            unbound = message.collection_def[unbound_inputs_col_name].bytes_list.value
            names = [name.decode() for name in unbound]
        input_map = _map_unbound_inputs(names, input_map)
    graph_def = message.graph_def
    if clear_devices:
        copied = type(graph_def)()
        copied.CopyFrom(graph_def)
        for node in copied.node:
            node.device = ""
        graph_def = copied
    with graph.as_default():
        with blamed(GRAPH_DEF):
            _check_ops(message)
        scope = ""
        if import_scope:
            # The unique prefix that import_graph_def creates in the current scope.
            scope = graph.unique_name(import_scope, mark_as_used=False)
        elif graph.get_name_scope():
            raise ValueError(
                "import_meta_graph within a name scope needs an import_scope: "
                f"the scope is {graph.get_name_scope()!r}"
            )
        graph._check_not_finalized()
        with blamed(GRAPH_DEF) if not input_map else contextlib.nullcontext():
            import_graph_def(graph_def, name=(import_scope or ""), input_map=input_map)
        _restore_collections(message, graph, scope or None, restore_collections_predicate, blamed)
    variables: dict[str, Any] = {}
    for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=re.escape(scope)):
        variables[strip_name_scope(variable.name.partition(":")[0], scope)] = variable
    return variables


def _unchanged_errors(field: int, key: str | None = None) -> Any:
    return contextlib.nullcontext()


def _map_unbound_inputs(requested: list[str], input_map: Any) -> dict[str, Any]:
    input_map = dict(input_map or {})
    missing = [
        name for name in requested if name not in input_map and _UNBOUND + name not in input_map
    ]
    if missing:
        raise ValueError(
            f"Graph contains unbound inputs: {', '.join(missing)}. Must provide these inputs "
            "through input_map."
        )
    return {
        key if key.startswith(_UNBOUND) else _UNBOUND + key if key in requested else key: value
        for key, value in input_map.items()
    }


def _check_ops(message: Any) -> None:
    """Raises NotFoundError with the names of all unknown ops."""
    functions = {f.signature.name for f in message.graph_def.library.function}
    unknown = sorted(
        {
            node.op
            for node in message.graph_def.node
            if node.op not in functions and op_catalogue.find(node.op) is None
        }
    )
    if unknown:
        from headrace.graph.serialization.graph_import import UnknownOpError

        try:
            op_catalogue.signature(unknown[0])
        except NotFoundError as error:
            more = "" if len(unknown) == 1 else f"; nor {', '.join(unknown[1:])}"
            raise UnknownOpError(None, None, f"{error.message}{more}") from None


def _restore_collections(
    message: Any,
    graph: Graph,
    scope: str | None,
    requested: Callable[[Any], bool],
    blamed: Callable[..., Any],
) -> None:
    variables: dict[
        bytes, Any
    ] = {}  # one object per variable, also if it is in several collections
    for key, collection in sorted(message.collection_def.items()):
        kind = collection.WhichOneof("kind")
        if kind is not None and requested(key):
            with blamed(COLLECTION_DEF, key):
                _restore_collection(key, collection, kind, graph, scope, variables)


def _restore_collection(
    key: str,
    collection: Any,
    kind: str,
    graph: Graph,
    scope: str | None,
    variables: dict[bytes, Any],
) -> None:
    from_proto = _proto_functions.get(key, (None, None, None))[2]
    values = getattr(collection, kind).value
    if from_proto is not None and kind == "bytes_list":
        cls = _message_class(key)
        for wire in values:
            if key in GraphKeys._VARIABLE_COLLECTIONS:
                value = variables.get(wire)
                if value is None:
                    value = variables[wire] = from_proto(cls.FromString(wire), import_scope=scope)
            else:
                value = from_proto(cls.FromString(wire), import_scope=scope)
            graph.add_to_collection(key, value)
    elif kind == "node_list":
        for name in values:
            graph.add_to_collection(key, graph.as_graph_element(prepend_name_scope(name, scope)))
    elif kind == "any_list":
        for value in values:
            graph.add_to_collection(key, value)
    elif kind != "bytes_list" or key != "unbound_inputs":
        for value in values:
            graph.add_to_collection(key, int(value) if kind == "int64_list" else value)

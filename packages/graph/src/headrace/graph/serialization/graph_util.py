"""Transformations of GraphDefs for deployment: subgraphs, pruning, freezing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from headrace.graph.framework.attributes import encode_tensor
from headrace.graph.framework.function_library import needed_library
from headrace.graph.typing.aliases import Proto, SessionLike

_STORAGE = ("Variable", "VariableV2", "VarHandleOp")


class UnknownNodeError(AssertionError, ValueError):
    """A name that is not in the graph; TensorFlow raises an AssertionError."""


def _node_of(text: str) -> str:
    return text[1:] if text.startswith("^") else text.partition(":")[0]


def extract_sub_graph(graph_def: Proto, dest_nodes: Iterable[str]) -> Any:
    """Returns the GraphDef of given nodes and the nodes that they depend on.

    Args:
      graph_def: message.
      dest_nodes: list of names of nodes.
    Raises: TypeError for a name instead of a list; UnknownNodeError for an unknown name.
    """
    if isinstance(dest_nodes, (str, bytes)):
        raise TypeError("dest_nodes must be a list of names, not one name")
    nodes = {node.name: node for node in graph_def.node}
    requested: set[str] = set()
    ahead = list(dest_nodes)
    for name in ahead:
        if name not in nodes:
            raise UnknownNodeError(f"{name} is not in graph")
    while ahead:
        name = ahead.pop()
        if name in requested:
            continue
        requested.add(name)
        ahead.extend([_node_of(text) for text in nodes[name].input])
    out = type(graph_def)(versions=graph_def.versions)
    out.node.extend([node for node in graph_def.node if node.name in requested])
    if graph_def.HasField("library"):
        out.library.CopyFrom(needed_library(graph_def.library, out.node))
    return out


def remove_training_nodes(input_graph: Proto, protected_nodes: Iterable[str] | None = None) -> Any:
    """Removes CheckNumerics and Identity nodes, which inference does not need.

    Args:
      input_graph: message.
      protected_nodes: names of nodes to keep.
    """
    protected = set(protected_nodes or ())
    by_name = {node.name: node for node in input_graph.node}
    bypassed: dict[str, str] = {}
    for node in input_graph.node:
        if node.name in protected or node.op not in ("Identity", "CheckNumerics"):
            continue
        # Nodes with control edges, and reads of references, are kept.
        source = by_name.get(_node_of(node.input[0]))
        if any(i.startswith("^") for i in node.input) or source is None:
            continue
        if node.op == "Identity" and source.op in (*_STORAGE, "Switch", "RefSwitch"):
            continue
        bypassed[node.name] = node.input[0]
    for node in input_graph.node:
        for text in node.input:
            if text.startswith("^"):
                bypassed.pop(text[1:], None)

    def real(text: str) -> str:
        while not text.startswith("^") and _node_of(text) in bypassed:
            text = bypassed[_node_of(text)]
        return text

    out = type(input_graph)(versions=input_graph.versions, library=input_graph.library)
    for node in input_graph.node:
        if node.name in bypassed:
            continue
        new = out.node.add()
        new.CopyFrom(node)
        del new.input[:]
        new.input.extend([real(text) for text in node.input])
    return out


def convert_variables_to_constants(
    sess: SessionLike,
    input_graph_def: Proto,
    output_node_names: Iterable[str],
    variable_names_whitelist: Iterable[str] | None = None,
    variable_names_blacklist: Iterable[str] | None = None,
) -> Any:
    """Freezes a graph: replaces variables by constants with their values in a session.

    Args:
      sess: session with initialised variables.
      input_graph_def: message.
      output_node_names: names of the nodes to keep, with their dependencies.
      variable_names_whitelist: names to freeze; None freezes all.
      variable_names_blacklist: names to keep as variables.
    Raises: ValueError for a resource variable that a node takes otherwise than to read it, such as
      the call of a function.
    """
    graph_def = extract_sub_graph(input_graph_def, output_node_names)
    allowed = None if variable_names_whitelist is None else set(variable_names_whitelist)
    rejected = set(variable_names_blacklist or ())
    names = [
        node.name
        for node in graph_def.node
        if node.op in _STORAGE
        and (allowed is None or node.name in allowed)
        and node.name not in rejected
    ]
    handles = {node.name for node in graph_def.node if node.op == "VarHandleOp"}
    readers = {
        node.input[0]: node.name + ":0"
        for node in input_graph_def.node
        if node.op == "ReadVariableOp"
    }
    fetches = [readers.get(n, n + ":0") if n in handles else n + ":0" for n in names]
    values = dict(zip(names, sess.run(fetches)))
    out = type(graph_def)(versions=graph_def.versions, library=graph_def.library)
    for node in graph_def.node:
        new = out.node.add()
        if node.name in values:
            new.name = node.name
            new.op = "Const"
            new.attr["dtype"].type = node.attr["dtype"].type
            new.attr["value"].tensor.ParseFromString(encode_tensor(values[node.name]))
            continue
        new.CopyFrom(node)
        frozen = [name for text in node.input if (name := _node_of(text)) in handles & set(values)]
        if node.op == "ReadVariableOp" and frozen:
            new.op = "Identity"
            new.attr.clear()
            new.attr["T"].type = node.attr["dtype"].type
        elif node.op == "ResourceGather" and frozen:
            _gather_from_constant(out, new)
        elif frozen:
            raise ValueError(
                f"Cannot freeze variable '{frozen[0]}': {node.op} '{node.name}' takes its handle; "
                "list it in variable_names_blacklist"
            )
    return out


def _gather_from_constant(graph_def: Any, node: Any) -> None:
    """Changes a ResourceGather of a frozen variable to a GatherV2, with a new node for its axis."""
    axis = graph_def.node.add(name=f"{node.name}/axis", op="Const")
    axis.attr["dtype"].type = 3
    axis.attr["value"].tensor.ParseFromString(encode_tensor(np.int32(node.attr["batch_dims"].i)))
    dtype, indices = node.attr["dtype"].type, node.attr["Tindices"].type
    batch_dims = node.attr["batch_dims"].i
    node.op = "GatherV2"
    node.input.append(axis.name)
    node.attr.clear()
    node.attr["Tparams"].type = dtype
    node.attr["Tindices"].type = indices
    node.attr["Taxis"].type = 3
    node.attr["batch_dims"].i = batch_dims

"""freeze_graph: a graph with the values of a checkpoint as constants, in one file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from headrace.formats.errors import NotFoundError
from headrace.graph.builder.op_builder import op
from headrace.graph.checkpoints.checkpoint_reader import new_checkpoint_reader
from headrace.graph.checkpoints.checkpoint_state import checkpoint_exists
from headrace.graph.checkpoints.saver import Saver, import_meta_graph
from headrace.graph.client.session import Session
from headrace.graph.framework.graph import Graph
from headrace.graph.platform.gfile import GFile
from headrace.graph.saved_model.saved_model import load
from headrace.graph.serialization.graph_import import import_graph_def
from headrace.graph.serialization.graph_util import convert_variables_to_constants
from headrace.graph.training.graph_writing import write_graph


def freeze_graph(
    input_graph: str,
    input_saver: str,
    input_binary: bool,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: str,
    filename_tensor_name: str,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph: str | None = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: str = "serve",
    checkpoint_version: int = 2,
) -> Any:
    """Replaces the variables of a graph by their values in a checkpoint, and writes the graph.

    Args:
      input_graph: file of a GraphDef; instead, input_meta_graph is that of a MetaGraphDef and
        input_saved_model_dir the folder of a SavedModel, with its own checkpoint.
      input_saver: file of a SaverDef, or "".
      input_binary: whether these files are binary, instead of text.
      input_checkpoint: path of the checkpoint.
      output_node_names: names of the nodes to keep, separated by commas.
      restore_op_name, filename_tensor_name, checkpoint_version: ignored.
      output_graph: file to write; "" writes none.
      clear_devices: remove the devices of the nodes.
      initializer_nodes: names of operations to run, separated by commas; "" runs none.
      variable_names_whitelist, variable_names_blacklist: names of variables, separated by commas.
      saved_model_tags: tags, separated by commas.
    Returns: the GraphDef.
    Raises: NotFoundError for a missing file or checkpoint; ValueError without output_node_names.
    """
    outputs = _listed(output_node_names)
    if not outputs:
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    if not input_saved_model_dir and not checkpoint_exists(input_checkpoint):
        raise NotFoundError(
            None,
            None,
            f"Input checkpoint '{input_checkpoint}' doesn't exist!",
            path=input_checkpoint,
        )
    with Graph().as_default() as graph, Session(graph=graph) as session:
        if input_saved_model_dir:
            load(session, _listed(saved_model_tags), input_saved_model_dir)
        elif input_meta_graph:
            saver = import_meta_graph(
                _read(input_meta_graph, input_binary, "MetaGraphDef"), clear_devices=clear_devices
            )
            if saver is not None:
                saver.restore(session, input_checkpoint)
        else:
            message = _read(input_graph, input_binary, "GraphDef")
            import_graph_def(message, name="")
            _restore(session, graph, input_saver, input_binary, input_checkpoint)
        if initializer_nodes:
            session.run([graph.get_operation_by_name(n) for n in _listed(initializer_nodes)])
        frozen = convert_variables_to_constants(
            session,
            graph.as_graph_def(),
            outputs,
            variable_names_whitelist=_listed(variable_names_whitelist) or None,
            variable_names_blacklist=_listed(variable_names_blacklist) or None,
        )
    if clear_devices:
        for node in frozen.node:
            node.device = ""
    if output_graph:
        folder, name = os.path.split(os.path.abspath(output_graph))
        write_graph(frozen, folder, name, as_text=False)
    return frozen


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.replace(" ", "").split(",") if name.strip()]


def _read(path: str, is_binary: bool, kind: str) -> Any:
    from google.protobuf import text_format

    from headrace.formats.proto import graph_pb2, meta_graph_pb2, variable_pb2

    classes = {
        "GraphDef": graph_pb2.GraphDef,
        "MetaGraphDef": meta_graph_pb2.MetaGraphDef,
        "SaverDef": variable_pb2.SaverDef,
    }
    message = classes[kind]()
    with GFile(path, "rb") as file:
        data = file.read()
    if is_binary:
        message.ParseFromString(data)
    else:
        text_format.Parse(data.decode(), message)
    return message


def _restore(
    session: Any, graph: Graph, input_saver: str, is_binary: bool, checkpoint: str
) -> None:
    """Restores the variables of the graph that the checkpoint has."""
    if input_saver:
        saver = Saver(saver_def=_read(input_saver, is_binary, "SaverDef"))
        saver.restore(session, checkpoint)
        return
    reader = new_checkpoint_reader(checkpoint)
    assignments: Iterable[Any] = [
        _assigned(graph, name, reader.get_tensor(name))
        for name in reader.get_variable_to_shape_map()
        if _variable(graph, name) is not None
    ]
    session.run(list(assignments))


def _variable(graph: Graph, name: str) -> Any:
    try:
        found = graph.get_operation_by_name(name)
    except KeyError:
        return None
    return found if found.type in ("Variable", "VariableV2", "VarHandleOp") else None


def _assigned(graph: Graph, name: str, value: Any) -> Any:
    node = _variable(graph, name)
    kind = "AssignVariableOp" if node.type == "VarHandleOp" else "Assign"
    made = op(kind, node.outputs[0], value)
    return getattr(made, "op", made)

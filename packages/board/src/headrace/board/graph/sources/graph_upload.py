"""Finds the graph in a file of any format in which TensorFlow writes graphs."""

from __future__ import annotations

import re
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError, Message

from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.meta_graph_pb2 import MetaGraphDef
from headrace.formats.proto.run_pb2 import RunMetadata
from headrace.formats.proto.saved_model_pb2 import SavedModel

TEXT_LIMIT_BYTES = 32 << 20  # the text parser takes some seconds for each 10 MB
_OP = re.compile(r"[^\x00-\x1f]{1,256}")  # any text, because PyTorch writes aten::conv2d
_LOOK_AT_NODES = 100


class NoGraphError(ValueError):
    """The bytes contain no graph; the message says why."""


def graph_from_bytes(data: bytes) -> tuple[Any, str]:
    """Returns the GraphDef in the bytes, and the name of their format.

    The format is recognised by content: GraphDef, MetaGraphDef, SavedModel, or RunMetadata with
    partition graphs, each in binary or text form.

    Raises: NoGraphError.
    """
    if not data:
        raise NoGraphError("the file is empty")
    if _looks_like_text(data):
        return _from_text(data)
    best: tuple[int, Any, str] = (0, None, "")
    # Of a SavedModel with several meta graphs, the first one with nodes is used.
    for message, form in (
        (GraphDef, "graph_def"),
        (SavedModel, "saved_model"),
        (MetaGraphDef, "meta_graph"),
        (RunMetadata, "run_metadata"),
    ):
        try:
            graph = _graph_in(message.FromString(data))
        except (DecodeError, ValueError):
            continue
        score = _credible_nodes(graph)
        if score > best[0]:
            best = (score, graph, form)
    if best[1] is None:
        raise NoGraphError(
            "the file is not a GraphDef, MetaGraphDef, SavedModel or RunMetadata with nodes"
        )
    return best[1], best[2]


def graph_of_run_metadata(data: bytes) -> Any:
    """Returns the graphs of all devices in a RunMetadata as one GraphDef.

    A _Recv gets its _Send as input, so that transfers between devices are edges.

    Raises: NoGraphError.
    """
    try:
        return _merged(RunMetadata.FromString(data))
    except DecodeError:
        raise NoGraphError("the record is not a RunMetadata") from None


def _graph_in(message: Message) -> Any:
    if isinstance(message, GraphDef):
        return message
    if isinstance(message, MetaGraphDef):
        return message.graph_def
    if isinstance(message, SavedModel):
        for meta_graph in message.meta_graphs:
            if len(meta_graph.graph_def.node):
                return meta_graph.graph_def
        return GraphDef()
    return _merged(message)


def _merged(metadata: Any) -> Any:
    out = GraphDef()
    for graph, prefix in _all_graphs(metadata):
        start = len(out.node)
        out.node.extend(graph.node)
        if prefix:
            _put_below(out.node[start:], prefix)
        out.library.function.extend(graph.library.function)
    _drop_repeats(out.library.function)
    sends = {}
    for node in out.node:
        if node.op in ("_Send", "_HostSend", "Send"):
            sends[_transfer_key(node)] = node.name
    for node in out.node:
        if node.op in ("_Recv", "_HostRecv", "Recv") and not any(
            not text.startswith("^") for text in node.input
        ):
            name = sends.get(_transfer_key(node))
            if name is not None:
                node.input.insert(0, name)
    return out


def _all_graphs(metadata: Any) -> list[tuple[Any, str]]:
    """Returns each graph with the scope into which it is put."""
    functions = metadata.function_graphs
    if not len(functions):
        return [(graph, "") for graph in metadata.partition_graphs]
    graphs = []
    for number, function in enumerate(functions):
        prefix = f"function_{number}/" if len(functions) > 1 else ""
        # Slices name the ops that ran. Without slices, the ops of the program are what a reader
        # looks for, and what TensorBoard shows.
        ran = list(function.partition_graphs) or [function.post_optimization_graph]
        written = function.pre_optimization_graph
        is_timed = len(metadata.step_stats.dev_stats) > 0
        parts = ran if is_timed or not len(written.node) else [written]
        graphs += [(graph, prefix) for graph in parts]
    return graphs


def _put_below(nodes: Any, prefix: str) -> None:
    """Moves nodes into a scope: functions that ran separately may use the same names."""
    for node in nodes:
        node.name = prefix + node.name
        for at, text in enumerate(node.input):
            node.input[at] = f"^{prefix}{text[1:]}" if text[:1] == "^" else prefix + text


def _drop_repeats(functions: Any) -> None:
    """Keeps the last function of each name: every device has its copy."""
    last = {function.signature.name: function for function in functions}
    if len(last) < len(functions):
        kept = [
            type(function).FromString(function.SerializeToString()) for function in last.values()
        ]
        del functions[:]
        functions.extend(kept)


def _transfer_key(node: Any) -> tuple[Any, ...]:
    attr = node.attr
    keys = ("tensor_name", "send_device", "recv_device", "send_device_incarnation")
    return tuple(
        (attr[key].s or attr[key].i) if key in attr else None for key in keys
    )  # fmt: skip


def _credible_nodes(graph: Any) -> int:
    """Returns the number of nodes if the first ones have plausible ops, else 0."""
    nodes = graph.node
    if not len(nodes):
        return 0
    if any(not _OP.fullmatch(node.op) for node in nodes[:_LOOK_AT_NODES]):
        return 0
    return len(nodes)


def _looks_like_text(data: bytes) -> bool:
    head = data[:4096]
    if b"\0" in head:
        return False
    try:
        text = head.decode("utf-8", "strict" if len(data) <= 4096 else "ignore")
    except UnicodeDecodeError:
        return False
    control = sum(c < " " and c not in "\t\n\r" for c in text)
    return control == 0 and re.search(r"^\s*(#|[A-Za-z_]\w*\s*[:{<])", text) is not None


def _from_text(data: bytes) -> tuple[Any, str]:
    if len(data) > TEXT_LIMIT_BYTES:
        raise NoGraphError(
            f"the text has {len(data) >> 20} MB; above {TEXT_LIMIT_BYTES >> 20} MB write the "
            "graph as binary (as_text=False)"
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NoGraphError(f"the text is not UTF-8 at byte {error.start}") from None
    first = ""
    for message, form in (
        (GraphDef(), "graph_def"),
        (SavedModel(), "saved_model"),
        (MetaGraphDef(), "meta_graph"),
        (RunMetadata(), "run_metadata"),
    ):
        try:
            text_format.Parse(text, message, allow_unknown_extension=True)
        except (text_format.ParseError, ValueError, RecursionError) as error:
            first = first or str(error).partition("\n")[0][:200]
            continue
        graph = _graph_in(message)
        if len(graph.node):
            return graph, form
    raise NoGraphError(f"the text is not a graph: {first or 'it has no nodes'}")

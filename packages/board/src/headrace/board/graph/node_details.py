"""The details of a node: inputs, readers, attributes as text, shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.board.graph.graph_bundle import GraphAnalysis
from headrace.board.graph.structure.tensor_shapes import output_types, shape_text, type_name
from headrace.formats.dtypes import as_dtype

_VALUE_CHARACTERS = 1024
_CHARACTERS_OF_ITEM = 16  # reserved for each item of a list
_ELEMENTS = 16  # of a tensor in the short form
_READERS = 1000
_INPUTS = 1000
_DTYPES = 64


def node_def_of(graph_def: Any, analysis: GraphAnalysis, op: int) -> Any:
    """Returns the NodeDef of an op; None for an argument or a result of a function."""
    home = int(analysis.columns.home[op])
    if home < 0:
        return graph_def.node[op]
    function = analysis.columns.functions[home]
    definition = graph_def.library.function[home]
    at = op - function.first - len(definition.signature.input_arg)
    return definition.node_def[at] if 0 <= at < len(definition.node_def) else None


def node_details(
    graph_def: Any, analysis: GraphAnalysis, op: int, most: int = _VALUE_CHARACTERS
) -> dict[str, Any]:
    """Returns the reply of /graph/ID/node.

    Args:
      most: maximum number of characters of each attribute's value, approximately.
    """
    columns, tree = analysis.columns, analysis.tree
    node = node_def_of(graph_def, analysis, op)
    edges = np.flatnonzero(columns.edge_dst == op)
    is_data = columns.edge_port[edges] >= 0
    readers = np.flatnonzero(columns.edge_src == op)
    data, control = (
        [
            _end(analysis, int(columns.edge_src[e]), int(columns.edge_port[e]))
            for e in edges[which][:_INPUTS]
        ]
        for which in (is_data, ~is_data)
    )
    outputs = [
        _end(analysis, int(columns.edge_dst[e]), int(columns.edge_port[e]))
        for e in readers[:_READERS]
    ]
    text = int(analysis.shapes.text[op])
    types = output_types(node)[0] if node is not None else []
    attrs = [] if node is None else [
        {"name": key, **attribute_words(node.attr[key], most)} for key in sorted(node.attr)
    ]  # fmt: skip
    return {
        "index": op,
        "name": tree.path(op),
        "op": columns.ops[columns.op[op]],
        "device": columns.devices[columns.device[op]],
        "inputs": data,
        "control_inputs": control,
        "input_count": len(edges),
        "outputs": outputs,
        "output_count": len(readers),
        "attrs": attrs,
        "shapes": analysis.shapes.texts[text] if text >= 0 else "",
        "dtypes": [type_name(number) for number in types[:_DTYPES]],
        "output_bytes": float(analysis.shapes.bytes[op]),
        "function": columns.functions[columns.home[op]].name if columns.home[op] >= 0 else "",
    }


def _end(analysis: GraphAnalysis, op: int, port: int) -> dict[str, Any]:
    shapes = analysis.shapes
    text = int(shapes.text[op])
    return {
        "index": op,
        "name": analysis.tree.path(op),
        "op": analysis.columns.ops[analysis.columns.op[op]],
        "port": port,
        "shapes": shapes.texts[text] if text >= 0 else "",
    }


def attribute_words(value: Any, most: int = _VALUE_CHARACTERS) -> dict[str, Any]:
    """Returns {type, value, cut} of an AttrValue; value has at most `most` characters."""
    kind = value.WhichOneof("value") or "none"
    if kind == "list":
        words, more = _list_words(value.list, most)
    else:
        words, more = _words(kind, getattr(value, kind) if kind != "none" else "", most)
    cut = more or len(words) > most
    return {"type": kind, "value": words[:most], "cut": cut}


def _words(kind: str, value: Any, most: int) -> tuple[str, bool]:
    if kind == "s":
        start = value[: most + 4]
        return start.decode("utf-8", "backslashreplace"), len(value) > len(start)
    if kind == "type":
        return type_name(value) or "invalid", False
    if kind == "shape":
        return shape_text(value), False
    if kind == "tensor":
        return _tensor_words(value, most)
    if kind == "func":
        return value.name, False
    if kind == "b":
        return str(bool(value)).lower(), False
    if kind == "f":
        return repr(float(np.float32(value))) if value != value else f"{value:g}", False
    return str(value), False


def _list_words(items: Any, most: int) -> tuple[str, bool]:
    for kind in ("s", "i", "f", "b", "type", "shape", "tensor", "func"):
        values = getattr(items, kind)
        if len(values):
            words, more, room = [], False, most
            for value in values[: most // _CHARACTERS_OF_ITEM]:
                text, cut = _words(kind, value, room)
                more |= cut
                words.append(text)
                room -= len(text)
                if room <= 0:
                    break
            more |= len(words) < len(values)
            return "[" + ", ".join(words) + (", ..." if more else "") + "]", more
    return "[]", False


def _tensor_words(tensor: Any, most: int) -> tuple[str, bool]:
    head = f"{type_name(tensor.dtype)} {shape_text(tensor.tensor_shape)}".strip()
    short = most <= _VALUE_CHARACTERS
    values, more = _elements(tensor, _ELEMENTS if short else most // _CHARACTERS_OF_ITEM)
    return (f"{head}: {', '.join(values)}{', ...' if more else ''}" if values else head), more


def _elements(tensor: Any, most: int) -> tuple[list[str], bool]:
    if tensor.tensor_content:
        try:
            dtype = np.dtype(as_dtype(tensor.dtype).as_numpy_dtype)
        except (TypeError, ImportError):
            return [], False
        if dtype.hasobject or not dtype.itemsize:
            return [], False
        count = len(tensor.tensor_content) // dtype.itemsize
        data = tensor.tensor_content[: min(count, most) * dtype.itemsize]
        return [str(v) for v in np.frombuffer(data, dtype)], count > most
    for name in ("float_val", "int_val", "double_val", "int64_val", "bool_val", "string_val",
                 "uint32_val", "uint64_val", "half_val"):  # fmt: skip
        values = getattr(tensor, name)
        if len(values):
            longest = 4 * most
            words = [
                v[:longest].decode("utf-8", "backslashreplace") if isinstance(v, bytes) else f"{v}"
                for v in values[:most]
            ]
            long = name == "string_val" and any(len(v) > longest for v in values[:most])
            return words, len(values) > most or long
    return [], False

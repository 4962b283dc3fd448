"""Shapes, types and sizes of the outputs of each op, as far as the graph records them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.board.graph.structure.graph_columns import GraphColumns
from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype
from headrace.formats.op_signature import TYPE_NAMES, Signature

_OUTPUTS_LIMIT = 4096  # of one node; further outputs are ignored


@dataclass
class OutputShapes:
    """What is known about outputs.

    Attributes:
      texts: the different shapes as text, such as "float [32, 8, 8, 64]"; several outputs of an op
        are joined by "; ".
      text: i32 by op, index into texts; -1 unknown.
      bytes: f64 by op, of its first output; -1 unknown.
      edge_bytes: f64 by edge, of the output that it comes from; -1 unknown, 0 for control.
    """

    texts: list[str]
    text: np.ndarray
    bytes: np.ndarray
    edge_bytes: np.ndarray


def output_shapes(graph_def: Any, columns: GraphColumns) -> OutputShapes:
    """Reads the shapes that are recorded in a graph."""
    n = len(columns)
    known: dict[Any, tuple[int, list[float]]] = {}
    texts: dict[str, int] = {}
    text = np.full(n, -1, np.int32)
    first = np.full(n, -1.0)
    later: dict[tuple[int, int], float] = {}
    dtypes: dict[int, list[int]] = {}
    for at, node in nodes_in_order(graph_def, columns):
        attr = node.attr
        if "_output_shapes" in attr:
            source = attr["_output_shapes"]
        else:
            source = _own_shape(attr, node.op)
            if source is None:
                continue
        leaf = int(columns.leaf[at])
        key = (leaf, source.SerializeToString())
        found = known.get(key)
        if found is None:
            types = dtypes.get(leaf)
            if types is None:
                types, same = output_types(node)
                if same:
                    dtypes[leaf] = types
            shapes = [source] if source.DESCRIPTOR.name == "TensorShapeProto" else source.list.shape
            words, sizes = _described(list(shapes[:_OUTPUTS_LIMIT]), types)
            found = (texts.setdefault(words, len(texts)) if words else -1, sizes)
            if leaf in dtypes:
                known[key] = found
        text[at] = found[0]
        if found[1]:
            first[at] = found[1][0]
            for number, size in enumerate(found[1][1:], 1):
                later[at, number] = size
    edge_bytes = first[columns.edge_src] if n else np.zeros(0)
    port = columns.edge_port
    for edge in np.flatnonzero(port > 0).tolist():
        edge_bytes[edge] = later.get((int(columns.edge_src[edge]), int(port[edge])), -1.0)
    edge_bytes[port < 0] = 0.0
    return OutputShapes(list(texts), text, first, edge_bytes)


def nodes_in_order(graph_def: Any, columns: GraphColumns) -> Iterator[tuple[int, Any]]:
    """Yields the NodeDefs with their indices in the columns."""
    yield from enumerate(graph_def.node)
    for function, definition in zip(columns.functions, graph_def.library.function):
        first = function.first + len(definition.signature.input_arg)
        yield from enumerate(definition.node_def, first)


def output_types(node: Any) -> tuple[list[int], bool]:
    """Returns the DataType numbers of a node's outputs (0: unknown).

    Also returns whether all nodes of this op and these types have the same outputs.
    """
    signature = op_catalogue.find(node.op)
    attr = node.attr
    if signature is None:
        key = next((k for k in ("T", "dtype", "DstT", "out_type") if k in attr), None)
        return [attr[key].type if key else 0], True
    types: list[int] = []
    same = True
    for argument in signature.outputs:
        if argument.type_list_attr:
            same = False
            if argument.type_list_attr in attr:
                types += list(attr[argument.type_list_attr].list.type)[:_OUTPUTS_LIMIT]
            continue
        one = argument.dtype
        if argument.type_attr:
            one = (
                attr[argument.type_attr].type
                if argument.type_attr in attr
                else _default_type(signature, argument.type_attr)
            )
        count = 1
        if argument.number_attr:
            same = False
            count = attr[argument.number_attr].i if argument.number_attr in attr else 1
        types += [one % 100] * max(0, min(count, _OUTPUTS_LIMIT))
    return types, same


def _default_type(signature: Signature, name: str) -> int:
    for attribute in signature.attrs:
        if attribute.name == name and isinstance(attribute.default, int):
            return attribute.default
    return 0


def _own_shape(attr: Any, op: str) -> Any:
    """Returns the shape attribute of a placeholder, variable or constant; None without one."""
    if op == "Const":
        return attr["value"].tensor.tensor_shape if "value" in attr else None
    if op in ("Placeholder", "PlaceholderV2", "VariableV2", "Variable", "TemporaryVariable"):
        if "shape" in attr:
            return attr["shape"].shape
    return None


def shape_text(shape: Any) -> str:
    """Returns a shape as text, such as `[32, ?, 64]`; `[...]` for an unknown rank."""
    if shape.unknown_rank:
        return "[...]"
    return "[" + ", ".join(str(d.size) if d.size >= 0 else "?" for d in shape.dim) + "]"


def type_name(number: int) -> str:
    """Returns the name of a DataType, such as `float`; `type 250` for an unknown one."""
    return TYPE_NAMES.get(number % 100, f"type {number}") if number else ""


def shape_bytes(shape: Any, dtype: int) -> float:
    """Returns the bytes of a tensor; -1 if a dimension or the element size is unknown."""
    size = element_bytes(dtype)
    if shape.unknown_rank or size <= 0:
        return -1.0
    total = float(size)
    for dimension in shape.dim:
        if dimension.size < 0:
            return -1.0
        total *= dimension.size
    return min(total, 1e18)


def element_bytes(dtype: int) -> int:
    """Returns the bytes of an element; 0 if elements differ in size."""
    try:
        return as_dtype(dtype % 100).size
    except TypeError:
        return 0


def _described(shapes: list[Any], types: list[int]) -> tuple[str, list[float]]:
    words, sizes = [], []
    for at, shape in enumerate(shapes):
        dtype = types[at] if at < len(types) else 0
        words.append(f"{type_name(dtype)} {shape_text(shape)}".strip())
        sizes.append(shape_bytes(shape, dtype))
    if len(words) > 8:
        words[8:] = [f"and {len(words) - 8} more"]
    return "; ".join(words), sizes

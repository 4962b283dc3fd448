"""Runs a GraphDef node by node on the reference kernels: no runtime, no passes, no memory plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.formats import op_catalogue
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.tensor_codec import make_ndarray, shape_from_proto
from headrace.kernels.reference import library, oracle


def evaluate(
    graph_def: bytes, feeds: Mapping[str, np.ndarray], fetches: Sequence[str]
) -> list[np.ndarray]:
    """The values of some tensors.

    Args:
      graph_def: a GraphDef message without loops.
      feeds: values by tensor name ("x:0").
      fetches: tensor names.
    """
    nodes = {node.name: node for node in GraphDef.FromString(graph_def).node}
    values: dict[str, np.ndarray] = dict(feeds)
    waiting = [name for name in reversed(fetches) if name not in values]
    while waiting:
        node = nodes[waiting[-1].split(":")[0]]
        inputs = [_tensor(name) for name in node.input if not name.startswith("^")]
        missing = [name for name in inputs if name not in values]
        if missing:
            waiting += missing
            continue
        attrs = _attributes(node)
        outputs = library().create(node.op, attrs)(*[values[name] for name in inputs])
        outputs = outputs if isinstance(outputs, list) else [outputs]
        values.update((f"{node.name}:{i}", value) for i, value in enumerate(outputs))
        while waiting and waiting[-1] in values:
            waiting.pop()
    return [values[name] for name in fetches]


def _tensor(name: str) -> str:
    return name if ":" in name else name + ":0"


def _attributes(node: Any) -> dict[str, Any]:
    attrs = {}
    for attr in op_catalogue.signature(node.op).attrs:
        if attr.name in node.attr:
            attrs[attr.name] = _value(attr.kind, node.attr[attr.name])
        elif attr.kind != "func":
            attrs[attr.name] = oracle.as_given(attr.kind, attr.default)
    return attrs


def _value(kind: str, value: Any) -> Any:
    field = {"type": "type", "int": "i", "float": "f", "bool": "b", "string": "s"}
    if kind.startswith("list("):
        inner = kind[5:-1]
        if inner == "shape":
            return [shape_from_proto(one) for one in value.list.shape]
        return list(getattr(value.list, field[inner]))
    if kind == "shape":
        return shape_from_proto(value.shape)
    if kind == "tensor":
        return make_ndarray(value.tensor)
    return getattr(value, field[kind])

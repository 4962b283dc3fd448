"""A case as a GraphDef: a placeholder for each input, and the one node, called "it"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from cases import Case

from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.tensor_codec import make_shape_proto, make_tensor_proto
from headrace.kernels.reference import oracle

_FIELD = {"type": "type", "int": "i", "float": "f", "bool": "b", "string": "s"}


@dataclass(frozen=True)
class OneNode:
    """graph_def, the feeds by tensor name, and the names of the outputs."""

    graph_def: bytes
    feeds: dict[str, np.ndarray]
    fetches: list[str]


def one_node(case: Case, dtype: str, values: list[Any] | None = None) -> OneNode:
    """The graph of a case.

    Args:
      values: instead of the case's own inputs.
    """
    values = case.values(dtype) if values is None else values
    graph = GraphDef()
    graph.versions.producer = 6  # TensorFlow took some old ops away after it
    feeds: dict[str, np.ndarray] = {}
    inputs = []
    for value in [one for v in values for one in (v if isinstance(v, list) else [v])]:
        name = f"x{len(feeds)}"
        feed = graph.node.add(name=name, op="Placeholder")
        feed.attr["dtype"].type = int(as_dtype(value.dtype))  # type: ignore[assignment]
        feed.attr["shape"].shape.CopyFrom(make_shape_proto(value.shape))
        inputs.append(name)
        feeds[f"{name}:0"] = value
    node = graph.node.add(name="it", op=case.op)
    node.input.extend(inputs)
    signature = op_catalogue.signature(case.op)
    attrs = oracle.complete_attrs(case.op, values, case.attributes(dtype))
    kinds = {attr.name: attr.kind for attr in signature.attrs}
    for name, value in attrs.items():
        _set_attr(node.attr[name], kinds[name], value)
    count = sum(
        attrs[arg.number_attr]
        if arg.number_attr
        else len(attrs[arg.type_list_attr])
        if arg.type_list_attr
        else 1
        for arg in signature.outputs
    )
    return OneNode(graph.SerializeToString(), feeds, [f"it:{i}" for i in range(count)])


def _set_attr(attr: Any, kind: str, value: Any) -> None:
    if kind.startswith("list("):
        attr.list.SetInParent()
        for one in value:
            if kind == "list(shape)":
                attr.list.shape.append(make_shape_proto(one))
            else:
                getattr(attr.list, _FIELD[kind[5:-1]]).append(one)
    elif kind == "shape":
        attr.shape.CopyFrom(make_shape_proto(value))
    elif kind == "tensor":
        attr.tensor.CopyFrom(make_tensor_proto(value))
    else:
        setattr(attr, _FIELD[kind], value)

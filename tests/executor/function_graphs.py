"""GraphDefs with functions, as files of other programs have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.formats.proto.graph_pb2 import GraphDef, NodeDef
from headrace.formats.proto.op_pb2 import AttrValue, NameAttrList
from headrace.formats.services import SESSIONS, find_service
from headrace.formats.tensor_codec import make_tensor_proto

FLOAT, INT32, BOOL, RESOURCE = 1, 3, 10, 20

Node = tuple[Any, ...]  # name, op, inputs, attributes


class Placeholder(str):
    """Attribute of a node in a function that takes the value of an attribute of the call."""


def func(name: str, **attrs: Any) -> NameAttrList:
    """Returns the value of an attribute that names a function."""
    value = NameAttrList(name=name)
    for key, one in attrs.items():
        set_attr(value.attr[key], one)
    return value


def set_attr(attr: AttrValue, value: Any) -> None:
    if isinstance(value, Placeholder):
        attr.placeholder = value
    elif isinstance(value, NameAttrList):
        attr.func.CopyFrom(value)
    elif isinstance(value, bool):
        attr.b = value
    elif isinstance(value, int):
        attr.i = value
    elif isinstance(value, str):
        attr.s = value.encode()
    elif isinstance(value, (np.ndarray, np.generic)):
        attr.tensor.CopyFrom(make_tensor_proto(value))
    elif isinstance(value, AttrValue):
        attr.CopyFrom(value)
    elif value and isinstance(value[0], NameAttrList):
        attr.list.func.extend(value)
    else:
        attr.list.type.extend(value)


def dtype(number: int) -> Any:
    """A DataType as the value of an attribute."""
    return AttrValue(type=number)


def add_node(node: NodeDef, name: str, op: str, inputs: Sequence[str], attrs: Any) -> None:
    node.name = name
    node.op = op
    node.input.extend(inputs)
    for key, value in attrs.items():
        set_attr(node.attr[key], value)


T = {"T": dtype(FLOAT)}


class FunctionGraph:
    """A GraphDef under construction, and a session that runs it."""

    def __init__(self) -> None:
        self.graph = GraphDef()
        self.session = find_service(SESSIONS, "local")("", b"")

    def function(
        self,
        name: str,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any],
        nodes: Sequence[Node],
        ret: Mapping[str, str],
        control_ret: Sequence[str] = (),
    ) -> FunctionGraph:
        """Adds a function; a dtype is a number or the name of a type attribute."""
        function = self.graph.library.function.add()
        function.signature.name = name
        for args, target in (
            (inputs, function.signature.input_arg),
            (outputs, function.signature.output_arg),
        ):
            for arg, kind in args.items():
                if isinstance(kind, int):
                    target.add(name=arg, type=kind)
                elif kind.startswith("*"):
                    target.add(name=arg, type_list_attr=kind[1:])
                else:
                    target.add(name=arg, type_attr=kind)
        for kind in dict.fromkeys(k for k in [*inputs.values(), *outputs.values()]):
            if isinstance(kind, str):
                function.signature.attr.add(
                    name=kind.lstrip("*"), type="list(type)" if kind[0] == "*" else "type"
                )
        for node in nodes:
            add_node(function.node_def.add(), node[0], node[1], node[2], (*node, {})[3])
        function.ret.update(ret)
        function.control_ret.update({name: name for name in control_ret})
        function.signature.control_output.extend(control_ret)
        return self

    def add(self, name: str, op: str, *inputs: str, **attrs: Any) -> FunctionGraph:
        add_node(self.graph.node.add(), name, op, inputs, attrs)
        return self

    def const(self, name: str, value: Any) -> FunctionGraph:
        array = np.asarray(value, np.float32 if isinstance(value, float) else None)
        if array.dtype == np.int64:
            array = array.astype(np.int32)
        return self.add(name, "Const", dtype=dtype(int(as_dtype(array.dtype))), value=array)

    def call(
        self, name: str, function: Any, inputs: Sequence[str], tin: Any, tout: Any
    ) -> FunctionGraph:
        """Adds a StatefulPartitionedCall."""
        function = func(function) if isinstance(function, str) else function
        return self.add(name, "StatefulPartitionedCall", *inputs, Tin=tin, Tout=tout, f=function)

    def run(
        self, *fetches: str, targets: Sequence[str] = (), feeds: Mapping[str, Any] | None = None
    ) -> list[Any]:
        feeds = feeds or {}
        if self.graph.node or self.graph.library.function:
            self.session.extend(self.graph.SerializeToString())
            self.graph = GraphDef()
        step = self.session.prepare(list(feeds), list(fetches), list(targets))
        return step(list(feeds.values()))

"""GraphDefs for tests, a node per line: name = Op(input, other:1, ^control; attr=value) @device."""

from __future__ import annotations

import re

from headrace.formats import op_catalogue
from headrace.formats.op_signature import TYPE_NUMBERS
from headrace.formats.proto.graph_pb2 import GraphDef

_LINE = re.compile(r"^(\S+)\s*=\s*(\w+)\(([^;)]*)(?:;([^)]*))?\)\s*(?:@(\S+))?$")


def graph(text: str) -> GraphDef:
    """Parses the lines; the default dtype is float, default values and shapes are scalars."""
    result = GraphDef()
    for line in text.strip().splitlines():
        line = line.strip()
        if not line:
            continue
        match = _LINE.match(line)
        assert match is not None, line
        name, op, inputs, attrs, device = match.groups()
        node = result.node.add(name=name, op=op, device=device or "")
        node.input.extend(part.strip() for part in inputs.split(",") if part.strip())
        attributes = dict(
            part.strip().split("=") for part in (attrs or "").split(",") if part.strip()
        )
        signature = op_catalogue.find(op)
        kinds = {attr.name: attr.kind for attr in signature.attrs} if signature else {}
        if signature:
            for attr in signature.attrs:
                if attr.kind == "type" and attr.default is op_catalogue.NO_DEFAULT:
                    attributes.setdefault(attr.name, "float")
        for key, value in attributes.items():
            message = node.attr[key]
            kind = "list(string)" if key == "_class" else kinds.get(key, "string")
            if kind == "type":
                message.type = TYPE_NUMBERS[value]
            elif kind == "int":
                message.i = int(value)
            elif kind == "bool":
                message.b = value == "True"
            elif kind == "string":
                message.s = value.encode()
            elif kind == "list(string)":
                message.list.s.append(value.encode())
            elif kind == "list(type)":
                message.list.type.extend(TYPE_NUMBERS[word] for word in value.split("|"))
        if op == "Const" and "value" not in attributes:
            tensor = node.attr["value"].tensor
            tensor.dtype = node.attr["dtype"].type
            tensor.tensor_shape.SetInParent()
        if kinds.get("shape") == "shape":
            node.attr["shape"].shape.SetInParent()
    return result


def serialized(text: str) -> bytes:
    """The bytes of `graph(text)`."""
    return graph(text).SerializeToString()

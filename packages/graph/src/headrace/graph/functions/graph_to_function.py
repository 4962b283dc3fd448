"""Converts a graph, or a part of it, to a FunctionDef message."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.formats import op_catalogue
from headrace.graph.framework.attributes import encode_shape
from headrace.graph.framework.graph_codec import node_wire
from headrace.graph.framework.operation import Operation, Tensor

_DIGITS = 11  # of the hash in a function's name


def graph_to_function_def(
    name: str,
    operations: Iterable[Operation],
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    out_names: Sequence[str] | None = None,
    control_outputs: Sequence[Operation] = (),
    replaced: Mapping[Tensor, Tensor] | None = None,
) -> Any:
    """Returns operations of a graph as a FunctionDef message.

    Args:
      name: name of the function.
      operations: the body; those that produce the inputs are left out.
      inputs: tensors that become arguments.
      outputs: tensors that become results.
      out_names: names of the results; by default those of the operations.
      control_outputs: operations of the body that every call runs.
      replaced: tensors that operations read, and what they read instead in the function.
    Raises: ValueError for out_names of another number than outputs or with duplicates, or an
      operation that reads a tensor from outside of the body.
    """
    return _Writer(name, inputs, replaced or {}).write(
        operations, outputs, out_names, control_outputs
    )


class _Writer:
    """Writes one function.

    The names of arguments and nodes are unique among each other, those of results too. A node's
    output is "node:output:index", where index counts the tensors of that output.
    """

    def __init__(
        self, name: str, inputs: Sequence[Tensor], replaced: Mapping[Tensor, Tensor]
    ) -> None:
        from headrace.formats.proto.graph_pb2 import FunctionDef

        self._message = FunctionDef()
        self._message.signature.name = name
        self._inputs = inputs
        self._replaced = replaced
        self._used: set[str] = set()
        self._texts: dict[Tensor, str] = {}
        self._nodes: dict[Operation, str] = {}
        self._arguments = {t.op for t in inputs if len(t.op.outputs) == 1}
        self._new_names: dict[str, str] | None = None

    def write(
        self,
        operations: Iterable[Operation],
        outputs: Sequence[Tensor],
        out_names: Sequence[str] | None,
        control_outputs: Sequence[Operation],
    ) -> Any:
        message = self._message
        for number, tensor in enumerate(self._inputs):
            self._add_argument(number, tensor)
        body = [node for node in operations if node not in self._arguments]
        for node in body:
            self._name(node)
        for node in body:
            self._add_node(node)
        self._add_results(outputs, out_names)
        for node in control_outputs:
            text = self._nodes[node]
            message.signature.control_output.append(text)
            message.control_ret[text] = text
        return message

    def _add_argument(self, number: int, tensor: Tensor) -> None:
        text = _unique(_normalized(tensor), self._used)
        self._texts[tensor] = text
        message = self._message
        argument = message.signature.input_arg.add(name=text)
        _set_type(argument, tensor)
        attrs = message.arg_attr[number].attr
        if tensor._shape is not None:
            shape = attrs["_output_shapes"].list.shape.add()
            shape.MergeFromString(encode_shape(tensor._shape))
        if tensor.op.type == "Placeholder":
            for key, value in tensor.op.node_def.attr.items():
                if key.startswith("_") and key not in attrs and key != "_class":
                    attrs[key].CopyFrom(value)
            self._nodes[tensor.op] = text
        data = tensor.op.graph._handle_data.get(tensor)
        if data is not None:
            held = argument.handle_data.add(dtype=data[0])
            held.shape.MergeFromString(encode_shape(data[1]))

    def _name(self, node: Operation) -> None:
        text = self._nodes[node] = _unique(node.name, self._used)
        signature = node._attrs.signature
        outputs = list(node.outputs)
        at = 0
        for arg in () if signature is None else signature.outputs:
            count = 1
            if arg.number_attr:
                count = node._attrs.values[arg.number_attr]
            elif arg.type_list_attr:
                count = len(node._attrs.values[arg.type_list_attr])
            for index in range(count):
                self._texts.setdefault(outputs[at], f"{text}:{arg.name}:{index}")
                at += 1

    def _add_node(self, node: Operation) -> None:
        message = self._message.node_def.add()
        message.MergeFromString(node_wire(node))
        message.name = self._nodes[node]
        del message.input[:]
        for tensor in node.inputs:
            message.input.append(self._text(tensor, node))
        for control in node.control_inputs:
            if control in self._nodes:
                message.input.append("^" + self._nodes[control])
        self._set_colocation(message)
        signature = node._attrs.signature
        if signature is not None and signature.stateful:
            self._message.signature.is_stateful = True

    def _text(self, tensor: Tensor, reader: Operation) -> str:
        text = self._texts.get(self._replaced.get(tensor, tensor))
        if text is None:
            raise ValueError(
                f"function '{self._message.signature.name}': {reader.type} '{reader.name}' reads "
                f"{tensor!r}, which is not in the function"
            )
        return text

    def _set_colocation(self, message: Any) -> None:
        """Keeps the colocation with nodes of the body, by their new names."""
        if "_class" not in message.attr:
            return
        if self._new_names is None:
            self._new_names = {
                node.name: text for node, text in self._nodes.items() if node not in self._arguments
            }
        kept = []
        for item in message.attr["_class"].list.s:
            text = item.decode(errors="replace")
            if text.startswith("loc:@"):
                found = self._new_names.get(text[5:])
                if found is None:
                    continue
                text = f"loc:@{found}"
            kept.append(text.encode())
        del message.attr["_class"]
        if kept:
            message.attr["_class"].list.s.extend(kept)

    def _add_results(self, outputs: Sequence[Tensor], out_names: Sequence[str] | None) -> None:
        if out_names and len(out_names) != len(outputs):
            raise ValueError(
                "out_names must be either empty or equal in size to outputs. "
                f"len(out_names) = {len(out_names)} len(outputs) = {len(outputs)}"
            )
        if out_names and len(set(out_names)) != len(out_names):
            raise ValueError(f"Must not have duplicates in out_names. Received: {list(out_names)}")
        used: set[str] = set()
        name = self._message.signature.name
        for number, tensor in enumerate(outputs):
            if tensor not in self._texts:
                raise ValueError(f"function '{name}': its result {tensor!r} is not in the function")
            text = out_names[number] if out_names else _unique(_normalized(tensor), used)
            _set_type(self._message.signature.output_arg.add(name=text), tensor)
            self._message.ret[text] = self._texts[tensor]


def _set_type(argument: Any, tensor: Tensor) -> None:
    argument.type = tensor.dtype.base_dtype.as_datatype_enum
    argument.is_ref = tensor.dtype.is_ref_dtype


def _normalized(tensor: Tensor) -> str:
    """Returns the name of an argument or a result: lower case, beginning with a letter."""
    text = re.sub(r"[^a-z0-9]", "_", tensor.op.name.lower())
    return re.sub(r"^[^a-z]*", "", text).rstrip("_") or "unknown"


def _unique(name: str, used: set[str]) -> str:
    text = name
    number = 0
    while text in used:
        text = f"{name}_{number}"
        number += 1
    used.add(text)
    return text


def name_with_hash(base: str, definition: Any, called: Iterable[str] = ()) -> str:
    """Returns a name that equal definitions share: the base and a hash of the function.

    Args:
      base: begin of the name.
      definition: the FunctionDef; its name and description do not count.
      called: names of the functions that it calls.
    """
    unnamed = type(definition)()
    unnamed.CopyFrom(definition)
    unnamed.signature.name = ""
    unnamed.signature.description = ""
    digest = hashlib.sha256(unnamed.SerializeToString(deterministic=True))
    for name in sorted(called):
        digest.update(name.encode())
    return f"{base}_{digest.hexdigest()[:_DIGITS]}"


def is_stateful(node: Operation) -> bool:
    """Returns whether a node's op or function has state or side effects."""
    signature = node._attrs.signature
    if signature is None:
        signature = op_catalogue.find(node.type)
    return signature is None or signature.stateful

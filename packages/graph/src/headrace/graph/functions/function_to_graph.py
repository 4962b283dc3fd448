"""Converts a FunctionDef message to the graph of a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import NotFoundError
from headrace.formats.op_signature import Signature
from headrace.graph.framework.function_library import (
    InvalidFunctionError,
    called_names,
    function_lock,
)
from headrace.graph.framework.graph import Graph, get_default_graph
from headrace.graph.framework.graph_codec import GRAPH_DEF_VERSION
from headrace.graph.framework.node_messages import callable_signature
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scope import ROOT
from headrace.graph.framework.tensor_shape import Shape, TensorShape
from headrace.graph.functions.func_graph import FuncGraph
from headrace.graph.functions.function_body import FunctionBody
from headrace.graph.serialization.graph_import import import_graph_def


def body_of(
    function: Any,
    graph: Graph | None = None,
    input_shapes: Sequence[Shape] | None = None,
    attrs: Any = None,
) -> FunctionBody:
    """Returns the graph of a function.

    Args:
      function: a LibraryFunction.
      graph: a graph whose library has the functions that it calls; the default graph if None.
      input_shapes: shapes of the arguments; None takes those of the definition.
      attrs: AttrValue messages for the attributes of the function, by name.
    Returns: the body from which this process made the function, or one made from its definition.
    Raises: InvalidFunctionError for a definition that is malformed or misses an attribute.
    """
    as_defined = input_shapes is None and not attrs
    with function_lock.current:
        if as_defined and function.body is not None:
            return function.body
        with (graph or get_default_graph()).as_default():
            body = function_def_to_graph(function.definition, input_shapes, attrs)
        body.graph.release_outer(called_names(function.definition.node_def))
        if as_defined:
            function.body = body
    return body


def function_def_to_graph(
    definition: Any, input_shapes: Sequence[Shape] | None = None, attrs: Any = None
) -> FunctionBody:
    """Returns the graph of a FunctionDef message; the default graph has the functions it calls.

    Args, Raises: as body_of.
    """
    return _Conversion(definition, attrs or {}).body(input_shapes)


class _Conversion:
    """Converts one FunctionDef: placeholders for its arguments, and the nodes of its body."""

    def __init__(self, definition: Any, attrs: Any) -> None:
        self._definition = definition
        self._name = definition.signature.name
        self._attrs = attrs
        self._graph = FuncGraph(self._name)
        self._graph._local.scope = ROOT  # the definition has the devices of its nodes
        self._arguments: dict[str, Tensor] = {}
        self._flat: dict[str, str] = {}  # "node:output:index" -> "node:index"

    def body(self, input_shapes: Sequence[Shape] | None) -> FunctionBody:
        """Builds the graph."""
        signature, graph = self._definition.signature, self._graph
        for number, argument in enumerate(signature.input_arg):
            self._add_argument(number, argument, input_shapes)
        message = self._graph_def()
        outputs = [self._flat_name(self._result(a.name)) for a in signature.output_arg]
        controls = [
            self._definition.control_ret.get(key, key)
            for key in signature.control_output or sorted(self._definition.control_ret)
        ]
        wanted = [text for text in outputs if text not in self._arguments]
        with graph.as_default():
            try:
                found = import_graph_def(
                    message, self._input_map(message), wanted + controls, name=""
                )
            except ValueError as error:
                raise InvalidFunctionError(
                    None, None, f"Function '{self._name}': {error}"
                ) from error
        assert found is not None
        made = {**self._arguments, **dict(zip(wanted, found, strict=False))}
        graph.outputs = [made[text] for text in outputs]
        return FunctionBody(
            graph, graph.inputs, graph.outputs, graph.get_operations(), found[len(wanted) :]
        )

    def _result(self, name: str) -> str:
        text = self._definition.ret.get(name)
        if text is None:
            raise InvalidFunctionError(
                None, None, f"Function '{self._name}': return {name!r} missing in ret"
            )
        return text

    def _add_argument(
        self, number: int, argument: Any, input_shapes: Sequence[Shape] | None
    ) -> None:
        if argument.number_attr or argument.type_list_attr:
            raise InvalidFunctionError(
                None,
                None,
                f"Function '{self._name}': argument '{argument.name}' is a list, which a function "
                "cannot have",
            )
        dtype = as_dtype(
            self._attr(argument.type_attr).type if argument.type_attr else argument.type
        )
        if argument.is_ref:
            dtype = as_dtype(dtype.as_datatype_enum + 100)
        shape = self._declared_shape(number) if input_shapes is None else input_shapes[number]
        tensor = self._graph.add_input(dtype, shape, argument.name)
        for data in argument.handle_data[:1]:
            held = TensorShape(data.shape)._dims
            self._graph._handle_data[tensor] = (data.dtype, held)
        self._arguments[argument.name] = tensor
        self._flat[argument.name] = argument.name

    def _declared_shape(self, number: int) -> Shape:
        if number not in self._definition.arg_attr:
            return None
        attrs = self._definition.arg_attr[number].attr
        if "_output_shapes" not in attrs:
            return None
        value = attrs["_output_shapes"]
        declared = value.list.shape[0] if value.list.shape else value.shape
        return TensorShape(declared)._dims

    def _graph_def(self) -> Any:
        """Returns the GraphDef message of the body."""
        from headrace.formats.proto.graph_pb2 import GraphDef

        message = GraphDef()
        message.versions.producer = GRAPH_DEF_VERSION
        message.node.extend(self._definition.node_def)
        for node in message.node:
            self._substitute(node)
            self._register(node)
        for node in message.node:
            for i, text in enumerate(node.input):
                if not text.startswith("^"):
                    node.input[i] = self._flat_name(text)
        return message

    def _input_map(self, message: Any) -> dict[str, Any]:
        """Returns what replaces the arguments that the body reads."""
        found: dict[str, Any] = {}
        for node in message.node:
            for text in node.input:
                tensor = self._arguments.get(text.removeprefix("^"))
                if tensor is not None:
                    found[text] = tensor.op if text.startswith("^") else tensor
        return found

    def _flat_name(self, text: str) -> str:
        flat = self._flat.get(text)
        if flat is None and text.count(":") == 1:  # "node:output" is short for index 0
            flat = self._flat.get(text + ":0")
        if flat is None:
            raise InvalidFunctionError(
                None, None, f"Function '{self._name}': input {text!r} is not in the body"
            )
        return flat

    def _attr(self, name: str) -> Any:
        if name in self._attrs:
            return self._attrs[name]
        for declared in self._definition.signature.attr:
            if declared.name == name and declared.HasField("default_value"):
                return declared.default_value
        if name in self._definition.attr:
            return self._definition.attr[name]
        raise InvalidFunctionError(
            None, None, f"Function '{self._name}': attribute {name!r} is not found in the call"
        )

    def _substitute(self, node: Any) -> None:
        """Replaces the attributes that refer to attributes of the function."""
        for value in node.attr.values():
            if value.WhichOneof("value") == "placeholder":
                value.CopyFrom(self._attr(value.placeholder))

    def _register(self, node: Any) -> None:
        """Records the flat names of a node's outputs."""
        at = 0
        for arg in self._signature(node).outputs:
            count = 1
            if arg.number_attr:
                count = node.attr[arg.number_attr].i
            elif arg.type_list_attr:
                count = len(node.attr[arg.type_list_attr].list.type)
            for index in range(count):
                self._flat[f"{node.name}:{arg.name}:{index}"] = f"{node.name}:{at}"
                at += 1

    def _signature(self, node: Any) -> Signature:
        found = op_catalogue.find(node.op)
        if found is not None:
            return found
        try:
            return callable_signature(self._graph, node.op)
        except NotFoundError as error:
            raise InvalidFunctionError(
                node, None, f"Function '{self._name}', node '{node.name}': {error.message}"
            ) from None

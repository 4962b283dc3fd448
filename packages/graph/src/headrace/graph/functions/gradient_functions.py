"""The gradient of a function as one function: what a SymbolicGradient node computes."""

from __future__ import annotations

from typing import Any

from headrace.graph.framework.function_library import (
    InvalidFunctionError,
    LibraryFunction,
    function_lock,
    library_functions,
    library_wire,
)
from headrace.graph.framework.graph import Graph
from headrace.graph.functions.differentiation import body_gradient, dense, zeros_of
from headrace.graph.functions.function_body import FunctionBody, make_function
from headrace.graph.functions.function_to_graph import body_of


def whole_gradient(function: LibraryFunction, graph: Graph, attrs: Any = None) -> LibraryFunction:
    """Returns the gradient of a function.

    Args:
      function: the function.
      graph: a graph whose library has the functions that it calls.
      attrs: AttrValue messages for the attributes of the function, by name.
    Returns: a function of the inputs of `function`, then a gradient per output of it. Its outputs
      are a gradient per input: zeros where there is none.
    Raises: LookupError for an operation without a gradient.
    """
    key = ("whole", *sorted([(k, v.SerializeToString()) for k, v in (attrs or {}).items()]))
    with function_lock.current:
        found = function.gradients.get(key)
        if found is None:
            body = body_of(function, graph, attrs=attrs)
            found = function.gradients[key] = _whole(body, function.name)
    return found


def _whole(body: FunctionBody, name: str) -> LibraryFunction:
    gradient = body_gradient(body, name)
    with body.graph.as_default():
        outputs = [
            zeros_of(x) if grad is None else dense(grad)
            for x, grad in zip(body.inputs, gradient.grads, strict=True)
        ]
        inputs = [*body.inputs, *gradient.dys]
        operations = gradient.operations(outputs, ())
        return make_function(
            FunctionBody(body.graph, inputs, outputs, operations, replaced=gradient.replaced),
            f"__gradient_{name}",
        )


def function_gradient(library: bytes, function: bytes) -> bytes:
    """Returns the gradient function of a function, for the runtime.

    Args:
      library: serialized FunctionDefLibrary with the function and those that it calls.
      function: serialized NameAttrList.
    Returns: serialized FunctionDefLibrary: the gradient function first, then the functions that it
      needs and that are not in `library`. Its arguments are those of the function, then a gradient
      per output; it returns a gradient per input, zeros where there is none.
    Raises: InvalidArgumentError for malformed messages, an unknown function or one that calls
      itself; LookupError for an operation without a gradient.
    """
    from google.protobuf.message import DecodeError

    from headrace.formats.proto.graph_pb2 import FunctionDefLibrary
    from headrace.formats.proto.op_pb2 import NameAttrList

    try:
        message = FunctionDefLibrary.FromString(library)
        requested = NameAttrList.FromString(function)
    except DecodeError as error:
        raise InvalidFunctionError(None, None, f"not a FunctionDefLibrary: {error}") from error
    graph = Graph()
    for entry in library_functions(message):
        graph._add_function(entry)
    found = graph._get_function(requested.name)
    if found is None:
        raise InvalidFunctionError(
            None, None, f"function {requested.name!r} is not in the library of the graph"
        )
    if found.grad_func_name:
        gradient = graph._get_function(found.grad_func_name)
    else:
        attrs = {k: v for k, v in requested.attr.items() if not k.startswith("_")}
        try:
            gradient = whole_gradient(found, graph, attrs)
        except RecursionError:
            raise InvalidFunctionError(
                None, None, f"function {requested.name!r} calls itself, or calls nest too deeply: "
                "it has no gradient",
            ) from None  # fmt: skip
    return library_wire([gradient, *_added(gradient, graph)])


def _added(gradient: LibraryFunction, graph: Graph) -> list[LibraryFunction]:
    """Returns the functions that a function calls, directly or not, and that a graph lacks."""
    known = set(graph._functions)
    gradient.add_to_graph(graph)
    return [f for name, f in graph._functions.items() if name not in known and f is not gradient]

"""Gradients of calls: of nodes whose op is a function, and of PartitionedCall."""

from __future__ import annotations

import dataclasses
from typing import Any

from headrace.graph.builder.indexed_slices import IndexedSlices
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.attributes import AttrSet, RawAttr
from headrace.graph.framework.function_library import LibraryFunction, function_lock
from headrace.graph.framework.op_registry import FUNCTION_CALL, gradient, gradient_function
from headrace.graph.framework.op_template import template_of
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.functions.call_shapes import called_function
from headrace.graph.functions.differentiation import (
    BodyGradient,
    body_gradient,
    cuts_of,
    dense,
    forward_body,
    gradient_dtype,
    parts_of,
)
from headrace.graph.functions.function_body import FunctionBody, make_function
from headrace.graph.functions.function_to_graph import body_of
from headrace.graph.functions.gradient_functions import whole_gradient

_UNFINISHED: Any = object()  # in place of a gradient that is being built


@dataclasses.dataclass
class CallGradient:
    """How the gradient of a call is computed.

    Attributes:
      forward: the function to call instead, which also returns what the gradient needs; None if the
        call returns all of it.
      backward: the function that computes the gradients.
      arguments: what its arguments are: ("input", i), ("grad", i) or ("output", i) of the call.
      grads: per input of the call the gradient in the body, for its structure, or None.
    """

    forward: LibraryFunction | None
    backward: LibraryFunction
    arguments: list[tuple[str, int]]
    grads: list[Any]


def call_gradient(body: FunctionBody, name: str) -> CallGradient:
    """Returns the gradient of the calls of a function.

    Args:
      body: the function's body, to whose graph the gradient is added.
      name: name of the function.
    Raises: LookupError for an operation of the body without a gradient.
    """
    with function_lock.current:
        found = body_gradient(body, name)
        cuts = cuts_of(found)
        outputs = list(dict.fromkeys([*body.outputs, *cuts]))
        forward = None
        with body.graph.as_default():
            if not set(cuts) <= set(body.outputs):
                forward = make_function(forward_body(body, cuts), f"__forward_{name}")
                outputs = forward.body.outputs
            wanted = found.wanted()
            operations = found.operations(wanted, cuts)
            inputs, arguments = _arguments(found, cuts, outputs, operations, wanted)
            backward = make_function(
                FunctionBody(body.graph, inputs, wanted, operations, replaced=found.replaced),
                f"__backward_{name}",
            )
    return CallGradient(forward, backward, arguments, found.grads)


def _arguments(
    found: BodyGradient,
    cuts: list[Tensor],
    outputs: list[Tensor],
    operations: list[Operation],
    wanted: list[Tensor],
) -> tuple[list[Tensor], list[tuple[str, int]]]:
    """Returns the arguments that the backward function reads, and where they come from."""
    read = {t for node in operations for t in node.inputs} | set(wanted)
    intermediates = set(cuts)
    sources: dict[Tensor, tuple[str, int]] = {}
    for number, tensor in enumerate(found.body.inputs):
        sources.setdefault(tensor, ("input", number))
    for number, tensor in enumerate(found.dys):
        sources.setdefault(tensor, ("grad", number))
    for number, tensor in enumerate(outputs):
        if tensor in intermediates:
            sources.setdefault(tensor, ("output", number))
    kept = [(t, source) for t, source in sources.items() if t in read]
    return [t for t, _ in kept], [source for _, source in kept]


def apply_call_gradient(node: Operation, found: CallGradient, grads: tuple[Any, ...]) -> list[Any]:
    """Adds the call of the backward function; returns a gradient per input of the node."""
    if found.forward is not None:
        replace_function(node, found.forward)
    outputs = node.outputs
    arguments = []
    for kind, number in found.arguments:
        if kind == "grad":
            grad = grads[number]
            arguments.append(op("ZerosLike", outputs[number]) if grad is None else dense(grad))
        else:
            arguments.append((node.inputs if kind == "input" else outputs)[number])
    results = iter(call(found.backward, arguments))
    return [_packed(grad, results) for grad in found.grads]


def _packed(grad: Any, results: Any) -> Any:
    """Returns results in the structure of a gradient."""
    if grad is None:
        return None
    parts = [next(results) for _ in parts_of(grad)]
    return IndexedSlices(*parts) if isinstance(grad, IndexedSlices) else parts[0]


def call(function: LibraryFunction, arguments: list[Any]) -> list[Tensor]:
    """Adds a PartitionedCall of a function; returns its outputs."""
    return list(call_node(function, arguments).outputs)


def call_node(
    function: LibraryFunction, arguments: list[Any], name: str | None = None
) -> Operation:
    """Adds a PartitionedCall of a function; its outputs have the shapes of those of the body."""
    stateful = function.definition.signature.is_stateful
    outputs = op(
        "StatefulPartitionedCall" if stateful else "PartitionedCall",
        arguments,
        Tout=[a.type for a in function.definition.signature.output_arg],
        f=function,
        name=name,
    )
    node: Operation = outputs if isinstance(outputs, Operation) else outputs[0].op
    if function.body is not None:
        for tensor, inner in zip(node.outputs, function.body.outputs, strict=True):
            tensor._shape = inner._shape
    return node


def replace_function(node: Operation, function: LibraryFunction) -> None:
    """Makes a node call another function, which returns more: its outputs are appended.

    Sessions that ran a part of the graph that has the node reject it afterwards.
    """
    graph = node.graph
    function.add_to_graph(graph)
    body = function.body
    types = [t.dtype.base_dtype.as_datatype_enum for t in body.outputs]
    if graph._is_function(node.type):
        node.type = function.name
        signature = function.signature
        values = {k: v for k, v in node._attrs.values.items() if k.startswith("_")}
    else:
        stateful = function.definition.signature.is_stateful
        node.type = "StatefulPartitionedCall" if stateful else "PartitionedCall"
        signature = template_of(node.type).signature
        values = {k: v for k, v in node._attrs.values.items() if k.startswith("_")}
        values |= {a.name: node._attrs.values.get(a.name, a.default) for a in signature.attrs}
        values["f"] = function_attr(function.name)
        values["Tout"] = tuple(types)
        values["Tin"] = tuple([t.dtype.base_dtype.as_datatype_enum for t in node.inputs])
    values.pop("_output_shapes", None)
    set_outputs(node, AttrSet(node.type, signature, values, tuple([t.dtype for t in body.outputs])))
    for tensor, inner in zip(node.outputs, body.outputs, strict=True):
        if tensor._shape is None:
            tensor._shape = inner._shape


def set_outputs(node: Operation, attrs: AttrSet) -> None:
    """Sets the attributes of a node, and appends the outputs that they add."""
    old = node.outputs
    new = [Tensor(node, i, dtype) for i, dtype in enumerate(attrs.out_types) if i >= len(old)]
    node._attrs = attrs
    outputs = (*old, *new)
    node._outputs = outputs[0] if len(outputs) == 1 else outputs
    if node._context is not None:
        node._context._add_known_values(new)
    node._change()


def function_attr(name: str) -> RawAttr:
    """Returns the attribute that names a function."""
    from headrace.formats.proto.op_pb2 import AttrValue, NameAttrList

    return RawAttr(AttrValue(func=NameAttrList(name=name)).SerializeToString())


# ---- registered gradients ------------------------------------------------------------------------


@gradient(FUNCTION_CALL)
@gradient("PartitionedCall")
@gradient("StatefulPartitionedCall")
def _call(node: Operation, *grads: Any) -> list[Any]:
    attr = called_function(node)
    function = node.graph._get_function(attr.name)
    if function is None:
        raise LookupError(f"{node.type} '{node.name}': function {attr.name!r} is not in the graph")
    if function.python_grad_func is not None:
        return _as_list(function.python_grad_func(node, *grads))
    if node.type != attr.name:
        try:
            registered = gradient_function(attr.name)
        except LookupError:
            pass
        else:
            return (
                [None] * len(node.inputs)
                if registered is None
                else _as_list(registered(node, *grads))
            )
    if function.grad_func_name or (node.type == attr.name and _is_simple(node, function)):
        return symbolic_gradient(node, attr, grads)
    return apply_call_gradient(node, _found(function, node, attr), grads)


def _as_list(grads: Any) -> list[Any]:
    if isinstance(grads, (list, tuple)) and not isinstance(grads, IndexedSlices):
        return list(grads)
    return [grads]


def _found(function: LibraryFunction, node: Operation, attr: Any) -> CallGradient:
    """Returns the gradient of a function, made once."""
    attrs = {key: value for key, value in attr.attr.items() if not key.startswith("_")}
    key = tuple(sorted([(k, v.SerializeToString()) for k, v in attrs.items()]))
    with function_lock.current:
        found = function.gradients.get(key)
        if found is None:
            function.gradients[key] = _UNFINISHED
            try:
                body = body_of(function, node.graph, attrs=attrs)
                found = call_gradient(body, function.name)
            finally:
                del function.gradients[key]
            function.gradients[key] = found
    if found is _UNFINISHED:
        raise LookupError(f"function '{function.name}' calls itself: recursion has no gradient")
    return found


def _is_simple(node: Operation, function: LibraryFunction) -> bool:
    """Returns whether a SymbolicGradient, which runs the whole body again, is as good."""
    definition = function.definition
    if definition.signature.is_stateful:
        return False
    if any(t.dtype.name == "resource" or t.dtype.is_ref_dtype for t in node.inputs):
        return False
    if any(
        held.WhichOneof("value") == "func" for n in definition.node_def for held in n.attr.values()
    ):
        return False  # TensorFlow has no symbolic gradient of such a call
    # The runtime reads functions from their definitions, which do not say what belongs to a loop.
    if function.body is not None and any(n._context is not None for n in function.body.operations):
        return False
    called = [node.graph._get_function(n.op) for n in definition.node_def]
    return all(_is_simple(node, inner) for inner in called if inner is not None)


def symbolic_gradient(node: Operation, attr: Any, grads: Any) -> list[Tensor]:
    """Adds the SymbolicGradient of a call, which the runtime replaces by a function."""
    dys = [
        op("ZerosLike", t) if grad is None else dense(grad)
        for t, grad in zip(node.outputs, grads, strict=True)
    ]
    types = [gradient_dtype(t) for t in node.inputs]
    found = op("SymbolicGradient", [*node.inputs, *dys], Tout=types, f=attr)
    for tensor, source in zip(found, node.inputs, strict=True):
        if source.dtype.name != "resource":
            tensor._shape = source._shape
    return list(found)


@gradient("SymbolicGradient")
def _symbolic_gradient(node: Operation, *grads: Any) -> list[Any]:
    from headrace.formats.proto.op_pb2 import NameAttrList

    attr = node.get_attr("f")
    function = node.graph._get_function(attr.name)
    if function is None:
        raise LookupError(f"{node.type} '{node.name}': function {attr.name!r} is not in the graph")
    if function.grad_func_name:
        first = node.graph._get_function(function.grad_func_name)
    else:
        attrs = {key: value for key, value in attr.attr.items() if not key.startswith("_")}
        first = whole_gradient(function, node.graph, attrs)
    first.add_to_graph(node.graph)
    first_call = NameAttrList(name=first.name)
    return apply_call_gradient(node, _found(first, node, first_call), grads)

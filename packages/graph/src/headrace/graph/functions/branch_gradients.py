"""Gradients of If and Case: the gradient of the branch that was taken."""

from __future__ import annotations

import dataclasses
from typing import Any

from headrace.formats.dtypes import resource
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.branch_values import empty_value
from headrace.graph.framework.attributes import AttrSet
from headrace.graph.framework.function_library import function_lock
from headrace.graph.framework.op_registry import gradient
from headrace.graph.framework.op_template import template_of
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.functions.call_gradients import function_attr, set_outputs
from headrace.graph.functions.differentiation import (
    BodyGradient,
    body_gradient,
    cuts_of,
    dense,
    forward_body,
    gradient_dtype,
    zeros_of,
)
from headrace.graph.functions.function_body import FunctionBody, make_function
from headrace.graph.functions.function_to_graph import body_of


@dataclasses.dataclass
class _Branch:
    """A branch: its gradient, and what it passes to it."""

    name: str
    gradient: BodyGradient
    cuts: list[Tensor]


@gradient("If")
@gradient("StatelessIf")
def _if(node: Operation, *grads: Any) -> list[Any]:
    names = [node.get_attr("then_branch"), node.get_attr("else_branch")]
    return _gradient(node, ("then_branch", "else_branch"), names, grads)


@gradient("Case")
@gradient("StatelessCase")
def _case(node: Operation, *grads: Any) -> list[Any]:
    return _gradient(node, ("branches",), node.get_attr("branches"), grads)


def _gradient(
    node: Operation, attrs: tuple[str, ...], called: list[Any], grads: tuple[Any, ...]
) -> list[Any]:
    with function_lock.current:
        branches = [_branch(node, attr) for attr in called]
        n_outputs = len(node.outputs)
        first = [n_outputs]  # where the cuts of each branch are among the new outputs
        for branch in branches:
            first.append(first[-1] + len(branch.cuts))
        if first[-1] > n_outputs:
            _return_cuts(node, attrs, branches)
        wanted = [
            number
            for number, parts in enumerate(zip(*[b.gradient.grads for b in branches], strict=True))
            if any(grad is not None for grad in parts)
        ]
        if not wanted:
            return [None] * len(node.inputs)
        functions = [_backward(branches, at, wanted) for at in range(len(branches))]
    dys = [
        op("ZerosLike", t) if grad is None else dense(grad)
        for t, grad in zip(node.outputs, grads, strict=False)
    ]
    selector, *inputs = node.inputs
    kind = node.type if node.type.startswith("Stateless") else f"Stateless{node.type}"
    if any(f.definition.signature.is_stateful for f in functions):
        kind = kind.removeprefix("Stateless")
    results = op(
        kind,
        selector,
        [*inputs, *dys[:n_outputs], *node.outputs[n_outputs:]],
        Tout=[gradient_dtype(inputs[number]) for number in wanted],
        **_function_attrs(attrs, functions),
    )
    found: list[Any] = [None] * len(inputs)
    for number, result in zip(wanted, results, strict=True):
        found[number] = result
        if inputs[number].dtype.base_dtype is not resource:
            result._shape = inputs[number]._shape
    return [None, *found]


def _branch(node: Operation, attr: Any) -> _Branch:
    function = node.graph._get_function(attr.name)
    if function is None:
        raise LookupError(f"{node.type} '{node.name}': function {attr.name!r} is not in the graph")
    body = body_of(function, node.graph, attrs=attr.attr)
    for inner, outer in zip(body.inputs, node.inputs[1:], strict=True):
        if inner._shape is None:
            inner._shape = outer._shape
    found = body_gradient(body, function.name)
    return _Branch(function.name, found, cuts_of(found))


def _return_cuts(node: Operation, attrs: tuple[str, ...], branches: list[_Branch]) -> None:
    """Makes each branch also return what the gradients need, zeros for those of the others."""
    functions = []
    for branch in branches:
        body = forward_body(branch.gradient.body, ())
        with body.graph.as_default(), body.graph.control_dependencies(None):
            before = len(body.graph._ops)
            more = [
                tensor if other is branch else empty_value(tensor.dtype)
                for other in branches
                for tensor in other.cuts
            ]
            added = body.graph._ops[before:]
            whole = forward_body(branch.gradient.body, branch.cuts)
            body = dataclasses.replace(
                body,
                outputs=[*body.outputs, *more],
                operations=sorted({*whole.operations, *added}, key=lambda n: n._id),
            )
            functions.append(make_function(body, f"__forward_{branch.name}"))
    for function in functions:
        function.add_to_graph(node.graph)
    types = tuple([t.dtype.base_dtype.as_datatype_enum for t in functions[0].body.outputs])
    old = node._attrs
    if any(f.definition.signature.is_stateful for f in functions):
        node.type = node.type.removeprefix("Stateless")
    values = dict(old.values)
    values.pop("_output_shapes", None)
    values["Tout"] = types
    shapes = values.get("output_shapes") or ()
    extra = len(types) - len(node.outputs)
    values["output_shapes"] = (*shapes, *[None] * extra) if shapes else ()
    values |= _plain_function_attrs(attrs, functions)
    out_types = tuple([t.dtype for t in functions[0].body.outputs])
    set_outputs(node, AttrSet(node.type, template_of(node.type).signature, values, out_types))


def _backward(branches: list[_Branch], at: int, wanted: list[int]) -> Any:
    """Returns the gradient function of one branch; all have the same signature."""
    branch = branches[at]
    found, body = branch.gradient, branch.gradient.body
    graph = body.graph
    with graph.as_default(), graph.control_dependencies(None):
        cuts = [
            tensor if other is branch else graph.placeholder(tensor.dtype, None, "unused")
            for other in branches
            for tensor in other.cuts
        ]
        outputs = [
            zeros_of(body.inputs[number])
            if found.grads[number] is None
            else dense(found.grads[number])
            for number in wanted
        ]
        inputs = [*body.inputs, *found.dys, *cuts]
        operations = found.operations(outputs, branch.cuts)
        return make_function(
            FunctionBody(graph, inputs, outputs, operations, replaced=found.replaced),
            f"__backward_{branch.name}",
        )


def _function_attrs(attrs: tuple[str, ...], functions: list[Any]) -> dict[str, Any]:
    if len(attrs) == 1:
        return {attrs[0]: functions}
    return dict(zip(attrs, functions, strict=True))


def _plain_function_attrs(attrs: tuple[str, ...], functions: list[Any]) -> dict[str, Any]:
    plain = [function_attr(f.name) for f in functions]
    if len(attrs) == 1:
        return {attrs[0]: tuple(plain)}
    return dict(zip(attrs, plain, strict=True))

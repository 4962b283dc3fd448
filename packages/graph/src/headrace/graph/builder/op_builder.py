"""Builds a node from an op's name, inputs and attributes, by its signature in the catalogue.

    product = op("MatMul", a, b, transpose_b=True, name="logits")

Each signature is converted to an `OpTemplate` once. The template caches what a call infers from the
dtypes of its inputs (attributes, output dtypes), so that most calls only look up, name and connect.
"""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import scalar_attrs
from headrace.graph.builder.op_inputs import convert_inputs, flatten_inputs
from headrace.graph.framework.create_op import add_node
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.op_template import (
    OpTemplate,
    attr_set_of,
    pack_outputs,
    template_of,
    templates,
)
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scope import Scope, check_op_name, graph_stack


def op(op_type: str, /, *inputs: Any, name: str | None = None, **attrs: Any) -> Any:
    """Adds a node to the graph of its inputs, or to the default graph.

    Args:
      op_type: name of an op in the catalogue.
      inputs: one value per input argument, a list for a list argument; values are converted to
        tensors of the dtype that the signature and the other inputs imply.
      name: name of the node, made unique; None uses the op's name. A name that ends in "/" is an
        entered scope and is used unchanged.
      attrs: attributes; missing ones are inferred from the inputs or take their defaults.
    Returns: the output Tensor; a list for one list output; a named tuple for several outputs; the
      Operation if it has no outputs, as a call of a function without results.
    Raises: TypeError for a wrong dtype or number of inputs, or a wrong attribute; ValueError for
      shapes that the op rejects, or inputs of different graphs; NotFoundError for an unknown op.
    """
    template = templates.get(op_type)
    if template is None:
        template = template_of(op_type)
    graph = graph_stack.graph
    if graph is None:
        graph = get_default_graph()
    attr_set = None
    if template.simple and len(inputs) == template.n_inputs:
        types = []
        for t in inputs:
            if type(t) is not Tensor or t.op.graph is not graph:
                break
            types.append(t.dtype.as_datatype_enum)
        else:
            if not attrs:
                attr_set = template.by_types.get(tuple(types))
            elif not template.needs_repr:
                try:
                    attr_set = template.by_attrs.get(
                        (*types, *attrs.items(), *map(type, attrs.values()))
                    )
                except TypeError:  # an attribute is a list
                    pass
    scope = graph._local.scope
    if scope.context is not None or template.has_ref:
        return _build(template, graph, inputs, name, attrs)
    if attr_set is None:
        if not (template.pair and len(inputs) == 2 and not attrs):
            return _build(template, graph, inputs, name, attrs)
        return _build_with_number(template, graph, scope, inputs, name)

    if name is None:
        name = op_type
    elif name[-1:] == "/":
        return pack_outputs(
            template, attr_set, add_node(graph, scope, op_type, inputs, attr_set, name[:-1])
        )
    else:
        check_op_name(name)
    prefix = scope.name
    full = f"{prefix}/{name}" if prefix else name
    key = full.lower()
    used = graph._names_in_use
    with graph._lock:
        if key in used:
            full = graph._unique(full)
        else:
            used[key] = 1
    node = add_node(graph, scope, op_type, inputs, attr_set, full)
    outputs = node._outputs
    if type(outputs) is Tensor and template.result is None:
        return outputs
    return pack_outputs(template, attr_set, node)


def _build_with_number(
    template: OpTemplate, graph: Any, scope: Scope, inputs: tuple[Any, ...], name: str | None
) -> Any:
    """Fast path for a tensor and a Python number that fits its dtype, such as x * 0.5."""
    x, y = inputs
    if type(x) is Tensor:
        tensor, number, arg = x, y, template.inputs[1].name
    else:
        tensor, number, arg = y, x, template.inputs[0].name
    if type(tensor) is Tensor and tensor.op.graph is graph:
        requested = tensor.dtype._base
        kind = type(number)
        if (kind is float and requested.is_floating) or (
            kind is int and (requested.is_floating or requested.is_integer)
        ):
            pair = (tensor.dtype.as_datatype_enum, requested.as_datatype_enum)
            attr_set = template.by_types.get(pair if tensor is x else pair[::-1])
            if attr_set is not None:
                value = scalar_attrs(number, requested)
                full = _node_name(graph, template.name if name is None else name)
                const = add_node(
                    graph, scope, "Const", (), value, graph._unique(f"{full}/{arg}")
                )._outputs
                both = (tensor, const) if tensor is x else (const, tensor)
                return add_node(graph, scope, template.name, both, attr_set, full)._outputs
    return _build(template, graph, inputs, name, {})


def _build(
    template: OpTemplate,
    graph: Any,
    inputs: tuple[Any, ...],
    name: str | None,
    attrs: dict[str, Any],
) -> Any:
    """General path: converts inputs, infers and checks attributes, applies all scopes."""
    if len(inputs) != template.n_inputs:
        raise TypeError(
            f"{template.name} takes {template.n_inputs} inputs "
            f"({', '.join([a.name for a in template.inputs])}), got {len(inputs)}"
        )
    unknown = attrs.keys() - template.attr_names
    if unknown:
        raise TypeError(
            f"{template.name} got unexpected attributes {', '.join(sorted(unknown))}: it has "
            f"{', '.join([a.name for a in template.attrs]) or 'none'}"
        )
    owner = graph if graph.building_function else _graph_of_inputs(graph, inputs)
    if owner is not graph:
        with owner.as_default():
            return _build_in(template, owner, inputs, name, attrs)
    return _build_in(template, graph, inputs, name, attrs)


def _build_in(
    template: OpTemplate,
    graph: Any,
    inputs: tuple[Any, ...],
    name: str | None,
    attrs: dict[str, Any],
) -> Any:
    full = _node_name(graph, template.name if name is None else name)
    local = graph._local
    scope = local.scope
    local.scope = scope.named(full)  # converted inputs are named under the node
    try:
        tensors, types = convert_inputs(template, inputs, attrs)
        if graph.building_function:
            tensors = graph.captured(tensors)
        if template.has_function:
            attrs = _with_functions_added(template, graph, attrs)
        attr_set = attr_set_of(template, tensors, types, attrs)
        flat = flatten_inputs(template, tensors)
        if scope.context is not None:
            # Nodes that bring a tensor into the loop or branch are named under the node, too.
            flat = scope.context.adapt_inputs(template.name, flat)
    finally:
        local.scope = scope
    if template.has_ref:
        scope = _colocate_with_refs(template, tensors, scope)
    return pack_outputs(
        template, attr_set, add_node(graph, scope, template.name, flat, attr_set, full)
    )


def _with_functions_added(
    template: OpTemplate, graph: Any, attrs: dict[str, Any]
) -> dict[str, Any]:
    """Adds the functions among the attributes to the graph; returns attributes with their names."""

    def name_of(value: Any) -> Any:
        if hasattr(value, "add_to_graph"):
            value.add_to_graph(graph)
            return value.name
        return value

    changed = dict(attrs)
    for attr in template.attrs:
        if attr.name in attrs and attr.kind == "func":
            changed[attr.name] = name_of(attrs[attr.name])
        elif attr.name in attrs and attr.kind == "list(func)":
            changed[attr.name] = [name_of(value) for value in attrs[attr.name]]
    return changed


def _colocate_with_refs(template: OpTemplate, tensors: list[Any], scope: Scope) -> Scope:
    """Colocates a node with the variables whose references it takes."""
    owners: list[Operation] = []
    for arg, value in zip(template.inputs, tensors):
        if arg.is_ref:
            owners.extend([t.op for t in (value if type(value) is list else [value])])
    new = tuple([o for o in dict.fromkeys(owners) if o not in scope.colocation])
    return scope.changed(colocation=scope.colocation + new, device="", devices=())


def _node_name(graph: Any, name: str) -> str:
    if name[-1:] == "/":
        return name[:-1]
    check_op_name(name)
    return graph.unique_name(name)


def _graph_of_inputs(default: Any, inputs: Any) -> Any:
    """Returns the graph of the inputs. Raises: ValueError if they are in different graphs."""
    owner = first = None
    for value in inputs:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            graph = getattr(item, "graph", None)
            if graph is None or not hasattr(graph, "_by_name"):
                continue
            if owner is None:
                owner, first = graph, item
            elif graph is not owner:
                raise ValueError(
                    f"{item!r} must be from the same graph as {first!r}: build both under one "
                    "`with graph.as_default():`"
                )
    return default if owner is None else owner

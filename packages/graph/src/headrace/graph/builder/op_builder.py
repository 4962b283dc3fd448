"""Builds a node from an op's name, inputs and attributes, as its line in the catalogue says.

    product = op("MatMul", a, b, transpose_b=True, name="logits")

The catalogue's signature is turned into an `OpTemplate` once. What a call infers from the types of
its inputs (attributes, output types) is remembered by those types, so that most calls look up, name
and link, and decide nothing anew.
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
    packed,
    template_of,
    templates,
)
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scope import Scope, check_op_name, graph_stack


def op(op_type: str, /, *inputs: Any, name: str | None = None, **attrs: Any) -> Any:
    """Adds a node to the default graph (or the graph of its inputs).

    Args:
      op_type: name of an op in the catalogue.
      inputs: one value per input of its signature, a list for a list; anything but a tensor is
        converted, to the type that the signature and the other inputs imply.
      name: name of the node, made unique; the op's name where None; one that ends in "/" is a
        scope entered already, and is taken as it is.
      attrs: attributes; those that are missing come from the inputs' types or the defaults.
    Returns: the output Tensor; a list for one list output; a named tuple for several outputs; the
      Operation where there are none.
    Raises: TypeError for a wrong type or number of inputs or attributes; ValueError where shapes
      contradict the op.
    """
    found = templates.get(op_type)
    if found is None:
        found = template_of(op_type)
    graph = graph_stack.graph
    if graph is None:
        graph = get_default_graph()
    attr_set = None
    if found.simple and len(inputs) == found.n_inputs:
        types = []
        for t in inputs:
            if type(t) is not Tensor or t.op.graph is not graph:
                break
            types.append(t.dtype.as_datatype_enum)
        else:
            if not attrs:
                attr_set = found.by_types.get(tuple(types))
            elif not found.needs_repr:
                try:
                    attr_set = found.by_attrs.get(
                        (*types, *attrs.items(), *map(type, attrs.values()))
                    )
                except TypeError:  # a list among the attributes
                    pass
    scope = graph._local.scope
    if scope.context is not None or found.has_ref:
        return _build(found, graph, inputs, name, attrs)
    if attr_set is None:
        if not (found.pair and len(inputs) == 2 and not attrs):
            return _build(found, graph, inputs, name, attrs)
        return _build_with_number(found, graph, scope, inputs, name)

    if name is None:
        name = op_type
    elif name[-1:] == "/":
        return packed(found, attr_set, add_node(graph, scope, op_type, inputs, attr_set, name[:-1]))
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
    if type(outputs) is Tensor and found.result is None:
        return outputs
    return packed(found, attr_set, node)


def _build_with_number(
    found: OpTemplate, graph: Any, scope: Scope, inputs: tuple[Any, ...], name: str | None
) -> Any:
    """x ∘ 0.5, where x is a tensor of a float or int type and the number fits it; else all else."""
    x, y = inputs
    if type(x) is Tensor:
        tensor, number, arg = x, y, found.inputs[1].name
    else:
        tensor, number, arg = y, x, found.inputs[0].name
    if type(tensor) is Tensor and tensor.op.graph is graph:
        wanted = tensor.dtype._base
        kind = type(number)
        if (kind is float and wanted.is_floating) or (
            kind is int and (wanted.is_floating or wanted.is_integer)
        ):
            pair = (tensor.dtype.as_datatype_enum, wanted.as_datatype_enum)
            attr_set = found.by_types.get(pair if tensor is x else pair[::-1])
            if attr_set is not None:
                value = scalar_attrs(number, wanted)
                full = _node_name(graph, found.name if name is None else name)
                const = add_node(
                    graph, scope, "Const", (), value, graph._unique(f"{full}/{arg}")
                )._outputs
                both = (tensor, const) if tensor is x else (const, tensor)
                return add_node(graph, scope, found.name, both, attr_set, full)._outputs
    return _build(found, graph, inputs, name, {})


def _build(
    found: OpTemplate, graph: Any, inputs: tuple[Any, ...], name: str | None, attrs: dict[str, Any]
) -> Any:
    """The general way: converts inputs, infers and checks attributes, looks at every scope."""
    if len(inputs) != found.n_inputs:
        raise TypeError(
            f"{found.name} takes {found.n_inputs} inputs "
            f"({', '.join([a.name for a in found.inputs])}), got {len(inputs)}"
        )
    unknown = attrs.keys() - found.attr_names
    if unknown:
        raise TypeError(
            f"{found.name} got unexpected attributes {', '.join(sorted(unknown))}: it has "
            f"{', '.join([a.name for a in found.attrs]) or 'none'}"
        )
    owner = _graph_of_inputs(graph, inputs)
    if owner is not graph:
        with owner.as_default():
            return _build_in(found, owner, inputs, name, attrs)
    return _build_in(found, graph, inputs, name, attrs)


def _build_in(
    found: OpTemplate, graph: Any, inputs: tuple[Any, ...], name: str | None, attrs: dict[str, Any]
) -> Any:
    full = _node_name(graph, found.name if name is None else name)
    local = graph._local
    scope = local.scope
    local.scope = scope.named(full)  # what conversion makes is named under the node
    try:
        tensors, types = convert_inputs(found, inputs, attrs)
        attr_set = attr_set_of(found, tensors, types, attrs)
        flat = flatten_inputs(found, tensors)
        if scope.context is not None:
            # The loop or branch may have to hand a tensor in; that is named under the node, too.
            flat = scope.context.adapt_inputs(found.name, flat)
    finally:
        local.scope = scope
    if found.has_ref:
        scope = _beside_refs(found, tensors, scope)
    return packed(found, attr_set, add_node(graph, scope, found.name, flat, attr_set, full))


def _beside_refs(found: OpTemplate, tensors: list[Any], scope: Scope) -> Scope:
    """What acts on a reference must be on the device of what it refers to."""
    owners: list[Operation] = []
    for arg, value in zip(found.inputs, tensors):
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
    """The one graph of all inputs that have one. Raises: ValueError where they differ."""
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

"""Creates a node: applies scopes, infers output shapes, records the user's line. A hot path."""

from __future__ import annotations

import os
import sys
from typing import Any

from headrace.formats import op_catalogue
from headrace.graph.framework.attributes import AttrSet
from headrace.graph.framework.device_spec import canonical, merged
from headrace.graph.framework.op_registry import shape_function
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scope import Scope
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.framework.tensor_shape import Shape, as_dims

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_is_library_file: dict[str, bool] = {}  # source file -> whether it belongs to this library

_MAX_SHAPES_KEPT = 1024  # size of an AttrSet's cache of inferred shapes

_new_operation = Operation.__new__
_new_tensor = Tensor.__new__
_get_frame = sys._getframe


def add_node(
    graph: Any,
    scope: Scope,
    op_type: str,
    inputs: tuple[Tensor, ...],
    attrs: AttrSet,
    name: str,
    control_inputs: tuple[Operation, ...] = (),
    device: str = "",
) -> Operation:
    """Adds a node with checked inputs and attributes to a graph.

    Args:
      scope: the active scope; its control-flow context must have adapted the inputs.
      name: full and unique name.
      device: device of the node; active device scopes fill its missing parts.
    Raises: ValueError for input shapes that the op rejects, or for a tensor of a loop as input of a
      node outside; RuntimeError for a finalized graph.
    """
    node = _new_operation(Operation)
    node.graph = graph
    node.name = name
    node.type = op_type
    node.inputs = inputs
    node.control_inputs = control_inputs
    node.device = device
    node._attrs = attrs
    node._context = None

    frame = _get_frame(2)
    while True:
        code = frame.f_code
        file = code.co_filename
        inside = _is_library_file.get(file)
        if inside is None:
            inside = _is_library_file[file] = os.path.abspath(file).startswith(_PACKAGE)
        if not inside:
            break
        outer = frame.f_back
        if outer is None:
            break
        frame = outer
    node._code = code
    node._instruction = frame.f_lasti

    key = tuple([t._shape for t in inputs])
    shapes = attrs.shapes.get(key)
    if shapes is None:
        shapes = infer_shapes(op_type, name, inputs, key, attrs)
    out_types = attrs.out_types
    if attrs.n_outputs == 1:
        tensor = _new_tensor(Tensor)
        tensor.op = node
        tensor.value_index = 0
        tensor.dtype = out_types[0]
        tensor._shape = shapes[0]
        node._outputs = tensor
    else:
        node._outputs = tuple(
            [Tensor(node, i, dtype, shapes[i]) for i, dtype in enumerate(out_types)]
        )

    if not scope.plain:
        _apply_scope(node, scope)
    if graph._finalized:
        graph._check_not_finalized()
    if scope.context is None and graph._check_outer_node is not None:
        graph._check_outer_node(node)
    with graph._lock:
        ops = graph._ops
        node._id = len(ops)
        ops.append(node)
        graph._by_name[name] = node
    if scope.context is not None:
        scope.context.add_op(node)
    return node


def _with_ranks(
    where: str, ranks: tuple[int, ...], shapes: tuple[Shape, ...], attrs: AttrSet
) -> tuple[Shape, ...]:
    """Returns the shapes, unknown ones with the rank that the op requires, if it accepts only one.

    Raises: ValueError for an input of a rank that the op never accepts.
    """
    assert attrs.signature is not None
    found: list[Shape] = []
    for arg, allowed in zip(attrs.signature.inputs, ranks, strict=True):
        count = 1
        if arg.number_attr:
            count = attrs.values[arg.number_attr]
        elif arg.type_list_attr:
            count = len(attrs.values[arg.type_list_attr])
        only = _ONE_RANK.get(allowed)
        for shape in shapes[len(found) : len(found) + count]:
            if shape is None:
                found.append(only)
                continue
            if not allowed >> min(len(shape), 8) & 1:
                requested = [rank for rank in range(9) if allowed >> rank & 1]
                text = "at least " * (len(requested) > 1 and requested[-1] == 8) + str(requested[0])
                if len(requested) > 1 and requested[-1] != 8:
                    text = " or ".join(map(str, requested))
                raise ValueError(
                    f"{where}: {arg.name}: Shape must be rank {text} but is rank {len(shape)}: "
                    f"it is {list(shape)}"
                )
            found.append(shape)
    return tuple(found)


# The shape of an input that must have one rank, by the mask of its ranks.
_ONE_RANK: dict[int, Shape] = {1 << rank: (None,) * rank for rank in range(8)}


def infer_shapes(
    op_type: str,
    name: str,
    inputs: tuple[Tensor, ...],
    input_shapes: tuple[Shape, ...],
    attrs: AttrSet,
) -> tuple[Shape, ...]:
    """Runs the op's shape function, and caches results that depend on shapes and attributes only.

    Raises: ValueError naming the op, the node and the function's error.
    """
    n_outputs = attrs.n_outputs
    if attrs.signature is None:
        return (None,) * n_outputs
    ranks = op_catalogue.input_ranks(op_type)
    if ranks:
        with_ranks = _with_ranks(f"{op_type} '{name}'", ranks, input_shapes, attrs)
    else:
        with_ranks = input_shapes
    # An OpDef names no rule: the shape function of a custom op has the op's name.
    function = shape_function(attrs.signature.shape_rule or op_type)
    if function is None:
        attrs.shapes[input_shapes] = unknown = (None,) * n_outputs
        return unknown
    query = ShapeQuery(with_ranks, attrs.values, n_outputs, inputs)
    try:
        shapes_found = function(query)
    except ValueError as error:
        raise ValueError(f"{op_type} '{name}': {error}") from None
    shapes: tuple[Shape, ...]
    if n_outputs and (shapes_found is None or len(shapes_found) != n_outputs):
        raise ValueError(
            f"{op_type} '{name}': shape rule {attrs.signature.shape_rule!r} gave {shapes_found!r} "
            f"for {n_outputs} outputs"
        )
    shapes = tuple([as_dims(s) for s in shapes_found]) if n_outputs else ()
    if not query.used_values:
        kept = attrs.shapes
        if len(kept) >= _MAX_SHAPES_KEPT:
            kept.clear()
        kept[input_shapes] = shapes
    return shapes


def _apply_scope(node: Operation, scope: Scope) -> None:
    """Applies the active devices, colocation, control dependencies and attributes."""
    if scope.attrs or scope.overrides:
        extra = {k: v for k, v in scope.attrs.items() if k not in node._attrs.values}
        if node.type in scope.overrides:
            extra["_gradient_op_type"] = scope.overrides[node.type]
        if extra:
            node._attrs = node._attrs.replaced(**extra)
    if scope.container and node._attrs.values.get("container") == "":
        node._attrs = node._attrs.replaced(container=scope.container)
    if scope.devices:
        _apply_devices(node, scope.devices)
    elif scope.device:
        node.device = merged(scope.device, node.device) if node.device else scope.device
    if scope.colocation:
        groups: set[str] = set()
        for other in scope.colocation:
            groups.update([g.decode() for g in other.colocation_groups()])
            if other.device:
                node.device = other.device
        node._attrs = _colocated(node._attrs, tuple(sorted(groups)))
    if scope.controllers:
        _apply_controllers(node, scope)


def _apply_devices(node: Operation, devices: tuple[Any, ...]) -> None:
    """Applies devices from innermost to outermost; names fill missing parts, functions replace."""
    for spec in reversed(devices):
        if callable(spec):
            device_name = spec(node)
            device_name = (
                device_name.to_string() if hasattr(device_name, "to_string") else device_name
            )
            node.device = canonical(device_name or "")
        else:
            node.device = merged(canonical(spec), node.device)


def _colocated(attrs: AttrSet, groups: tuple[str, ...]) -> AttrSet:
    if attrs.op_type == "Const":  # the cache must not keep large values alive
        return attrs.replaced(_class=groups)
    key = (attrs, groups)
    found = _colocated_sets.get(key)
    if found is None:
        if len(_colocated_sets) > 4096:
            _colocated_sets.clear()
        found = _colocated_sets[key] = attrs.replaced(_class=groups)
    return found


_colocated_sets: dict[tuple[AttrSet, tuple[str, ...]], AttrSet] = {}


def _apply_controllers(node: Operation, scope: Scope) -> None:
    """Adds the active control inputs, except those that an input already depends on."""
    input_ops = {t.op for t in node.inputs}
    added = list(node.control_inputs)
    for controller in scope.controllers:
        if not input_ops.isdisjoint(controller.seen):
            continue
        for op in controller.inputs:
            if op not in input_ops and op not in added:
                added.append(op)
    node.control_inputs = tuple(added)
    for controller in scope.controllers:
        controller.seen.add(node)

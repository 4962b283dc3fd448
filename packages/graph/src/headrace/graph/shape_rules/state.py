"""Shape rules of variables, resources and control flow."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import Shape, attr, compatible, merge, show

Shapes = list[Shape]


def _check_value(variable: Shape, value: Shape) -> None:
    if not compatible(variable, value):
        raise ValueError(f"value {show(value)} does not fit variable {show(variable)}")


@shape_rule("assign")
def assign(op: ShapeQuery) -> Shapes:
    variable, value = op.inputs
    if not attr(op, "validate_shape", True):
        return [value]
    _check_value(variable, value)
    return [merge(value, variable)]


@shape_rule("assign_update")
def assign_update(op: ShapeQuery) -> Shapes:
    variable, value = op.inputs
    _check_value(variable, value)
    return [merge(variable, value)]


def _variable_shape(op: ShapeQuery, i: int) -> Shape:
    held = op.handle(i)
    return None if held is None else held[1]


@shape_rule("read_variable")
def read_variable(op: ShapeQuery) -> Shapes:
    return [_variable_shape(op, 0)]


@shape_rule("read_variables")
def read_variables(op: ShapeQuery) -> Shapes:
    return [_variable_shape(op, i) for i in range(op.n_outputs)]


@shape_rule("variable_shape")
def variable_shape(op: ShapeQuery) -> Shapes:
    held = _variable_shape(op, 0)
    return [(None if held is None else len(held),)]


# ---- control flow -------------------------------------------------------------------------------


@shape_rule("switch")
def switch(op: ShapeQuery) -> Shapes:
    return [op.inputs[0]] * op.n_outputs


def _common(shapes: tuple[Shape, ...]) -> Shape:
    """Returns the most specific shape that is compatible with all of several shapes."""
    first = shapes[0]
    for shape in shapes:
        if first is None or shape is None or len(shape) != len(first):
            return None
        if shape != first:
            first = tuple([a if a == b else None for a, b in zip(first, shape, strict=True)])
    return first


@shape_rule("merge_flow")
def merge_flow(op: ShapeQuery) -> Shapes:
    return [_common(op.inputs), ()]


@shape_rule("ref_select")
def ref_select(op: ShapeQuery) -> Shapes:
    return [_common(op.inputs[1:])]


# ---- TensorArrays and tensor lists ---------------------------------------------------------------


@shape_rule("tensor_array")
def tensor_array(op: ShapeQuery) -> Shapes:
    return [(2,), ()]


@shape_rule("tensor_array_read")
def tensor_array_read(op: ShapeQuery) -> Shapes:
    return [_variable_shape(op, 0)]


@shape_rule("tensor_array_gather")
def tensor_array_gather(op: ShapeQuery) -> Shapes:
    indices, element = op.inputs[1], attr(op, "element_shape")
    if element is None:
        element = _variable_shape(op, 0)
    if element is None:
        return [None]
    return [(indices[0] if indices else None, *element)]


@shape_rule("tensor_array_concat")
def tensor_array_concat(op: ShapeQuery) -> Shapes:
    rest = attr(op, "element_shape_except0")
    return [None if rest is None else (None, *rest), (None,)]


@shape_rule("tensor_list_element_shape")
def tensor_list_element_shape(op: ShapeQuery) -> Shapes:
    return [None]


def _element(op: ShapeQuery, i: int) -> Shape:
    """Returns the shape of an element; a scalar -1 is an unknown shape."""
    return None if op.inputs[i] == () or op.inputs[i] is None else op.value_as_shape(i)


@shape_rule("tensor_list_item")
def tensor_list_item(op: ShapeQuery) -> Shapes:
    return [_element(op, 2)]


@shape_rule("tensor_list_pop")
def tensor_list_pop(op: ShapeQuery) -> Shapes:
    return [(), _element(op, 1)]


@shape_rule("tensor_list_stack")
def tensor_list_stack(op: ShapeQuery) -> Shapes:
    element, n = _element(op, 1), attr(op, "num_elements", -1)
    return [None if element is None else (n if n >= 0 else None, *element)]


@shape_rule("tensor_list_gather")
def tensor_list_gather(op: ShapeQuery) -> Shapes:
    element, indices = _element(op, 2), op.inputs[1]
    return [None if element is None else (indices[0] if indices else None, *element)]

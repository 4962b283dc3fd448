"""Shape rules: constant shapes, and shapes equal to an input's shape, value or an attribute."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import Shape, compatible, merge, show, sizes

Shapes = list[Shape]


@shape_rule("no_output")
def no_output(op: ShapeQuery) -> Shapes:
    return []


@shape_rule("unknown")
def unknown(op: ShapeQuery) -> Shapes:
    return [None] * op.n_outputs


@shape_rule("scalar")
def scalar(op: ShapeQuery) -> Shapes:
    return [()] * op.n_outputs


@shape_rule("ref_handle")
def ref_handle(op: ShapeQuery) -> Shapes:
    """The reference handles of TF 1.x's resources: container and name."""
    return [(2,)] * op.n_outputs


@shape_rule("vectors")
def vectors(op: ShapeQuery) -> Shapes:
    return [(None,)] * op.n_outputs


@shape_rule("unchanged")
def unchanged(op: ShapeQuery) -> Shapes:
    return [op.inputs[0]] * op.n_outputs


@shape_rule("each_unchanged")
def each_unchanged(op: ShapeQuery) -> Shapes:
    return list(op.inputs[: op.n_outputs])


@shape_rule("as_input_1")
def as_input_1(op: ShapeQuery) -> Shapes:
    return [op.inputs[1]] * op.n_outputs


@shape_rule("as_input_2")
def as_input_2(op: ShapeQuery) -> Shapes:
    return [op.inputs[2]] * op.n_outputs


@shape_rule("as_input_3")
def as_input_3(op: ShapeQuery) -> Shapes:
    return [op.inputs[3]] * op.n_outputs


@shape_rule("shape_from_input_0")
def shape_from_input_0(op: ShapeQuery) -> Shapes:
    return [sizes(op, 0)] * op.n_outputs


@shape_rule("shape_from_input_1")
def shape_from_input_1(op: ShapeQuery) -> Shapes:
    return [sizes(op, 1)] * op.n_outputs


@shape_rule("shape_from_input_3")
def shape_from_input_3(op: ShapeQuery) -> Shapes:
    return [sizes(op, 3)] * op.n_outputs


@shape_rule("attr_shape")
def attr_shape(op: ShapeQuery) -> Shapes:
    return [op.attrs["shape"]]


@shape_rule("attr_output_shapes")
def attr_output_shapes(op: ShapeQuery) -> Shapes:
    shapes = list(op.attrs["output_shapes"] or ())
    if len(shapes) != op.n_outputs:
        return [None] * op.n_outputs
    return shapes


@shape_rule("const")
def const(op: ShapeQuery) -> Shapes:
    return [op.attrs["value"].shape]


@shape_rule("placeholder_with_default")
def placeholder_with_default(op: ShapeQuery) -> Shapes:
    """A fed value may differ from the default: only the declared shape holds."""
    _declared(op)
    return [op.attrs["shape"]]


@shape_rule("ensure_shape")
def ensure_shape(op: ShapeQuery) -> Shapes:
    return [_declared(op)]


def _declared(op: ShapeQuery) -> Shape:
    declared, shape = op.attrs["shape"], op.inputs[0]
    if not compatible(shape, declared):
        raise ValueError(f"shape is {show(shape)}, not of the declared {show(declared)}")
    return merge(shape, declared)

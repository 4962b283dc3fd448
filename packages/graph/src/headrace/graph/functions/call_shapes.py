"""The shapes of what a call returns, from the body of the function."""

from __future__ import annotations

from typing import Any

from headrace.graph.framework.function_library import InvalidFunctionError
from headrace.graph.framework.operation import Operation
from headrace.graph.framework.tensor_shape import Shape, TensorShape
from headrace.graph.functions.function_to_graph import body_of

_MAX_SHAPES_KEPT = 16  # per function
_MAX_NESTING = 8  # of calls in bodies; deeper ones have unknown shapes
_UNINFERRED = "_disable_call_shape_inference"


def set_call_shapes(node: Operation) -> None:
    """Sets the output shapes of a node that calls a function, as far as they are known.

    They are those that a GraphDef notes (`_output_shapes`), or what the body gives for the shapes
    of the node's inputs. A call that disables this, as those of Defun do, leaves them unknown.
    """
    if not node.outputs or _UNINFERRED in node._attrs.values:
        return
    noted = _noted(node)
    shapes = _inferred(node) if noted is None else noted
    for tensor, shape in zip(node.outputs, shapes, strict=False):
        tensor._shape = shape


def _noted(node: Operation) -> list[Shape] | None:
    if "_output_shapes" not in node._attrs.values:
        return None
    shapes = node.get_attr("_output_shapes")
    if not shapes or not all(isinstance(shape, TensorShape) for shape in shapes):
        return None
    return [shape._dims for shape in shapes]


def _inferred(node: Operation) -> list[Shape]:
    call = called_function(node)
    function = node.graph._get_function(call.name)
    unknown: list[Shape] = [None] * len(node.outputs)
    if function is None:
        return unknown
    attrs = {key: value for key, value in call.attr.items() if not key.startswith("_")}
    shapes = tuple([t._shape for t in node.inputs])
    known = function.call_shapes
    key = (shapes, *sorted([(k, v.SerializeToString()) for k, v in attrs.items()]))
    found = known.get(key)
    if found is None:
        if len(known) >= _MAX_SHAPES_KEPT:
            known.clear()
        known[key] = unknown  # what a function that calls itself gives
        if _nesting(node.graph) > _MAX_NESTING:
            return unknown
        try:
            body = body_of(function, node.graph, shapes, attrs)
        except InvalidFunctionError:  # it is reported when the call runs or is differentiated
            return unknown
        found = known[key] = [t._shape for t in body.outputs]
    return found


def _nesting(graph: Any) -> int:
    """Returns the number of functions around a graph, itself included."""
    count = 0
    while graph.building_function:
        count += 1
        graph = graph.outer_graph
    return count


def called_function(node: Operation) -> Any:
    """Returns the function that a node calls, as a NameAttrList message."""
    from headrace.formats.proto.op_pb2 import NameAttrList

    if not node.graph._is_function(node.type):
        return node.get_attr("f")
    return NameAttrList(name=node.type, attr=node.node_def.attr)

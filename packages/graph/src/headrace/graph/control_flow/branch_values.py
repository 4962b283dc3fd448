"""Values of branches outside of them: merged with an empty value for runs of the other branch."""

from __future__ import annotations

from headrace.formats.dtypes import DType, resource, variant
from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.context import CondContext
from headrace.graph.control_flow.context_edges import output_context
from headrace.graph.framework.operation import Tensor


def branches_around(value: Tensor) -> list[CondContext]:
    """Returns the branches that a value is in, innermost first, up to the nearest loop."""
    found = []
    context = output_context(value.op)
    while isinstance(context, CondContext):
        found.append(context)
        context = context.outer_context
    return found


def merged_outside(value: Tensor) -> Tensor:
    """Returns a tensor outside of all branches around a value: empty where they do not run."""
    graph = value.op.graph
    for context in branches_around(value):
        # An Exit of a loop in the branch is known to the branch only.
        context._add_known_values([value])
        with graph.control_dependencies(None), graph._in_context(context.outer_context):
            empty = op("Switch", empty_value(value.dtype), context.pred)[1 - context.branch]
            value = op("Merge", [value, empty])[0]
    return value


def empty_value(dtype: DType) -> Tensor:
    """Returns a tensor of a dtype that stands for a value that no run computes or reads."""
    dtype = dtype.base_dtype
    if dtype is resource:
        return op("VarHandleOp", dtype="float32", shape=(), shared_name="unused")
    if dtype is variant:
        return op("EmptyTensorList", constant(-1), constant(-1), element_dtype="float32")
    return constant([], dtype, [0])

"""Gradients through cond: the gradients of Switch and Merge.

The gradient of a Merge is a Switch, which passes the gradient to the branch that ran. The gradient
of a Switch is a Merge of that branch's gradient with zeros, because a tensor that is read in only
one branch has no influence if the other one runs.
"""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import resource
from headrace.graph.builder.conversion import constant
from headrace.graph.builder.indexed_slices import IndexedSlices
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.context import CondContext, entered_branch
from headrace.graph.control_flow.context_edges import output_context
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.op_registry import gradient
from headrace.graph.framework.operation import Operation, Tensor


@gradient("Merge")
@gradient("RefMerge")
def _merge(operation: Operation, grad: Any, _: Any) -> list[Any]:
    outside = output_context(operation)
    branches = [output_context(source.op) for source in operation.inputs]
    switched: dict[Tensor, Any] = {}
    parts: list[Any] = []
    for number, branch in enumerate(branches):
        if isinstance(branch, CondContext) and branch.outer_context is outside is not branch:
            if branch.pred not in switched:
                switched[branch.pred] = _switch(grad, branch.pred)
            parts.append(switched[branch.pred][branch.branch])
        else:  # a Merge of a gradient, whose inputs are in no branch: it knows which one it took
            taken = op("Equal", operation.outputs[1], number)
            parts.append(_switch(grad, taken)[1])
    return parts


@gradient("Switch")
@gradient("RefSwitch")
def _switch_gradient(operation: Operation, *grads: Any) -> list[Any]:
    context = entered_branch(operation)
    pred = operation.inputs[1]
    if context is not None:
        branch, pivot = context.branch, context.pivot
    else:  # a Switch of a gradient belongs to no branch
        branch = 1 if grads[1] is not None else 0
        pivot = None
    mine = grads[branch]
    if mine is None:
        return [None, None]
    if pivot is None and grads[1 - branch] is not None:
        return [_merged(list(grads), operation), None]
    if pivot is None:
        pivot = op("Identity", op("Switch", pred, pred)[branch])
    outside = operation.outputs[1 - branch]
    pair: list[Any] = [None, None]
    # A gradient that does not depend on the branch must still be dead if the branch does not run.
    with get_default_graph().control_dependencies([pivot.op]):
        pair[branch] = _identity(mine)
    pair[1 - branch] = _zeros_like_other_branch(outside, mine)
    return [_merged(pair, operation), None]


def _merged(pair: list[Any], operation: Operation) -> Any:
    one, other = pair
    if not isinstance(one, IndexedSlices):
        return op("Merge", pair)[0]
    return IndexedSlices(
        op("Merge", [one.values, other.values])[0],
        op("Merge", [one.indices, other.indices])[0],
        _shape_of(operation.inputs[0]),
    )


def _switch(grad: Any, pred: Tensor) -> tuple[Any, Any]:
    """Returns (output_false, output_true) of a Switch of the gradient."""
    if not isinstance(grad, IndexedSlices):
        false, true = op("Switch", grad, pred, name="cond_grad")
        return false, true
    values = op("Switch", grad.values, pred)
    indices = op("Switch", grad.indices, pred)
    false, true = (
        IndexedSlices(v, i, grad.dense_shape) for v, i in zip(values, indices, strict=True)
    )
    return false, true


def _identity(grad: Any) -> Any:
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(op("Identity", grad.values), op("Identity", grad.indices))
    return op("Identity", grad)


def _zeros_like_other_branch(outside: Tensor, mine: Any) -> Any:
    """Returns zeros like `outside` that are alive if the other branch runs."""
    if outside.dtype.base_dtype is resource:
        values = mine.values if isinstance(mine, IndexedSlices) else mine
        outside = op("ReadVariableOp", outside, dtype=values.dtype.base_dtype)
        outside.set_shape([None, *values.shape[1:]] if values.shape.ndims else None)
    if not isinstance(mine, IndexedSlices):
        return op("ZerosLike", outside)
    none = constant([], mine.indices.dtype.base_dtype, [0])
    values = op("GatherV2", outside, none, 0)
    with get_default_graph().control_dependencies([values.op]):
        return IndexedSlices(values, op("Identity", none))


def _shape_of(tensor: Tensor) -> Tensor:
    """Returns the shape of the Switch's input, which is alive in both branches."""
    if tensor.dtype.base_dtype is resource:
        return op("VariableShape", tensor)
    return op("Shape", tensor)

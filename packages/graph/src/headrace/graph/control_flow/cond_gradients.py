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
from headrace.graph.control_flow.context import CondContext, output_context
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.op_registry import gradient
from headrace.graph.framework.operation import Operation, Tensor


@gradient("Merge")
@gradient("RefMerge")
def _merge(operation: Operation, grad: Any, _: Any) -> list[Any]:
    parts: list[Any] = []
    switched: dict[Tensor, Any] = {}
    for source in operation.inputs:
        context = _branch_of(source.op, operation)
        if context.pred not in switched:
            switched[context.pred] = _switch(grad, context.pred)
        parts.append(switched[context.pred][context.branch])
    return parts


@gradient("Switch")
@gradient("RefSwitch")
def _switch_gradient(operation: Operation, *grads: Any) -> list[Any]:
    context = _branch_of(operation, operation)
    mine = grads[context.branch]
    if mine is None:
        return [None, None]
    outside = operation.outputs[1 - context.branch]
    pair: list[Any] = [None, None]
    # A gradient that does not depend on the branch must still be dead if the branch does not run.
    with get_default_graph().control_dependencies([context.pivot.op]):
        pair[context.branch] = _identity(mine)
    pair[1 - context.branch] = _zeros_like_other_branch(outside, mine)
    if isinstance(mine, IndexedSlices):
        other = pair[1 - context.branch]
        mine = pair[context.branch]
        slices = IndexedSlices(
            op("Merge", [mine.values, other.values])[0],
            op("Merge", [mine.indices, other.indices])[0],
            _shape_of(operation.inputs[0]),
        )
        return [slices, None]
    return [op("Merge", pair)[0], None]


def _branch_of(inside: Operation, operation: Operation) -> CondContext:
    context = output_context(inside)
    if not isinstance(context, CondContext):
        raise LookupError(
            f"{operation.type} '{operation.name}' belongs to no hr.cond: gradients go through "
            "cond, case and switch_case only; cut the path with hr.stop_gradient"
        )
    return context


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

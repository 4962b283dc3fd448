"""The gradient of a while loop: a loop over the same iterations, backwards (white paper §4.4).

Its body differentiates one iteration of the forward loop. Where it needs a value that the forward
loop computed, it pops the value from a list that the forward loop pushed it on
(loop_accumulators.py); what does not change in the loop enters both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.formats.dtypes import resource, variant
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.indexed_slices import IndexedSlices
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.branch_values import branches_around
from headrace.graph.control_flow.context import CondContext, ControlFlowContext, WhileContext
from headrace.graph.control_flow.context_edges import is_constant_enter, output_context
from headrace.graph.control_flow.control_flow_ops import identity
from headrace.graph.control_flow.loop_accumulators import accumulators_of, element_shape
from headrace.graph.control_flow.loop_variables import LoopVariable, is_loop_switch
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor

_SHAPE_OPS = frozenset(("Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike"))

# Differentiates one iteration: (sources, [(y, gradient)]) -> the gradients of the sources.
DifferentiateBody = Callable[[Sequence[Tensor], Sequence[tuple[Tensor, Any]]], list[Any]]


class GradientWhileContext(WhileContext):
    """The loop of a gradient: it replaces values of the forward loop by those of its iteration.

    Args:
      forward: the loop that it is the gradient of.
    """

    def __init__(self, forward: WhileContext) -> None:
        super().__init__(
            None,
            forward.parallel_iterations,
            forward.back_prop,
            forward.swap_memory,
            name=f"{forward.name}_grad",
        )
        self.forward: WhileContext = forward
        self._popped: dict[Tensor, Tensor] = {}
        self._branches: dict[CondContext, CondContext] = {}

    def add_value(self, value: Tensor) -> Tensor:
        """Returns the replacement of a value of the forward loop, or of an outer one."""
        if value in self.values or value.op._context is self:
            return self.external_values.get(value, value)
        if not is_inside(value, self.forward):
            return super().add_value(value)
        found = self._popped.get(value)
        if found is None:
            with self.graph.control_dependencies(None), self:
                found = self._popped[value] = self._of_this_iteration(value)
        return found

    def adapt_inputs(self, op_type: str, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Returns the inputs of a new node; for a shape, a list need not keep the whole value."""
        if op_type in _SHAPE_OPS:
            inputs = tuple([self._stand_in(t) for t in inputs])
        return super().adapt_inputs(op_type, inputs)

    def branch(self, forward: ControlFlowContext | None) -> WhileContext | CondContext:
        """Returns the context for the gradient of a branch in the forward loop's body."""
        if not isinstance(forward, CondContext):
            return self
        found = self._branches.get(forward)
        if found is None:
            outer = self.branch(forward.outer_context)
            with self.graph.control_dependencies(None), outer:
                pred = identity(self.add_value(forward.pred))
                pivot = identity(op("Switch", pred, pred)[forward.branch])
                found = self._branches[forward] = CondContext(pred, pivot, forward.branch)
        return found

    def _of_this_iteration(self, value: Tensor) -> Tensor:
        source = value.op
        if is_constant_enter(source):
            return self.add_value(source.inputs[0])
        if source.type == "Const":
            return self._copy(source)
        if is_loop_switch(source):
            return self._pop(source.outputs[1] if source._context is self.forward else value)
        if source.type == "Switch":  # of a cond: dead in the same iterations
            data, pred = (self.add_value(t) for t in source.inputs)
            return op("Switch", data, pred)[value.value_index]
        if source.type == "Identity" and not source.control_inputs:
            return self.add_value(source.inputs[0])
        return self._pop(value)

    def _pop(self, value: Tensor) -> Tensor:
        if value in self._popped:
            return self._popped[value]
        kept = accumulators_of(self.forward).list_of(value)
        variable = LoopVariable(self, kept, ())
        variable.open()
        branches = branches_around(value)
        dtype = value.dtype.base_dtype
        shape = element_shape(None if branches else value)
        rest, found = op("TensorListPopBack", variable.value, shape(), element_dtype=dtype)
        variable.close(rest)
        for branch in reversed(branches):
            found = op("Switch", found, self.add_value(branch.pred))[branch.branch]
        found._shape = value._shape
        self._popped[value] = found
        return found

    def _stand_in(self, value: Tensor) -> Tensor:
        """Returns zeros of the shape of a forward value that is not popped for another reason."""
        if value in self.values or value in self._popped or not is_inside(value, self.forward):
            return value
        if value.dtype.base_dtype in (resource, variant) or is_constant_enter(value.op):
            return value
        if value.op.type == "Const":
            return value
        if value.op.type == "Switch":
            data, pred = value.op.inputs
            with self.graph.control_dependencies(None), self:
                return op("Switch", self._stand_in(data), pred)[value.value_index]
        with self.graph.control_dependencies(None), self:
            if value.shape.is_fully_defined() and not isinstance(
                output_context(value.op), CondContext
            ):
                dims = constant(value.shape.as_list(), "int32", [len(value.shape)])
            else:
                forward = output_context(value.op) or self.forward
                with self.graph.control_dependencies(None), forward:
                    shape = op("Shape", value)
                dims = self.add_value(shape)
            zeros = op("Fill", dims, constant(_zero(value), value.dtype.base_dtype))
        zeros._shape = value._shape
        return zeros

    def _copy(self, source: Operation) -> Tensor:
        return op("Const", value=source.get_attr("value"), dtype=source.outputs[0].dtype)


def _zero(value: Tensor) -> Any:
    name = value.dtype.base_dtype.name
    return "" if name == "string" else False if name == "bool" else 0


def is_inside(value: Tensor, loop: WhileContext) -> bool:
    """Returns whether a tensor has a value in each iteration of a loop."""
    context = output_context(value.op)
    while context is not None:
        if context is loop:
            return True
        context = context.outer_context
    return False


def loop_sources(loop: WhileContext) -> list[Tensor]:
    """Returns the Enters of a loop: of its variables, then of what does not change in it."""
    enters = [t for t in loop.loop_enters if not is_constant_enter(t.op)]
    constant_enters = {t: None for t in loop.external_values.values() if is_constant_enter(t.op)}
    return [*enters, *constant_enters]


def merge_of(enter: Tensor) -> Tensor:
    """Returns the Merge of a loop variable."""
    for consumer in enter.consumers():
        if consumer.type in ("Merge", "RefMerge"):
            return consumer.outputs[0]
    raise ValueError(f"Enter '{enter.op.name}' has no Merge: the loop is not complete")


def exit_of(merged: Tensor) -> Tensor | None:
    """Returns the Exit of a loop variable, if it has one."""
    for switch in merged.consumers():
        if is_loop_switch(switch):
            for consumer in switch.outputs[0].consumers():
                if consumer.type in ("Exit", "RefExit"):
                    return consumer.outputs[0]
    return None


def loop_gradient(
    loop: WhileContext,
    enters: Sequence[Tensor],
    grads: dict[Tensor, Any],
    differentiate: DifferentiateBody,
) -> list[Any]:
    """Builds the loop of the gradient in the current context.

    Args:
      loop: the forward loop.
      enters: the Enters whose gradients are requested: of variables and of constants of the loop.
      grads: gradients of the loop's Exits.
      differentiate: adds the gradient of one iteration.
    Returns: one gradient for each of `enters`: of the tensor that enters.
    """
    variables = [t for t in enters if not is_constant_enter(t.op)]
    constants = [t for t in enters if is_constant_enter(t.op)]
    back = GradientWhileContext(loop)
    if back.outer_context is None:
        back.graph.add_to_collection(GraphKeys.WHILE_CONTEXT, back)
    counter = LoopVariable(back, accumulators_of(loop).count(), ())
    back.pivot_for_pred = counter.merged
    merges = [merge_of(t) for t in variables]
    states = [
        LoopVariable(
            back, _first_gradient(m, grads), m._shape if m.dtype.base_dtype is not variant else ()
        )
        for m in merges
    ]
    with back.graph.control_dependencies(None), back:
        more = op("Greater", counter.merged, constant(0))
        back.pivot = op("LoopCond", more, name="LoopCond")
    counter.open()
    back.pivot_for_body = counter.value
    for state in states:
        state.open()
    with back.graph.control_dependencies(None), back:
        counter.close(op("Sub", counter.value, constant(1)))
        ys = [(_following(m), state.value) for m, state in zip(merges, states, strict=True)]
        found = differentiate([*merges, *constants], ys)
        after = [
            _dense(grad, state.value)
            for state, grad in zip(states, found[: len(states)], strict=True)
        ]
    results: list[Any] = [state.close(value) for state, value in zip(states, after, strict=True)]
    for outer, grad in zip(constants, found[len(merges) :], strict=True):
        results.append(_summed_over_iterations(back, outer.op.inputs[0], grad))
    by_enter = dict(zip([*variables, *constants], results, strict=True))
    return [by_enter[t] for t in enters]


def _following(merged: Tensor) -> Tensor:
    return merged.op.inputs[1].op.inputs[0]


def _dense(grad: Any, like: Tensor) -> Tensor:
    if grad is None:
        return op("ZerosLike", like)
    return convert_to_tensor(grad)


def _first_gradient(merged: Tensor, grads: dict[Tensor, Any]) -> Tensor:
    leaving = exit_of(merged)
    grad = None if leaving is None else grads.get(leaving)
    if grad is None:
        return op("ZerosLike", leaving if leaving is not None else merged.op.inputs[0].op.inputs[0])
    return convert_to_tensor(grad)


def _summed_over_iterations(back: WhileContext, outer: Tensor, grad: Any) -> Any:
    """Sums a gradient of each iteration over all of them."""
    if grad is None:
        return None
    if isinstance(grad, IndexedSlices):
        values = _collected(back, grad.values)
        indices = _collected(back, grad.indices)
        return IndexedSlices(values, indices, _shape_outside(outer))
    product = _product_cheaper_at_once(back, grad)
    if product is not None:
        rows, columns = (_collected(back, part) for part in product.inputs)
        return op("MatMul", rows, columns, transpose_a=True)
    total = LoopVariable(back, _zeros_outside(outer, grad), grad._shape)
    total.open()
    with back.graph.control_dependencies(None), back:
        if grad.dtype.base_dtype is variant:
            following = op("AddN", [total.value, grad])
        else:
            following = op("AddV2", total.value, grad)
    return total.close(following)


_USUAL_ROWS = 64


def _product_cheaper_at_once(back: WhileContext, grad: Tensor) -> Operation | None:
    """Returns the product that makes a gradient, if one of all iterations' rows is cheaper.

    The gradient of a weight matrix is rows^T @ columns in each iteration. Where there are few rows,
    reading and writing the sum takes longer than the arithmetic, and the rows take less memory.
    """
    node = grad.op
    while node.type == "Identity" and node._context is back:  # it gates gradients
        node = node.inputs[0].op
    if node.type != "MatMul" or node._context is not back:
        return None
    if not node.get_attr("transpose_a") or node.get_attr("transpose_b"):
        return None
    left, right = (t._shape for t in node.inputs)
    if left is None or right is None or len(left) != 2 or len(right) != 2:
        return None
    (rows, wide), high = left, right[1]
    if not wide or not high:
        return None
    rows = _USUAL_ROWS if rows is None else rows
    return node if rows * (wide + high) <= wide * high else None


def _collected(back: WhileContext, part: Tensor) -> Tensor:
    """Concatenates a value of each iteration along its first dimension."""
    rows = None if part._shape is None else part._shape[1:]
    shape = [-1] if rows is None else [-1, *[-1 if d is None else d for d in rows]]
    dtype = part.dtype.base_dtype
    unknown = constant(-1)
    kept = LoopVariable(back, op("EmptyTensorList", unknown, constant(-1), element_dtype=dtype), ())
    kept.open()
    with back.graph.control_dependencies(None), back:
        following = op("TensorListPushBack", kept.value, part)
    found = op(
        "TensorListConcatV2",
        kept.close(following),
        constant(shape if rows is not None else -1),
        constant([], "int64", [0]),
        element_dtype=dtype,
    ).tensor
    if rows is not None:
        found.set_shape([None, *rows])
    return found


def _zeros_outside(outer: Tensor, grad: Tensor) -> Tensor:
    if outer.dtype.base_dtype is resource:
        return op("Fill", op("VariableShape", outer), constant(0, grad.dtype.base_dtype))
    if outer.dtype.is_ref_dtype:
        outer = op("Identity", outer)
    return op("ZerosLike", outer)


def _shape_outside(outer: Tensor) -> Tensor:
    if outer.dtype.base_dtype is resource:
        return op("VariableShape", outer)
    return op("Shape", outer)

"""Adds variables to a loop that is built already: counters, lists and gradients."""

from __future__ import annotations

from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.context import WhileContext
from headrace.graph.control_flow.context_edges import enter, is_constant_enter
from headrace.graph.control_flow.control_flow_ops import exit_frame, merge
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.tensor_shape import Shape


class LoopVariable:
    """A new variable of a loop. `open` requires the LoopCond of the loop.

    Args:
      loop: the loop.
      initial: its first value, a tensor outside of the loop.
      shape: a shape that all values have; None is unknown.
    Attributes:
      merged: the variable where the condition sees it.
      value: the variable in the body.
    """

    def __init__(self, loop: WhileContext, initial: Tensor, shape: Shape) -> None:
        self.loop = loop
        outer = loop.outer_context
        with loop.graph.control_dependencies(None):
            real = initial if outer is None else outer.add_value(initial)
            entered = enter(real, loop.name, False, loop.parallel_iterations)
        entered._shape = shape
        loop.graph.prevent_feeding(entered)
        depend_on_outer_pivot(loop, [entered])
        loop.place_enters([entered])
        loop.values.add(entered)
        loop.loop_enters.append(entered)
        with loop.graph.control_dependencies(None), loop:
            self.merged: Tensor = merge([entered, entered])[0]

    def open(self) -> Tensor:
        """Adds the Switch, and returns the variable in the body."""
        with self.loop.graph.control_dependencies(None), self.loop:
            after, body = op("Switch", self.merged, self.loop.pivot)
            self._after = after
            self.value: Tensor = op("Identity", body)
        return self.value

    def close(self, following: Tensor) -> Tensor:
        """Sets the value of the next iteration, and returns the one after the loop."""
        loop = self.loop
        with loop.graph.control_dependencies(None), loop:
            self.merged.op._update_input(1, op("NextIteration", following))
            result = exit_frame(self._after)
        loop.loop_exits.append(result)
        if loop.outer_context is not None:
            loop.outer_context._add_known_values([result])
        return result


def depend_on_outer_pivot(context: WhileContext, enters: list[Tensor]) -> None:
    """Makes invariants of a nested loop depend on the outer loop's pivot."""
    outer = context.outer_context
    pivot = None
    while outer is not None and pivot is None:
        pivot = outer.control_pivot
        outer = outer.outer_context
    if pivot is not None:
        for tensor in enters:
            if is_constant_enter(tensor.op.inputs[0].op):
                tensor.op.control_inputs = (*tensor.op.control_inputs, pivot.op)


def is_loop_merge(operation: Operation) -> bool:
    """Returns whether an operation is the Merge of a loop variable."""
    return (
        operation.type in ("Merge", "RefMerge")
        and len(operation.inputs) == 2
        and operation.inputs[1].op.type in ("NextIteration", "RefNextIteration")
    )


def is_loop_switch(operation: Operation) -> bool:
    """Returns whether an operation is the Switch of a loop variable."""
    return operation.type in ("Switch", "RefSwitch") and operation.inputs[1].op.type == "LoopCond"

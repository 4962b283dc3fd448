"""Keeps what a loop computes in each iteration, for its gradient.

A value is pushed onto a TensorList, a new variable of the loop. The list leaves the loop by an
Exit, and the loop of the gradient pops from it. A list of a nested loop is a value of the outer
loop, and is pushed there in turn. Lists are values, so the gradient of the gradient follows the
same rules.
"""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.branch_values import branches_around, merged_outside
from headrace.graph.control_flow.context import WhileContext
from headrace.graph.control_flow.loop_variables import LoopVariable
from headrace.graph.framework.operation import Tensor


def accumulators_of(loop: WhileContext) -> LoopAccumulators:
    """Returns what the gradients of a loop keep of it."""
    if loop.accumulators is None:
        loop.accumulators = LoopAccumulators(loop)
    return loop.accumulators


class LoopAccumulators:
    """The iteration counter and the lists that were added to one loop."""

    def __init__(self, loop: WhileContext) -> None:
        self._loop = loop
        self._count: Tensor | None = None
        self._lists: dict[Tensor, Tensor] = {}

    def count(self) -> Tensor:
        """Returns the number of iterations, int32, outside of the loop."""
        if self._count is None:
            loop = self._loop
            counter = LoopVariable(loop, self._outside(lambda: constant(0, name="f_count")), ())
            counter.open()
            with loop.graph.control_dependencies(None), loop:
                following = op("AddV2", counter.value, constant(1))
            self._count = counter.close(following)
        return self._count

    def list_of(self, value: Tensor) -> Tensor:
        """Returns a list, outside of the loop, of a value's values in all iterations.

        In iterations that did not compute it, in a branch of a cond, the item is empty.
        """
        if value not in self._lists:
            loop = self._loop
            dtype = value.dtype.base_dtype
            shape = element_shape(None if branches_around(value) else value)
            start = self._outside(
                lambda: op("EmptyTensorList", shape(), constant(-1), element_dtype=dtype)
            )
            kept = LoopVariable(loop, start, ())
            kept.open()
            with loop.graph.control_dependencies(None), loop:
                whole = merged_outside(value)
                following = op("TensorListPushBack", kept.value, whole)
            self._lists[value] = kept.close(following)
        return self._lists[value]

    def _outside(self, build: Any) -> Tensor:
        loop = self._loop
        with loop.graph.control_dependencies(None), loop.graph._in_context(loop.outer_context):
            return build()


def element_shape(value: Tensor | None) -> Any:
    """Returns a function that builds the element_shape input of a list of a value."""
    shape = None if value is None else value._shape
    if shape is None:
        return lambda: constant(-1)
    return lambda: constant([-1 if d is None else d for d in shape], "int32", [len(shape)])

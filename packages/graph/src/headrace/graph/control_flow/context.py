"""Control-flow contexts: the branches of cond and the bodies of while_loop.

As in control flow v1 of TensorFlow, an outer tensor enters a branch through a Switch, and a loop
through a constant Enter. An operation without inputs gets a control input from the pivot.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.context_edges import (
    check_is_reachable,
    check_outer_node,
    enter,
    is_constant_enter,
    output_context,
    switch_ref_or_tensor,
)
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.operation import Operation, Tensor


def entered_branch(switch: Operation) -> CondContext | None:
    """Returns the branch that a Switch leads into, or None: a gradient's Switch may be in one."""
    context = output_context(switch)
    if isinstance(context, CondContext):
        inner = switch.outputs[context.branch]
        if any(inner is t for t in context.external_values.values()):
            return context
    return None


class ControlFlowContext:
    """Base class of the contexts of cond branches and while loops.

    Attributes:
      name: unique name in the graph.
      outer_context: the enclosing context, or None.
      values: tensors that operations of the context can use directly.
      external_values: maps outer tensors to their replacements in the context.
    """

    name: str

    def __init__(self) -> None:
        self.graph = get_default_graph()
        self.outer_context: ControlFlowContext | None = self.graph._get_control_flow_context()
        self.values: set[Tensor] = set()
        self.external_values: dict[Tensor, Tensor] = {}
        self.nested: list[ControlFlowContext] = []
        self._entered: list[Any] = []
        if self.outer_context is not None:
            self.outer_context.nested.append(self)
        if isinstance(self, WhileContext):
            self.graph._check_outer_node = check_outer_node

    # -- building --------------------------------------------------------------------------

    def __enter__(self) -> Any:
        scope = self.graph._in_context(self)
        scope.__enter__()
        self._entered.append(scope)
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)

    def add_value(self, value: Tensor) -> Tensor:
        """Returns the replacement of an outer tensor in the context."""
        raise NotImplementedError

    def adapt_inputs(self, op_type: str, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Returns the inputs for a new node of the context, with outer tensors replaced.

        Raises: ValueError for a tensor of a loop that the context is not in.
        """
        for t in inputs:
            if t.op._context is not None:
                check_is_reachable(t.op, self.graph._local.scope.name or op_type, self)
        return tuple(
            [
                t if op_type == "Merge" and t.op.type == "NextIteration" else self.add_value(t)
                for t in inputs
            ]
        )

    def add_op(self, operation: Operation) -> None:
        """Registers a new node of the context."""
        raise NotImplementedError

    def exit_result(self, result: Iterable[Any]) -> None:
        """Adds results to the values of the outer context."""
        if self.outer_context is not None:
            self.outer_context.values.update([t for t in result if isinstance(t, Tensor)])

    @property
    def control_pivot(self) -> Tensor | None:
        """The tensor on which operations without inputs depend."""
        return None

    @property
    def while_context(self) -> WhileContext | None:
        """The innermost enclosing loop, or the context itself."""
        return None if self.outer_context is None else self.outer_context.while_context

    def _keep_internal_control_inputs(
        self, operation: Operation
    ) -> tuple[list[Operation], list[Operation]]:
        """Removes control inputs from outside of the loop; returns (kept, removed)."""
        loop = self.while_context
        kept = list(operation.control_inputs)
        dropped: list[Operation] = []
        if loop is not None:
            kept = []
            for other in operation.control_inputs:
                context = output_context(other)
                inside = context is not None and context.while_context is loop
                (kept if inside else dropped).append(other)
        if dropped:
            operation.control_inputs = tuple(kept)
        return kept, dropped

    def _prevent_feeds_and_fetches(self, operation: Operation) -> None:
        """Prevents fetching of what may be dead, and feeding of what has a value per iteration."""
        if self.outer_context is not None or operation.type not in ("Exit", "RefExit"):
            self.graph.prevent_fetching(operation)
            if self.while_context is not None:
                for t in operation.outputs:
                    self.graph.prevent_feeding(t)

    def _add_known_values(self, tensors: Iterable[Tensor]) -> None:
        """Adds tensors to the values of this and all outer contexts."""
        tensors = list(tensors)
        context: ControlFlowContext | None = self
        while context is not None:
            context.values.update(tensors)
            context = context.outer_context

    # -- messages --------------------------------------------------------------------------

    def _values_def(self, message: Any, scope: str | None) -> None:
        from headrace.graph.framework.import_scope import strip_name_scope

        message.values.extend(sorted([strip_name_scope(t.name, scope) for t in self.values]))
        for outer, inner in self.external_values.items():
            message.external_values[strip_name_scope(outer.name, scope)] = strip_name_scope(
                inner.name, scope
            )

    def _read_values(self, message: Any, scope: str | None) -> None:
        from headrace.graph.framework.import_scope import prepend_name_scope

        def tensor(name: str) -> Tensor:
            return self.graph.get_tensor_by_name(prepend_name_scope(name, scope))

        self.values = {tensor(name) for name in message.values}
        self.external_values = {
            tensor(outer): tensor(inner) for outer, inner in message.external_values.items()
        }
        for t in self.values - set(self.external_values):
            if t.op._context is None:
                t.op._context = self

    def to_control_flow_context_def(self, message: Any, scope: str | None) -> None:
        """Writes the context into a ControlFlowContextDef message."""
        raise NotImplementedError


class CondContext(ControlFlowContext):
    """One branch of a cond.

    Args:
      pred: scalar bool tensor.
      pivot: a tensor that is alive in this branch only.
      branch: 1 for true_fn, 0 for false_fn.
    """

    def __init__(self, pred: Tensor, pivot: Tensor, branch: int, name: str = "cond_text") -> None:
        super().__init__()
        self.name = self.graph.unique_name(name)
        self.pred = pred
        self.pivot = pivot
        self.branch = branch
        self.values = {pred, pivot}

    @property
    def control_pivot(self) -> Tensor:
        """The tensor that is alive in this branch only."""
        return self.pivot

    def add_value(self, value: Tensor) -> Tensor:
        """Returns the replacement of an outer tensor: an output of a Switch."""
        if value in self.values:
            return self.external_values.get(value, value)
        self.values.add(value)
        result = value
        if self.outer_context is not None:
            result = self.outer_context.add_value(value)
            self.values.add(result)
            self.external_values[result] = result
        with self.graph.control_dependencies(None):
            result = switch_ref_or_tensor(result, self.pred)[self.branch]
        self.graph.prevent_fetching(result.op)
        result.op._context = self
        self._add_known_values([result])
        self.external_values[value] = result
        return result

    def add_op(self, operation: Operation) -> None:
        """Registers a new node of the branch."""
        operation._context = self
        self._keep_internal_control_inputs(operation)
        if not operation.inputs and not any(
            _is_in(output_context(c), self) for c in operation.control_inputs
        ):
            operation.control_inputs = (*operation.control_inputs, self.pivot.op)
        self._add_known_values(operation.outputs)
        self._prevent_feeds_and_fetches(operation)

    def branch_output(self, value: Tensor) -> Tensor:
        """Returns the tensor to merge for a result; an outer tensor passes through a Switch."""
        if value not in self.values:
            self.values.add(value)
            real = value
            if self.outer_context is not None:
                real = self.outer_context.add_value(value)
                self.values.add(real)
                self.external_values[real] = real
            real = switch_ref_or_tensor(real, self.pred)[self.branch]
            self.external_values[value] = real
            return real
        return self.external_values.get(value, value)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the CondContextDef message, or None if the context is outside of export_scope."""
        from headrace.formats.proto.control_flow_pb2 import CondContextDef
        from headrace.graph.framework.import_scope import strip_name_scope

        if export_scope is not None and not self.name.startswith(export_scope):
            return None
        message = CondContextDef(
            context_name=strip_name_scope(self.name, export_scope),
            pred_name=strip_name_scope(self.pred.name, export_scope),
            pivot_name=strip_name_scope(self.pivot.name, export_scope),
            branch=self.branch,
        )
        self._values_def(message.values_def, export_scope)
        for nested in self.nested:
            nested.to_control_flow_context_def(message.nested_contexts.add(), export_scope)
        return message

    def to_control_flow_context_def(self, message: Any, scope: str | None) -> None:
        """Writes the context into a ControlFlowContextDef message."""
        message.cond_ctxt.CopyFrom(self.to_proto(scope))

    @staticmethod
    def from_proto(message: Any, import_scope: str | None = None) -> CondContext:
        """Creates the context of a CondContextDef message in the default graph."""
        from headrace.graph.framework.import_scope import prepend_name_scope

        graph = get_default_graph()

        def tensor(name: str) -> Tensor:
            return graph.get_tensor_by_name(prepend_name_scope(name, import_scope))

        created = CondContext.__new__(CondContext)
        ControlFlowContext.__init__(created)
        created.name = prepend_name_scope(message.context_name, import_scope)
        created.pred = tensor(message.pred_name)
        created.pivot = tensor(message.pivot_name)
        created.branch = message.branch
        _read_nested(created, message, import_scope)
        created._read_values(message.values_def, import_scope)
        return created


class WhileContext(ControlFlowContext):
    """The context of a while loop, which runs in one frame.

    Args:
      maximum_iterations: scalar integer tensor, or None.
      parallel_iterations: number of iterations that may run in parallel.
      back_prop: whether gradients are required.
      swap_memory: whether tensors kept for gradients may be moved to host memory.
    """

    accumulators: Any = None  # what gradients keep of it: see loop_accumulators.py
    forward: WhileContext | None = None  # of the loop of a gradient: the loop that it is of

    def __init__(
        self,
        maximum_iterations: Tensor | None = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str = "while_context",
    ) -> None:
        super().__init__()
        if not isinstance(parallel_iterations, int) or parallel_iterations <= 0:
            raise ValueError(
                f"`parallel_iterations` must be a positive integer: {parallel_iterations!r}"
            )
        self.name = self.graph.unique_name(name)
        self.maximum_iterations = maximum_iterations
        self.parallel_iterations = parallel_iterations
        self.back_prop = back_prop
        self.swap_memory = swap_memory
        self.pivot_for_pred: Tensor | None = None  # first Merge: alive in the condition
        self.pivot: Tensor | None = None  # LoopCond
        self.pivot_for_body: Tensor | None = None  # first Identity: alive in the body only
        self.loop_enters: list[Tensor] = []
        self.loop_exits: list[Tensor] = []

    @property
    def control_pivot(self) -> Tensor | None:
        """The pivot of the body, or of the condition while that is built."""
        return self.pivot_for_pred if self.pivot_for_body is None else self.pivot_for_body

    @property
    def while_context(self) -> WhileContext:
        """The context itself."""
        return self

    def add_value(self, value: Tensor) -> Tensor:
        """Returns the replacement of an outer tensor: a constant Enter."""
        if value in self.values or value.op._context is self:
            return self.external_values.get(value, value)
        self.values.add(value)
        result = value
        if self.outer_context is not None:
            result = self.outer_context.add_value(value)
        with self.graph.control_dependencies(None):
            result = enter(result, self.name, True, self.parallel_iterations)
        self.graph.prevent_feeding(result)
        self.place_enters([result], value.op)
        self.values.add(result)
        self.external_values[value] = result
        return result

    def add_op(self, operation: Operation) -> None:
        """Registers a new node of the loop."""
        operation._context = self
        kept, dropped = self._keep_internal_control_inputs(operation)
        if not kept and all(is_constant_enter(t.op) for t in operation.inputs):
            # Without the pivot it would run in iterations that are not executed.
            pivot = self.control_pivot
            if pivot is not None:
                operation.control_inputs = (*operation.control_inputs, pivot.op)
        self.values.update(operation.outputs)
        if dropped:
            # An outer control input is replaced by a value that enters the loop.
            with self.graph.control_dependencies(None), self:
                inside = [op("Identity", c.outputs[0]).op for c in dropped if c.outputs]
            operation.control_inputs = (*operation.control_inputs, *inside)
        self._prevent_feeds_and_fetches(operation)

    def place_enters(self, enters: list[Tensor], replaced: Operation | None = None) -> None:
        """Adds Enter nodes to the context, and gives them the active outer control inputs.

        Args:
          enters: outputs of the Enter nodes.
          replaced: the operation that the Enters replace as control input; they get no control
            inputs that it already depends on.
        """
        scope = self.graph._local.scope
        for tensor in enters:
            operation = tensor.op
            source = operation.inputs[0].op
            found: list[Operation] = []
            for controller in scope.controllers:
                if source in controller.seen:
                    continue
                found.extend([c for c in controller.inputs if c is not source and c not in found])
            kept = [c for c in found if self._reaches(c)]
            operation._context = self
            operation.control_inputs = (*operation.control_inputs, *kept)
            for controller in scope.controllers:
                if replaced is None or replaced in controller.seen:
                    controller.seen.add(operation)

    def _reaches(self, control: Operation) -> bool:
        """Returns whether a control input is outside of this loop and inside the next outer one."""
        at = output_context(control)
        outer = self.outer_context
        loop = None if outer is None else outer.while_context
        while outer is not at:
            if outer is None or outer is loop:
                return False
            outer = outer.outer_context
        return True

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the WhileContextDef message, or None if the loop is outside of export_scope."""
        from headrace.formats.proto.control_flow_pb2 import WhileContextDef
        from headrace.graph.framework.import_scope import strip_name_scope

        if export_scope is not None and not self.name.startswith(export_scope):
            return None

        def name(tensor: Tensor | None) -> str:
            return "" if tensor is None else strip_name_scope(tensor.name, export_scope)

        message = WhileContextDef(
            context_name=strip_name_scope(self.name, export_scope),
            parallel_iterations=self.parallel_iterations,
            back_prop=self.back_prop,
            swap_memory=self.swap_memory,
            pivot_name=name(self.pivot),
            pivot_for_pred_name=name(self.pivot_for_pred),
            pivot_for_body_name=name(self.pivot_for_body),
            loop_exit_names=[name(t) for t in self.loop_exits],
            loop_enter_names=[name(t) for t in self.loop_enters],
            maximum_iterations_name=name(self.maximum_iterations),
        )
        self._values_def(message.values_def, export_scope)
        for nested in self.nested:
            nested.to_control_flow_context_def(message.nested_contexts.add(), export_scope)
        return message

    def to_control_flow_context_def(self, message: Any, scope: str | None) -> None:
        """Writes the context into a ControlFlowContextDef message."""
        message.while_ctxt.CopyFrom(self.to_proto(scope))

    @staticmethod
    def from_proto(message: Any, import_scope: str | None = None) -> WhileContext:
        """Creates the context of a WhileContextDef message in the default graph."""
        from headrace.graph.framework.import_scope import prepend_name_scope

        graph = get_default_graph()

        def tensor(name: str) -> Tensor | None:
            if not name:
                return None
            return graph.get_tensor_by_name(prepend_name_scope(name, import_scope))

        created = WhileContext.__new__(WhileContext)
        ControlFlowContext.__init__(created)
        created.name = prepend_name_scope(message.context_name, import_scope)
        created.maximum_iterations = tensor(message.maximum_iterations_name)
        created.parallel_iterations = message.parallel_iterations
        created.back_prop = message.back_prop
        created.swap_memory = message.swap_memory
        created.pivot = tensor(message.pivot_name)
        created.pivot_for_pred = tensor(message.pivot_for_pred_name)
        created.pivot_for_body = tensor(message.pivot_for_body_name)
        created.loop_enters = [t for t in map(tensor, message.loop_enter_names) if t is not None]
        created.loop_exits = [t for t in map(tensor, message.loop_exit_names) if t is not None]
        _read_nested(created, message, import_scope)
        created._read_values(message.values_def, import_scope)
        return created


def _read_nested(created: ControlFlowContext, message: Any, import_scope: str | None) -> None:
    with created:
        for nested in message.nested_contexts:
            if nested.WhichOneof("ctxt") == "cond_ctxt":
                CondContext.from_proto(nested.cond_ctxt, import_scope)
            else:
                WhileContext.from_proto(nested.while_ctxt, import_scope)


def _is_in(context: ControlFlowContext | None, requested: ControlFlowContext) -> bool:
    while context is not None:
        if context is requested:
            return True
        context = context.outer_context
    return False

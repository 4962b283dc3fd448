"""The edges between control-flow contexts: nodes that bring tensors in, and checks of inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Operation, Tensor

if TYPE_CHECKING:
    from headrace.graph.control_flow.context import ControlFlowContext

# Nodes that a context makes outside of itself, and moves to where their input is.
_BRINGS_IN = frozenset(("Enter", "RefEnter", "Switch", "RefSwitch"))


def switch_ref_or_tensor(data: Tensor, pred: Tensor, name: str = "Switch") -> Any:
    """Adds a Switch (RefSwitch for a reference) colocated with data.

    Returns: (output_false, output_true).
    """
    with data.graph.colocate_with(data, ignore_existing=True):
        kind = "RefSwitch" if data.dtype.is_ref_dtype else "Switch"
        return op(kind, data, pred, name=name)


def enter(
    data: Tensor,
    frame_name: str,
    is_constant: bool,
    parallel_iterations: int,
    name: str | None = None,
) -> Tensor:
    """Adds an Enter: returns the tensor inside a loop's frame."""
    kind = "RefEnter" if data.dtype.is_ref_dtype else "Enter"
    return op(
        kind,
        data,
        frame_name=frame_name,
        is_constant=is_constant,
        parallel_iterations=parallel_iterations,
        name=name or "Enter",
    )


def is_constant_enter(operation: Operation) -> bool:
    """Returns whether an operation is an Enter of a loop invariant."""
    return operation.type in ("Enter", "RefEnter") and operation._attrs.values["is_constant"]


def output_context(operation: Operation) -> ControlFlowContext | None:
    """Returns the context of an operation's outputs: those of an Exit are outside of its loop."""
    context = operation._context
    if context is not None and operation.type in ("Exit", "RefExit"):
        return context.outer_context
    return context


def check_outer_node(node: Operation) -> None:
    """Checks the inputs of a node outside of all loops. Raises: ValueError for one of a loop."""
    if node.type in _BRINGS_IN:
        return
    for t in node.inputs:
        if t.op._context is not None:
            check_is_reachable(t.op, node.name, None)


def check_is_reachable(source: Operation, name: str, context: ControlFlowContext | None) -> None:
    """Checks that a node may have an input: one of its loops holds it, or it is outside of loops.

    The loop of a gradient takes values of its forward loop too.

    Args:
      source: operation of the input.
      name: name of the node.
      context: where the node is.
    Raises: ValueError otherwise.
    """
    found = output_context(source)
    loop = None if found is None else found.while_context
    ahead = [None if context is None else context.while_context]
    while ahead and loop is not None:
        at = ahead.pop()
        if at is loop:
            return
        if at is not None:
            outer = at.outer_context
            ahead += [None if outer is None else outer.while_context, at.forward]
    if loop is not None:
        why = (
            f"'{source.name}' is in a while loop"
            if context is None or context.while_context is None
            else "they are in different while loops"
        )
        raise ValueError(f"Cannot use '{source.name}' as input to '{name}' because {why}.")

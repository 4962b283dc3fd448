"""Conditionals on one predicate: cond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.composite import packed, parts_of
from headrace.graph.control_flow.context import CondContext
from headrace.graph.control_flow.control_flow_ops import identity, merge, with_dependencies
from headrace.graph.framework import nest
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """Returns true_fn() if the predicate is true, else false_fn().

    Both functions add operations to the graph, but a run executes only one branch. Operations that
    were created outside of the functions run in any case.

    Args:
      pred: scalar bool tensor.
      true_fn, false_fn: functions without arguments that return the same structure and dtypes.
      strict: keep lists and tuples of one element; by default they are unpacked.
      name: name scope of the operations.
      fn1, fn2: old names of true_fn and false_fn.
    Returns: the result of the executed branch.
    Raises: TypeError for a predicate or functions of other types, or different structures;
      ValueError for different dtypes or a function that returns None.
    """
    true_fn = fn1 if true_fn is None else true_fn
    false_fn = fn2 if false_fn is None else false_fn
    if not callable(true_fn):
        raise TypeError("true_fn must be callable.")
    if not callable(false_fn):
        raise TypeError("false_fn must be callable.")
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    graph = get_default_graph()
    with name_scope(name, "cond", [pred]):
        pred = convert_to_tensor(pred, name="pred")
        p_false, p_true = op("Switch", pred, pred, name="Switch")
        pivot_true = identity(p_true, name="switch_t")
        pivot_false = identity(p_false, name="switch_f")
        pred = identity(pred, name="pred_id")
        for t in (p_true, p_false, pivot_true, pivot_false, pred):
            graph.prevent_fetching(t.op)
        context_true, original_true, flat_true = _branch(
            pred, pivot_true, 1, true_fn, "true_fn", strict
        )
        context_false, original_false, flat_false = _branch(
            pred, pivot_false, 0, false_fn, "false_fn", strict
        )
        try:
            nest.assert_same_structure(original_true, original_false)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"Incompatible return types of true_fn and false_fn: {error}"
            ) from None
        if not flat_true:
            raise ValueError("true_fn and false_fn must return at least one result.")
        merges = []
        for number, (t, f) in enumerate(zip(flat_true, flat_false)):
            if t.dtype.base_dtype is not f.dtype.base_dtype:
                raise ValueError(
                    "Outputs of true_fn and false_fn must have the same type(s). Received "
                    f"{t.dtype.name} from true_fn and {f.dtype.name} from false_fn "
                    f"for output {number}."
                )
            merges.append(merge([f, t])[0])
        if context_true.outer_context is None:
            graph.add_to_collection(GraphKeys.COND_CONTEXT, context_true)
            graph.add_to_collection(GraphKeys.COND_CONTEXT, context_false)
    return packed(original_true, merges)


def _branch(
    pred: Tensor,
    pivot: Tensor,
    number: int,
    function: Callable[[], Any],
    argument: str,
    strict: bool,
) -> Any:
    """Builds a branch; returns its context, the function's result, and the flat output tensors."""
    context = CondContext(pred, pivot, number)
    with context:
        original = function()
        if original is None:
            raise ValueError(f"{argument} must have a return value.")
        if not strict and isinstance(original, (list, tuple)) and len(original) == 1:
            original = original[0]
        flat: list[Tensor] = []
        for leaf in nest.flatten(original):
            if isinstance(leaf, Operation):
                # An operation is represented by the pivot, because only tensors can be merged.
                flat.append(context.branch_output(with_dependencies([leaf], pivot)))
                continue
            for part in parts_of(leaf):
                flat.append(context.branch_output(part))
        context.exit_result(flat)
    return context, original, flat

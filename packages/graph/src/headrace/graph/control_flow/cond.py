"""Branches: cond, case and switch_case."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.composite import packed, parts_of
from headrace.graph.control_flow.context import CondContext
from headrace.graph.control_flow.control_flow_ops import Assert, identity, merge, with_dependencies
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
    """What true_fn returns where pred is true, else what false_fn returns.

    Both functions build their operations; only those of one branch run. What was built outside of
    them runs in any case.

    Args:
      pred: scalar bool tensor.
      true_fn, false_fn: functions without arguments, returning the same structure of the same
        types.
      strict: keep lists and tuples of one element.
    Raises: TypeError for what is no function or no tensor, or types that differ; ValueError for
      structures that differ or a function that returns nothing.
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
        context_true, original_true, flat_true = _branch(pred, pivot_true, 1, true_fn, "true_fn")
        context_false, original_false, flat_false = _branch(
            pred, pivot_false, 0, false_fn, "false_fn"
        )
        try:
            nest.assert_same_structure(original_true, original_false)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"Incompatible return types of true_fn and false_fn: {error}"
            ) from None
        merges = []
        for number, (t, f) in enumerate(zip(flat_true, flat_false)):
            if t.dtype.base_dtype is not f.dtype.base_dtype:
                raise TypeError(
                    "Outputs of true_fn and false_fn must have the same type(s). Received "
                    f"{t.dtype.name} from true_fn and {f.dtype.name} from false_fn "
                    f"for output {number}."
                )
            merges.append(merge([f, t])[0])
        if context_true.outer_context is None:
            graph.add_to_collection(GraphKeys.COND_CONTEXT, context_true)
            graph.add_to_collection(GraphKeys.COND_CONTEXT, context_false)
    result = packed(original_true, merges)
    if not strict and isinstance(result, (list, tuple)) and len(result) == 1:
        return result[0]
    return result


def _branch(
    pred: Tensor, pivot: Tensor, number: int, function: Callable[[], Any], argument: str
) -> Any:
    """(context, structure that the function returned, flat tensors that leave the branch)."""
    context = CondContext(pred, pivot, number)
    with context:
        original = function()
        if original is None:
            raise ValueError(f"{argument} must have a return value.")
        flat: list[Tensor] = []
        for leaf in nest.flatten(original):
            if isinstance(leaf, Operation):
                # The pivot stands for an operation, since only tensors can be merged.
                flat.append(context.branch_output(with_dependencies([leaf], pivot)))
                continue
            for part in parts_of(leaf):
                flat.append(context.branch_output(part))
        context.exit_result(flat)
    return context, original, flat


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """What the function of the first true predicate returns; that of default where none is.

    Args:
      pred_fn_pairs: list of (scalar bool tensor, function), or a dict of these.
      default: function; without one, some predicate must be true.
      exclusive: fail where more than one predicate is true.
    Raises: TypeError for other arguments; ValueError without a pair.
    """
    if isinstance(pred_fn_pairs, Mapping):
        pairs = sorted(pred_fn_pairs.items(), key=lambda pair: pair[0].name)
        if type(pred_fn_pairs) is not dict:  # an ordered mapping says its own order
            pairs = list(pred_fn_pairs.items())
    elif isinstance(pred_fn_pairs, (list, tuple)):
        pairs = list(pred_fn_pairs)
    else:
        raise TypeError("'pred_fn_pairs' must be a list, tuple, or dict")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        if not callable(pair[1]):
            raise TypeError(f"fn for pred {pair[0]!r} must be callable.")
    if default is not None and not callable(default):
        raise TypeError("default must be callable.")
    if not pairs:
        raise ValueError("case needs at least one pair of predicate and function")
    preds, functions = zip(*pairs)
    with name_scope(name, "case", [preds]):
        if default is None:
            default = _assert_last(preds, functions[-1], name)
            preds, functions = preds[:-1], functions[:-1]
            if not preds:
                return default()
        if exclusive:
            check = _assert_exclusive(tuple(p for p, _ in pairs), name)
            with get_default_graph().control_dependencies([check]):
                return _nested_conds(preds, functions, default, strict)
        return _nested_conds(preds, functions, default, strict)


def _nested_conds(preds: Any, functions: Any, default: Any, strict: bool) -> Any:
    build = default
    for pred, function in reversed(tuple(zip(preds, functions))):
        build = functools.partial(cond, pred, function, build, strict)
    return build()


def _assert_last(preds: Any, function: Callable[[], Any], name: str) -> Callable[[], Any]:
    def last() -> Any:
        message = f"None of conditions evaluated as True. Conditions: ({_names(preds)}), values:"
        with get_default_graph().control_dependencies(
            [Assert(preds[-1], [message, op("Pack", list(preds))], name="assert_one")]
        ):
            return function()

    return last


def _assert_exclusive(preds: Any, name: str) -> Operation:
    packed = op("Pack", list(preds), name="preds_c")
    count = op("Sum", op("Cast", packed, DstT=3), [0], name="num_true_conds")
    message = (
        "More than one condition evaluated as True but exclusive=True. "
        f"Conditions: ({_names(preds)}), Values:"
    )
    return Assert(count < 2, [message, packed], summarize=len(preds), name="assert_exclusive")


def _names(preds: Any) -> str:
    return ", ".join([p.name for p in preds])


def switch_case(
    branch_index: Any, branch_fns: Any, default: Any = None, name: str = "switch_case"
) -> Any:
    """What the function of that number returns.

    Args:
      branch_index: scalar int32 tensor.
      branch_fns: list of functions, or of (number, function), or a dict of these.
      default: function for other numbers; that of the largest number where None.
    Raises: TypeError for other arguments; ValueError for numbers that are not 0, 1, ...
    """
    if isinstance(branch_fns, Mapping):
        branch_fns = list(branch_fns.items())
    if not branch_fns:
        raise ValueError("switch_case needs at least one branch")
    if all(callable(f) for f in branch_fns):
        branch_fns = list(enumerate(branch_fns))
    if not all(isinstance(i, int) and callable(f) for i, f in branch_fns):
        raise TypeError("branch_fns must be functions, or pairs of an int and a function")
    branches = sorted(branch_fns, key=lambda pair: pair[0])
    if len({i for i, _ in branches}) != len(branches):
        raise ValueError(f"branch indices must be distinct, got {[i for i, _ in branches]}")
    last = branches.pop()[1] if default is None else default
    with name_scope(name):
        index = convert_to_tensor(branch_index, name="branch_index")
        build = last
        for number, function in reversed(branches):
            build = functools.partial(_when_equal, index, number, function, build)
        return build()


def _when_equal(index: Tensor, number: int, function: Any, otherwise: Any) -> Any:
    return cond(op("Equal", index, number), function, otherwise)

"""Conditionals on several predicates (case) or on an index (switch_case)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.assertion import Assert
from headrace.graph.control_flow.cond import cond
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import TensorLike


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Calls the function of the first true predicate, or `default` if none is true.

    Args:
      pred_fn_pairs: list of (scalar bool tensor, function), or a dict of these.
      default: function without arguments; None requires that a predicate is true.
      exclusive: fail if more than one predicate is true.
      strict: as in cond.
      name: name scope of the operations.
    Returns: the result of the function; all functions return the same structure and dtypes.
    Raises: TypeError for arguments of other types; ValueError without pairs; as cond.
    """
    if isinstance(pred_fn_pairs, Mapping):
        pairs = sorted(pred_fn_pairs.items(), key=lambda pair: pair[0].name)
        if type(pred_fn_pairs) is not dict:  # only subclasses such as OrderedDict keep their order
            pairs = list(pred_fn_pairs.items())
    elif isinstance(pred_fn_pairs, (list, tuple)):
        pairs = list(pred_fn_pairs)
    else:
        raise TypeError("'pred_fn_pairs' must be a list, tuple, or dict")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        if not isinstance(pair[0], Tensor) and not hasattr(pair[0], "dtype"):
            raise TypeError(f"pred must be a Tensor, got: {pair[0]!r}")
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
        # TensorFlow 1.15 also asserts that the other predicates are false.
        count_nodes(19)
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
    branch_index: TensorLike, branch_fns: Any, default: Any = None, name: str = "switch_case"
) -> Any:
    """Calls the function with index `branch_index`.

    Args:
      branch_index: scalar int32 tensor.
      branch_fns: list of functions or of (index, function), or a dict from indices to functions.
      default: function for other indices; None uses the function with the largest index.
    Returns: the result of the function; all functions return the same structure and dtypes.
    Raises: TypeError for arguments of other types; ValueError for no branches and for indices that
      are not 0, 1, 2 and so on; as cond.
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
    if [i for i, _ in branches] != list(range(len(branches))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(branches)}) but found "
            f"{{{','.join(str(i) for i, _ in branches)}}}"
        )
    last = branches.pop()[1] if default is None else default
    with name_scope(name):
        index = convert_to_tensor(branch_index, name="branch_index")
        build = last
        for number, function in reversed(branches):
            build = functools.partial(_when_equal, index, number, function, build)
        return build()


def _when_equal(index: Tensor, number: int, function: Any, otherwise: Any) -> Any:
    return cond(op("Equal", index, number), function, otherwise)

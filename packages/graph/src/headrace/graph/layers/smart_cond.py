"""Conditionals that are resolved at graph construction if the predicate is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.control_flow.cond import cond
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.operation import Tensor


def known(value: Any) -> bool | None:
    """Returns the truth value of a bool, number or constant tensor; None if it is unknown."""
    if value is None or isinstance(value, (bool, int)):
        return bool(value)
    tensor = value if isinstance(value, Tensor) else getattr(value, "_as_tensor", lambda: None)()
    found = constant_value(tensor) if tensor is not None else value
    return None if found is None else bool(found)


def smart_cond(value: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """Returns yes() or no(); adds a cond with both only if the value is unknown."""
    truth = known(value)
    if truth is None:
        return cond(value, yes, no)
    return yes() if truth else no()

"""Where the families hang their kernels by op name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

Attrs = Mapping[str, Any]
Compute = Callable[..., Any]
_F = TypeVar("_F", bound=Callable[..., Any])

factories: dict[str, Callable[[Attrs], Compute]] = {}
# Optimizer updates, which the runtime applies to variables itself; here as formulas for tests:
# (attrs, var, slots..., hyper..., grad) -> new var and slots.
updates: dict[str, Compute] = {}


def kernel(*ops: str) -> Callable[[_F], _F]:
    """Registers `(attrs, *inputs) -> array or arrays`, which keeps nothing from call to call."""

    def register(compute: _F) -> _F:
        for op in ops:
            factories[op] = partial(partial, compute)
        return compute

    return register


def stateful_kernel(*ops: str) -> Callable[[_F], _F]:
    """Registers `(attrs) -> callable(*inputs)`, made once per session and node."""

    def register(factory: _F) -> _F:
        for op in ops:
            factories[op] = factory
        return factory

    return register


def update(*ops: str) -> Callable[[_F], _F]:
    """Registers the formula of an optimizer's op in `updates`."""

    def register(formula: _F) -> _F:
        for op in ops:
            updates[op] = formula
        return formula

    return register

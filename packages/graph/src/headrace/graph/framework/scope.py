"""Scopes: the names, devices, control dependencies and colocation that apply to new nodes.

The state of a thread in a graph is one immutable `Scope`. Entering a context manager replaces it by
a changed copy, and leaving restores it.
"""

from __future__ import annotations

import re
import threading
from typing import Any

_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


class Controller:
    """Active control inputs, and the operations created under them, which depend on them."""

    __slots__ = ("inputs", "seen")

    def __init__(self, inputs: tuple[Any, ...]) -> None:
        self.inputs = inputs
        self.seen: set[Any] = set()


class Scope:
    """The state that applies to new nodes.

    Attributes:
      name: name prefix without a trailing slash; "" at the root.
      device: merged device name, or "".
      devices: device names and functions, outermost first, if at least one is a function; empty
        otherwise.
      controllers: active control dependencies, outermost first.
      colocation: operations to colocate new nodes with.
      container: default resource container.
      context: control-flow context (cond or while), or None.
      attrs: attributes to add to new nodes.
      overrides: maps op types to names of gradients.
      plain: whether only the name is set.
    """

    __slots__ = (
        "attrs",
        "colocation",
        "container",
        "context",
        "controllers",
        "device",
        "devices",
        "name",
        "overrides",
        "plain",
    )

    def __init__(self) -> None:
        self.name = ""
        self.device = ""
        self.devices: tuple[Any, ...] = ()
        self.controllers: tuple[Controller, ...] = ()
        self.colocation: tuple[Any, ...] = ()
        self.container = ""
        self.context: Any = None
        self.attrs: dict[str, Any] = {}
        self.overrides: dict[str, str] = {}
        self.plain = True

    def changed(self, **changes: Any) -> Scope:
        """Returns a copy with some fields changed."""
        new = Scope.__new__(Scope)
        for field in Scope.__slots__:
            setattr(new, field, getattr(self, field))
        for field, value in changes.items():
            setattr(new, field, value)
        new.plain = not (
            new.device
            or new.devices
            or new.controllers
            or new.colocation
            or new.context is not None
            or new.attrs
            or new.overrides
            or new.container
        )
        return new

    def named(self, name: str) -> Scope:
        """Returns a copy with another name prefix."""
        new = Scope.__new__(Scope)
        new.name = name
        new.device = self.device
        new.devices = self.devices
        new.controllers = self.controllers
        new.colocation = self.colocation
        new.container = self.container
        new.context = self.context
        new.attrs = self.attrs
        new.overrides = self.overrides
        new.plain = self.plain
        return new


ROOT = Scope()


class ThreadScope(threading.local):
    """The Scope of each thread in a graph."""

    def __init__(self) -> None:
        self.scope = ROOT


class _GraphStack(threading.local):
    """The default graphs of each thread, innermost last, and the default graph of the process."""

    def __init__(self) -> None:
        self.graph: Any = None
        self.outer: list[Any] = []


graph_stack = _GraphStack()


class DeferredScope:
    """Context manager that computes its Scope when it is entered."""

    __slots__ = ("_graph", "_make", "_outer")

    def __init__(self, graph: Any, make: Any) -> None:
        self._graph = graph
        self._make = make
        self._outer: list[Scope] = []

    def __enter__(self) -> Any:
        local = self._graph._local
        scope, value = self._make(local.scope)
        self._outer.append(local.scope)
        local.scope = scope
        return value

    def __exit__(self, *_: object) -> None:
        self._graph._local.scope = self._outer.pop()


def check_op_name(name: str) -> None:
    """Checks the name of a node. Raises: ValueError for an invalid name."""
    if not _OP_NAME.match(name):
        raise ValueError(
            f"'{name}' is not a valid node name: begin with a letter, digit or dot, "
            "go on with letters, digits, _ . \\ / > -"
        )


def check_scope_name(name: str, at_root: bool) -> None:
    """Checks the name of a scope. Raises: ValueError for an invalid name."""
    if not (_OP_NAME if at_root else _SCOPE_NAME).match(name):
        raise ValueError(f"'{name}' is not a valid scope name")


class AsDefault:
    """Context manager: pushes a graph on the thread's stack of default graphs."""

    __slots__ = ("_graph",)

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def __enter__(self) -> Any:
        graph_stack.outer.append(graph_stack.graph)
        graph_stack.graph = self._graph
        return self._graph

    def __exit__(self, *_: object) -> None:
        if graph_stack.graph is not self._graph:
            raise AssertionError(
                "Nesting violated for default stack of Graph objects: leave as_default scopes "
                "in the reverse order of entering"
            )
        graph_stack.graph = graph_stack.outer.pop()

"""What surrounds the construction of a node: names, devices, control dependencies, colocation.

The state of a thread in a graph is one immutable `Scope`; entering something replaces it by a
changed copy and leaving puts the old one back.
"""

from __future__ import annotations

import re
import threading
from typing import Any

_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


class Controller:
    """Control inputs in force, and the operations made under them, which carry them on."""

    __slots__ = ("inputs", "seen")

    def __init__(self, inputs: tuple[Any, ...]) -> None:
        self.inputs = inputs
        self.seen: set[Any] = set()


class Scope:
    """The surroundings of new nodes.

    Attributes:
      name: prefix without its last slash; "" at the root.
      device: merged device string, or "".
      devices: from outermost to innermost, strings and functions of an Operation, where at least
        one is a function; empty otherwise.
      controllers: control dependencies in force, outermost first.
      colocation: operations to colocate new ones with.
      container: default resource container.
      context: control-flow context (cond or while), or None.
      attrs: attributes to add to every node.
      overrides: op type -> gradient name.
      plain: nothing but the name is in force.
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
        """A copy with some fields changed."""
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
        """A copy with another name prefix."""
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
    """The Scope of each thread in one graph."""

    def __init__(self) -> None:
        self.scope = ROOT


class _GraphStack(threading.local):
    """The default graph of each thread: the innermost `as_default`, or the process's own."""

    def __init__(self) -> None:
        self.graph: Any = None
        self.outer: list[Any] = []


graph_stack = _GraphStack()


class Entered:
    """Context manager: puts a Scope in force in a graph, and gives a value to `as`."""

    __slots__ = ("_graph", "_outer", "_scope", "_value")

    def __init__(self, graph: Any, scope: Scope, value: Any = None) -> None:
        self._graph = graph
        self._scope = scope
        self._value = value
        self._outer: list[Scope] = []

    def __enter__(self) -> Any:
        local = self._graph._local
        self._outer.append(local.scope)
        local.scope = self._scope
        return self._value

    def __exit__(self, *_: object) -> None:
        self._graph._local.scope = self._outer.pop()


class Deferred:
    """Context manager that works out its Scope when it is entered."""

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
    """Raises: ValueError unless a node may have this name."""
    if not _OP_NAME.match(name):
        raise ValueError(
            f"'{name}' is not a valid node name: begin with a letter, digit or dot, "
            "go on with letters, digits, _ . \\ / > -"
        )


def check_scope_name(name: str, at_root: bool) -> None:
    """Raises: ValueError unless a scope may have this name."""
    if not (_OP_NAME if at_root else _SCOPE_NAME).match(name):
        raise ValueError(f"'{name}' is not a valid scope name")

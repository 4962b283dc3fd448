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


# ---- the default graph's scopes: tf.name_scope and so on -------------------------------------


def _default_graph() -> Any:
    from headrace.graph.framework.graph import get_default_graph

    return get_default_graph()


class name_scope:  # noqa: N801 - TF's name
    """Context manager: names made inside begin with a prefix.

    Args:
      name: prefix, made unique; one that ends in "/" is entered again as it is; None or "" leads
        to the root.
      default_name: prefix where name is None.
      values: tensors about to be used; their graph becomes the default.
    Returns: (as) the prefix with its slash.
    """

    __slots__ = ("_entered", "_graph_entered", "_name", "_values")

    def __init__(self, name: Any, default_name: Any = None, values: Any = None) -> None:
        if not (name is None or isinstance(name, str)):
            raise TypeError(f"`name` should be a string, not {name!r}")
        if name is None and default_name is None and values is not None:
            raise ValueError(
                "At least one of name (None) and default_name (None) must be provided."
            )
        self._name = default_name if name is None else name
        self._values = values
        self._entered: list[Any] = []
        self._graph_entered: list[Any] = []

    @property
    def name(self) -> str | None:
        """The prefix asked for."""
        return self._name

    def __enter__(self) -> str:
        graph = _default_graph()
        if self._values:
            owner = graph_of(self._values)
            if owner is not None and owner is not graph:
                graph = owner
                default = graph.as_default()
                default.__enter__()
                self._graph_entered.append(default)
            else:
                self._graph_entered.append(None)
        else:
            self._graph_entered.append(None)
        entered = graph.name_scope(self._name)
        scope = entered.__enter__()
        self._entered.append(entered)
        return scope

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)
        default = self._graph_entered.pop()
        if default is not None:
            default.__exit__(*error)


name_scope_v1 = name_scope


def graph_of(values: Any) -> Any:
    """The graph of the first tensor, operation or the like among values, or None."""
    for value in values:
        if isinstance(value, (list, tuple)):
            found = graph_of(value)
        else:
            found = getattr(value, "graph", None)
            if not hasattr(found, "_by_name"):
                found = None
        if found is not None:
            return found
    return None


def op_scope(values: Any, name: Any, default_name: Any = None) -> name_scope:
    """TF 1.x's older spelling of name_scope."""
    return name_scope(name, default_name, values)


def device(device_name_or_function: Any) -> Any:
    """Context manager: new nodes get this device; see Graph.device."""
    return _default_graph().device(device_name_or_function)


def control_dependencies(control_inputs: Any) -> Any:
    """Context manager: new nodes run after these; see Graph.control_dependencies."""
    return _default_graph().control_dependencies(control_inputs)


def colocate_with(op: Any, ignore_existing: bool = False) -> Any:
    """Context manager: new nodes go to the device of `op`; see Graph.colocate_with."""
    return _default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> Any:
    """Context manager: new resources live in this container; see Graph.container."""
    return _default_graph().container(container_name)


class init_scope:  # noqa: N801 - TF's name
    """Context manager: lifts construction out of control flow and control dependencies."""

    def __init__(self) -> None:
        self._entered: list[Any] = []

    def __enter__(self) -> None:
        entered = _default_graph().control_dependencies(None)
        entered.__enter__()
        self._entered.append(entered)

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)

"""Context managers of the default graph: name_scope, device, control_dependencies, ..."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

from headrace.graph.framework.default_graph import outermost_graph
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.typing.aliases import Device, GraphElement


class name_scope:  # noqa: N801 - TF's name
    """Context manager that prefixes the names of new nodes.

    Args:
      name: prefix, made unique; a name that ends in "/" re-enters that scope; None or "" goes to
        the root.
      default_name: prefix if name is None.
      values: tensors whose graph becomes the default graph.
    Returns: when entered, the prefix with its slash.
    Raises: TypeError if name is not a string; ValueError if name and default_name are None but
      values are given.
    """

    __slots__ = ("_entered", "_graph_entered", "_name", "_values")

    def __init__(
        self, name: str | None, default_name: str | None = None, values: Iterable[Any] | None = None
    ) -> None:
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
        """The requested prefix."""
        return self._name

    def __enter__(self) -> str:
        graph = get_default_graph()
        if self._values and not graph.building_function:
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


def graph_of(values: Iterable[Any]) -> Any:
    """Returns the graph of the first tensor or operation among values, or None."""
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


def op_scope(
    values: Iterable[Any], name: str | None, default_name: str | None = None
) -> name_scope:
    """Returns a name_scope; an old name in TF 1.x."""
    return name_scope(name, default_name, values)


def device(device_name_or_function: Device) -> Any:
    """Returns a context manager that sets the device of new nodes; see Graph.device."""
    return get_default_graph().device(device_name_or_function)


def control_dependencies(control_inputs: Sequence[GraphElement] | None) -> Any:
    """Returns a context manager: new nodes run after these; see Graph.control_dependencies."""
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: object, ignore_existing: bool = False) -> Any:
    """Returns a context manager that colocates new nodes with `op`; see Graph.colocate_with."""
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> Any:
    """Returns a context manager that sets the container of resources; see Graph.container."""
    return get_default_graph().container(container_name)


class init_scope:  # noqa: N801 - TF's name
    """Context manager that leaves functions, control-flow contexts and control dependencies.

    The graph around all functions becomes the default graph; the name scope stays.
    """

    def __init__(self) -> None:
        self._entered: list[ExitStack] = []

    def __enter__(self) -> None:
        inner = get_default_graph()
        graph = outermost_graph()
        stack = ExitStack()
        if graph is not inner:
            scope = inner.get_name_scope()
            stack.enter_context(graph.as_default())
            stack.enter_context(graph.name_scope(scope + "/" if scope else None))
        stack.enter_context(graph.control_dependencies(None))
        self._entered.append(stack)

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)

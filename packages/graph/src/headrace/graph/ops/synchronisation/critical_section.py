"""Critical sections: parts of a graph that only one step at a time may execute."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import group, identity
from headrace.graph.control_flow.control_flow_ops import tuple as tuple_of
from headrace.graph.framework.default_graph import add_to_collection, get_collection
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.nest import flatten, map_structure, pack_sequence_as
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import (
    colocate_with,
    control_dependencies,
    init_scope,
    name_scope,
)

CRITICAL_SECTIONS = "critical_sections"
CRITICAL_SECTION_EXECUTIONS = "critical_section_executions"


class _Execution(NamedTuple):
    """One call of `execute`, kept in a collection of the graph."""

    op: Operation
    handle: Tensor
    resources: list[Tensor]
    exclusive_resource_access: bool


class _Entered(threading.local):
    """The sections whose functions this thread is calling, from the outermost on."""

    def __init__(self) -> None:
        self.sections: list[Any] = []


_entered = _Entered()


class CriticalSection:
    """A mutex for parts of a graph, also those of concurrent steps.

    Args:
      name: name of the mutex's operation.
      shared_name: name under which sessions share the mutex; by default `name`.
      critical_section_def, import_scope: not supported, as in TensorFlow.
    Raises: ValueError if critical_section_def is given.

    >>> import headrace.graph as hr
    >>> total = hr.get_variable("total", initializer=0.0, use_resource=True)
    >>> section = hr.CriticalSection()
    >>> doubled = section.execute(lambda: total.assign(2.0 * total + 1.0, read_value=True))
    >>> with hr.Session() as session:
    ...     session.run(total.initializer)
    ...     print([float(session.run(doubled)) for _ in range(3)])
    [1.0, 3.0, 7.0]
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if critical_section_def and name is not None:
            raise ValueError(
                f"Arguments critical_section_def={critical_section_def} and "
                f"shared_name={shared_name} are mutually exclusive. Please only specify one of "
                "them."
            )
        if critical_section_def:
            raise ValueError("Argument `critical_section_def` is not supported.")
        with name_scope(name, "CriticalSection", []) as scope, init_scope():
            container = get_default_graph()._container or ""
            self._handle: Tensor = op(
                "MutexV2",
                shared_name=scope if shared_name is None else shared_name,
                container=container,
                name=scope,
            )
        self._signature = (container, shared_name or scope, _place(self._handle.op))
        add_to_collection(CRITICAL_SECTIONS, self)

    @property
    def name(self) -> str:
        """The name of the mutex's operation."""
        return self._handle.op.name

    def execute(
        self,
        fn: Callable[[], Any],
        exclusive_resource_access: bool = True,
        name: str | None = None,
    ) -> Any:
        """Adds the operations that fn makes, to run while this mutex is locked.

        Args:
          fn: function without arguments; it returns a structure of tensors and operations.
          exclusive_resource_access: reject graphs in which another critical section uses the
            resources that fn uses, since the two do not exclude each other.
        Returns: the structure that fn returns, of tensors that are ready once the mutex is free.
        Raises: ValueError if fn uses this section itself, or for resources of another section.
        """
        with name_scope(name, "critical_section_execute", []):
            with self._entering():
                lock = op("MutexLock", self._handle)
                graph = get_default_graph()
                before = len(graph.get_operations())
                with control_dependencies([lock]):
                    result = fn()
                created = graph.get_operations()[before:]
            self._wait_for_inputs(created, lock.op)
            resources = _resources_of(created)
            if any(self._is_own(handle) for handle in resources):
                raise ValueError(
                    "Attempting to lock a CriticalSection in which we are already running "
                    f"(signature={self._signature}). This is illegal and may cause deadlocks."
                )
            self._check_other_sections(resources, exclusive_resource_access)
            leaves = [_kept(leaf) for leaf in flatten(result)]
            with control_dependencies(leaves):
                with colocate_with(self._handle):
                    unlock = op("ConsumeMutexLock", lock)
                result = pack_sequence_as(result, tuple_of(leaves) if leaves else [])
            with control_dependencies([unlock]):
                outputs = map_structure(_kept, result)
            add_to_collection(
                CRITICAL_SECTION_EXECUTIONS,
                _Execution(lock.op, self._handle, resources, exclusive_resource_access),
            )
            return outputs

    @contextlib.contextmanager
    def _entering(self) -> Iterator[None]:
        if self._signature in _entered.sections:
            raise ValueError(
                f"Attempting to lock a CriticalSection (signature={self._signature}) in which we "
                "are already running. This is illegal and may cause deadlocks."
            )
        _entered.sections.append(self._signature)
        try:
            yield
        finally:
            _entered.sections.pop()

    def _wait_for_inputs(self, created: Iterable[Operation], lock: Operation) -> None:
        """Makes the lock wait for the inputs of fn, so that it is held for a short time."""
        made = set(created)
        needed = {t.op for node in made for t in node.inputs}
        needed |= {node for each in made for node in each.control_inputs}
        needed -= made | {lock, *lock.control_inputs, *(t.op for t in lock.inputs)}
        if needed:
            lock._add_control_input(group(*sorted(needed, key=lambda node: node._id)))

    def _is_own(self, handle: Tensor) -> bool:
        return (
            handle.op.type == "MutexV2"
            and handle.op.get_attr("shared_name") == self._handle.op.get_attr("shared_name")
            and _place(handle.op) == _place(self._handle.op)
        )

    def _check_other_sections(self, resources: list[Tensor], exclusive: bool) -> None:
        for other in get_collection(CRITICAL_SECTION_EXECUTIONS):
            if self._is_own(other.handle):
                continue
            if not (exclusive or other.exclusive_resource_access):
                continue
            shared = [t for t in resources if any(t is o for o in other.resources)]
            if shared:
                raise ValueError(
                    f"This execution would access resources: {shared}. Either this lock "
                    f"(CriticalSection: {self._handle}) or lock '{other.op.name}' "
                    f"(CriticalSection: {other.handle}) requested exclusive resource access of "
                    "this resource. Did you mean to call execute with keyword argument "
                    "exclusive_resource_access=False?"
                )


def _place(node: Operation) -> Any:
    """The device of a node, or what it is colocated with."""
    if node.device:
        return node.device
    try:
        return tuple(node.get_attr("_class"))
    except ValueError:
        return None


def _resources_of(nodes: Iterable[Operation]) -> list[Tensor]:
    found: list[Tensor] = []
    for node in nodes:
        for t in node.inputs:
            if t.dtype.name == "resource" and all(t is not other for other in found):
                found.append(t)
    return found


def _kept(leaf: Any) -> Any:
    return group(leaf) if isinstance(leaf, Operation) else identity(leaf)

"""Variable scopes: name prefix and defaults of get_variable."""

from __future__ import annotations

import enum
import functools
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from headrace.formats.dtypes import float32
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.scopes import graph_of
from headrace.graph.typing.aliases import (
    Collections,
    Constraint,
    Device,
    DTypeLike,
    Initializer,
    Partitioner,
    Regularizer,
    ShapeLike,
)
from headrace.graph.variables.distribution import VariableAggregation, VariableSynchronization

if TYPE_CHECKING:
    from headrace.graph.variables.variable_store import VariableStore


class _ReuseMode(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _ReuseMode.AUTO_REUSE

SCOPES = ("__varscope",)


# ---- scopes --------------------------------------------------------------------------------------


class VariableScope:
    """Name prefix and defaults of get_variable: reuse, initializer, regularizer, ..."""

    def __init__(
        self,
        reuse: bool | _ReuseMode | None,
        name: str = "",
        initializer: Initializer | None = None,
        regularizer: Regularizer | None = None,
        caching_device: Device | None = None,
        partitioner: Partitioner | None = None,
        custom_getter: Callable[..., Any] | None = None,
        name_scope: str = "",
        dtype: DTypeLike = float32,
        use_resource: bool | None = None,
        constraint: Constraint | None = None,
    ) -> None:
        self._name = name
        self._reuse = reuse
        self._initializer = initializer
        self._regularizer = regularizer
        self._caching_device = caching_device
        self._partitioner = partitioner
        self._custom_getter = custom_getter
        self._name_scope = name_scope
        self._dtype = dtype
        self._use_resource = use_resource
        self._constraint = constraint

    name = property(lambda self: self._name, doc="Prefix of the variables' names.")
    reuse = property(lambda self: self._reuse, doc="True, False, None or AUTO_REUSE.")
    initializer = property(lambda self: self._initializer, doc="Default initializer.")
    regularizer = property(lambda self: self._regularizer, doc="Default regularizer.")
    caching_device = property(lambda self: self._caching_device, doc="Default caching device.")
    partitioner = property(lambda self: self._partitioner, doc="Default partitioner.")
    custom_getter = property(lambda self: self._custom_getter, doc="Default custom getter.")
    dtype = property(lambda self: self._dtype, doc="Default type.")
    use_resource = property(lambda self: self._use_resource, doc="Kind of variable by default.")
    constraint = property(lambda self: self._constraint, doc="Default constraint.")
    original_name_scope = property(
        lambda self: self._name_scope, doc="The name scope in which it was first entered."
    )

    def reuse_variables(self) -> None:
        """Makes get_variable reuse existing variables only."""
        self._reuse = True

    def set_initializer(self, initializer: Initializer) -> None:
        """Sets the default initializer."""
        self._initializer = initializer

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Sets the default dtype."""
        self._dtype = dtype

    def set_use_resource(self, use_resource: bool) -> None:
        """Sets whether new variables are resource variables."""
        self._use_resource = use_resource

    def set_regularizer(self, regularizer: Regularizer) -> None:
        """Sets the default regularizer."""
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: Device) -> None:
        """Sets the default caching device."""
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Partitioner | None) -> None:
        """Sets the default partitioner."""
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Callable[..., Any]) -> None:
        """Sets the default custom getter."""
        self._custom_getter = custom_getter

    def get_collection(self, name: str) -> list[Any]:
        """Returns the values of a collection in the scope."""
        scope = self._name + "/" if self._name else self._name
        return get_default_graph().get_collection(name, scope)

    def trainable_variables(self) -> list[Any]:
        """Returns the trainable variables of the scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        """Returns the global variables of the scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """Returns the local variables of the scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def _copy(self, **changes: Any) -> VariableScope:
        new = VariableScope(None)
        new.__dict__.update(self.__dict__)
        new.__dict__.update({f"_{k}": v for k, v in changes.items()})
        return new

    def get_variable(
        self,
        var_store: VariableStore,
        name: str,
        shape: ShapeLike | None = None,
        dtype: DTypeLike | None = None,
        initializer: Initializer | None = None,
        regularizer: Regularizer | None = None,
        reuse: bool | _ReuseMode | None = None,
        trainable: bool | None = None,
        collections: Collections | None = None,
        caching_device: Device | None = None,
        partitioner: Partitioner | None = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        custom_getter: Callable[..., Any] | None = None,
        constraint: Constraint | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:
        """Returns or creates a variable with the defaults of the scope; see hr.get_variable."""
        if regularizer is None:
            regularizer = self._regularizer
        if initializer is None:
            initializer = self._initializer
        if dtype is None:
            declared = getattr(initializer, "dtype", None)
            value = initializer is not None and not callable(initializer)
            dtype = declared if value and declared is not None else self._dtype
        return var_store.get(
            f"{self._name}/{name}" if self._name else name,
            self._custom_getter if custom_getter is None else custom_getter,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            reuse=self._reuse if reuse is None else reuse,
            trainable=trainable,
            collections=collections,
            caching_device=self._caching_device if caching_device is None else caching_device,
            partitioner=self._partitioner if partitioner is None else partitioner,
            validate_shape=validate_shape,
            use_resource=self._use_resource if use_resource is None else use_resource,
            constraint=self._constraint if constraint is None else constraint,
            synchronization=synchronization,
            aggregation=aggregation,
        )


class _ScopeStore(threading.local):
    """The current variable scope of a thread in a graph, and the count of each scope's uses."""

    def __init__(self) -> None:
        self.current = VariableScope(False)
        self.counts: dict[str, int] = {}

    def open(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def close_subscopes(self, name: str) -> None:
        for key in self.counts:
            if not name or key.startswith(name + "/"):
                self.counts[key] = 0


def _get_scopes() -> _ScopeStore:
    kept = get_default_graph().get_collection_ref(SCOPES)
    if not kept:
        kept.append(_ScopeStore())
    return kept[0]


def get_variable_scope() -> VariableScope:
    """Returns the current variable scope."""
    return _get_scopes().current


def _unique_default(prefix: str) -> str:
    scopes = _get_scopes()
    outer = scopes.current.name
    name = f"{outer}/{prefix}" if outer else prefix
    if not scopes.counts.get(name):
        return prefix
    index = 1
    while scopes.counts.get(f"{name}_{index}"):
        index += 1
    return f"{prefix}_{index}"


class variable_scope:  # noqa: N801 - TF's name
    """Context manager that sets the prefix and defaults of get_variable, and opens a name scope.

    Args:
      name_or_scope: prefix, or a VariableScope to re-enter.
      default_name: prefix if name_or_scope is None, made unique.
      values: tensors whose graph becomes the default graph.
      initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource,
        constraint: new defaults; None inherits them.
      reuse: True only reuses variables, AUTO_REUSE reuses or creates them; None inherits it.
      auxiliary_name_scope: whether to open a name scope.
    Returns: when entered, the VariableScope.
    Raises: ValueError without names, or for reuse=True without name_or_scope; TypeError for names
      of other types.
    """

    def __init__(
        self,
        name_or_scope: str | VariableScope | None,
        default_name: str | None = None,
        values: Iterable[Any] | None = None,
        initializer: Initializer | None = None,
        regularizer: Regularizer | None = None,
        caching_device: Device | None = None,
        partitioner: Partitioner | None = None,
        custom_getter: Callable[..., Any] | None = None,
        reuse: bool | _ReuseMode | None = None,
        dtype: DTypeLike | None = None,
        use_resource: bool | None = None,
        constraint: Constraint | None = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if name_or_scope is not None and not isinstance(name_or_scope, (str, VariableScope)):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        if name_or_scope is None and reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        if reuse not in (None, False, True, AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._values = values
        self._reuse = None if reuse is False else reuse
        self._custom_getter = custom_getter
        self._auxiliary = auxiliary_name_scope
        self._changes = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "dtype": dtype,
            "use_resource": use_resource,
            "constraint": constraint,
        }
        self._exits: list[Any] = []

    def __enter__(self) -> VariableScope:
        from contextlib import ExitStack

        stack = ExitStack()
        graph = get_default_graph()
        owner = None if graph.building_function else graph_of(self._values or ())
        if owner is not None and owner is not graph:
            stack.enter_context(owner.as_default())
        try:
            scope = self._enter(stack)
        except BaseException:
            stack.close()
            raise
        self._exits.append(stack)
        return scope

    def _enter(self, stack: Any) -> VariableScope:
        target = self._name_or_scope
        graph = get_default_graph()
        if isinstance(target, VariableScope):
            short = target.name.split("/")[-1]
        else:
            short = self._default_name if target is None else target
        current = ""
        if self._auxiliary:
            if short:
                current = stack.enter_context(graph.name_scope(short))
        else:
            outer = graph.get_name_scope()
            current = outer + "/" if outer else ""
        if isinstance(target, VariableScope):
            return stack.enter_context(self._reenter(target))
        name = _unique_default(self._default_name or "") if target is None else target
        return stack.enter_context(self._extend(name, current or name))

    def _reenter(self, target: VariableScope) -> Any:
        scopes = _get_scopes()
        new = target._copy(reuse=self._reuse or target.reuse)
        self._apply(new, target.custom_getter)
        counts = dict(scopes.counts)
        return _ActiveVariableScope(scopes, new, lambda: scopes.__dict__.update(counts=counts))

    def _extend(self, name: str, current: str) -> Any:
        scopes = _get_scopes()
        old = scopes.current
        full = f"{old.name}/{name}" if old.name else name
        new = old._copy(name=full, reuse=self._reuse or old.reuse, name_scope=current)
        self._apply(new, old.custom_getter)
        return _ActiveVariableScope(scopes, new, lambda: scopes.close_subscopes(full))

    def _apply(self, scope: VariableScope, inherited: Any) -> None:
        for key, value in self._changes.items():
            if value is not None:
                setattr(scope, f"_{key}", value)
        if self._custom_getter is not None:
            scope._custom_getter = _composed(self._custom_getter, inherited)

    def __exit__(self, *error: Any) -> None:
        self._exits.pop().__exit__(*error)


class _ActiveVariableScope:
    """Context manager: activates a VariableScope."""

    def __init__(self, scopes: _ScopeStore, new: VariableScope, leave: Callable[[], None]) -> None:
        self._scopes = scopes
        self._new = new
        self._leave = leave

    def __enter__(self) -> VariableScope:
        self._old = self._scopes.current
        self._scopes.open(self._new.name)
        self._scopes.current = self._new
        return self._new

    def __exit__(self, *_: object) -> None:
        self._leave()
        self._scopes.current = self._old


def _composed(custom_getter: Any, inherited: Any) -> Any:
    if inherited is None:
        return custom_getter

    def both(getter: Any, *args: Any, **kwargs: Any) -> Any:
        return custom_getter(functools.partial(inherited, getter), *args, **kwargs)

    return both


def variable_op_scope(
    values: Iterable[Any],
    name_or_scope: str | VariableScope | None,
    default_name: str | None = None,
    **kwargs: Any,
) -> Any:
    """Same as variable_scope, its old form."""
    return variable_scope(name_or_scope, default_name=default_name, values=values, **kwargs)


class variable_creator_scope:  # noqa: N801 - TF's name
    """Context manager that creates variables through a function.

    Args:
      variable_creator: `f(next_creator, **kwargs) -> variable`.
    """

    def __init__(self, variable_creator: Callable[..., Any]) -> None:
        self._creator = variable_creator

    def __enter__(self) -> None:
        self._local = get_default_graph()._local
        self._old = getattr(self._local, "variable_creators", [])
        self._local.variable_creators = [*self._old, self._creator]

    def __exit__(self, *_: object) -> None:
        self._local.variable_creators = self._old


def no_regularizer(_: Any) -> None:
    """A regularizer without a loss, which overrides the regularizer of the scope."""
    return None

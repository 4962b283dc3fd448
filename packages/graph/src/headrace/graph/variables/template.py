"""make_template: functions whose calls share the variables created by the first call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.variables.variable_scope import VariableScope, variable_scope


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Template:
    """Wraps a function so that all its calls share their get_variable variables.

    Args:
      name_: name of the variable scope, made unique.
      func_: function that adds operations to the graph.
      create_scope_now_: open the scope now instead of at the first call.
      unique_name_: exact name of the scope.
      custom_getter_: custom getter of get_variable in the function.
      kwargs: arguments fixed for all calls.
    Returns: a Template.
    Raises: ValueError without a name; when called, for variables created after the first call.
    """
    if kwargs:
        func_ = functools.partial(func_, **kwargs)
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)


class Template:
    """A function with shared variables; see make_template."""

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        create_scope_now: bool = False,
        unique_name: str | None = None,
        custom_getter: Callable[..., Any] | None = None,
    ) -> None:
        if name is None:
            raise ValueError("name cannot be None.")
        self._func = func
        self._name = name
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._scope: VariableScope | None = None
        self._called = False
        if create_scope_now:
            self._open()

    def _open(self) -> None:
        if self._unique_name:
            scope = variable_scope(self._unique_name, custom_getter=self._custom_getter)
        else:
            scope = variable_scope(None, default_name=self._name, custom_getter=self._custom_getter)
        with scope as created:
            self._scope = created

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._scope is None:
            self._open()
        reuse = True if self._called else None
        with variable_scope(self._scope, reuse=reuse):
            before = len(get_default_graph().get_collection_ref(GraphKeys.TRAINABLE_VARIABLES))
            result = self._func(*args, **kwargs)
            if self._called:
                trainable = get_default_graph().get_collection_ref(GraphKeys.TRAINABLE_VARIABLES)
                if len(trainable) != before:
                    raise ValueError(
                        "New variable(s) created when calling a template after the first time, "
                        "perhaps you used hr.Variable when you meant hr.get_variable: "
                        f"{trainable[before:]}"
                    )
        self._called = True
        return result

    @property
    def name(self) -> str:
        """The given name."""
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The wrapped function."""
        return self._func

    @property
    def variable_scope(self) -> VariableScope | None:
        """Its variable scope; None before it is opened."""
        return self._scope

    @property
    def variable_scope_name(self) -> str | None:
        """The name of its variable scope."""
        if self._scope is None:
            return None
        name = self._scope.name
        return name[:-1] if name and name[-1] == "/" else name

    @property
    def global_variables(self) -> list[Any]:
        """Its global variables."""
        return [] if self._scope is None else self._scope.global_variables()

    variables = global_variables

    @property
    def trainable_variables(self) -> list[Any]:
        """Its trainable variables."""
        return [] if self._scope is None else self._scope.trainable_variables()

    @property
    def local_variables(self) -> list[Any]:
        """Its local variables."""
        return [] if self._scope is None else self._scope.local_variables()

"""arg_scope: default arguments of functions within a block."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class _Scopes(threading.local):
    """The nested scopes of a thread: each maps an undecorated function to its defaults."""

    def __init__(self) -> None:
        self.stack: list[dict[Any, dict[str, Any]]] = [{}]


_scopes = _Scopes()


def _key(function: Any) -> Any:
    return getattr(function, "_key_op", None)


def add_arg_scope(func: Function) -> Function:
    """Decorates a function so that arg_scope can set defaults of its arguments.

    Returns: a function that adds the defaults of the current arg_scope to the arguments of a call.
    """

    @functools.wraps(func)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        defaults = _scopes.stack[-1].get(func)
        return func(*args, **({**defaults, **kwargs} if defaults else kwargs))

    optional = [p for p in inspect.signature(func).parameters.values() if p.default is not p.empty]
    scoped._key_op = func  # type: ignore[attr-defined]
    scoped._optional_arguments = tuple([p.name for p in optional])  # type: ignore[attr-defined]
    return scoped  # type: ignore[return-value]


def has_arg_scope(func: Callable[..., Any]) -> bool:
    """Returns whether a function is decorated with add_arg_scope."""
    return _key(func) is not None


def arg_scoped_arguments(func: Callable[..., Any]) -> tuple[str, ...]:
    """Returns the names of the arguments with defaults, which arg_scope can set.

    Raises: ValueError if the function is not decorated with add_arg_scope.
    """
    if not has_arg_scope(func):
        raise ValueError(f"{func!r} is not decorated with @add_arg_scope")
    names: tuple[str, ...] = func._optional_arguments  # type: ignore[attr-defined]
    return names


def current_arg_scope() -> dict[Any, dict[str, Any]]:
    """Returns the current scope: it maps undecorated functions to their default arguments."""
    return _scopes.stack[-1]


@contextmanager
def arg_scope(
    list_ops_or_scope: Sequence[Callable[..., Any]] | Mapping[str, Any], **kwargs: Any
) -> Iterator[dict[Any, dict[str, Any]]]:
    """Context manager that sets default arguments of functions.

    Args:
      list_ops_or_scope: functions decorated with add_arg_scope, or a scope that was entered before.
      kwargs: the new defaults; those of outer scopes stay where they are not given.
    Returns: when entered, the scope, which a later arg_scope can enter again.
    Raises: ValueError for a function that is not decorated, or for arguments beside a scope;
      TypeError for values of other types.
    """
    if isinstance(list_ops_or_scope, Mapping):
        if kwargs:
            raise ValueError(
                "When attempting to re-use a scope by supplying a dictionary, kwargs must be empty."
            )
        scope = dict(list_ops_or_scope)
    elif isinstance(list_ops_or_scope, (list, tuple)):
        scope = dict(_scopes.stack[-1])
        for function in list_ops_or_scope:
            if not has_arg_scope(function):
                name = getattr(function, "__name__", function)
                raise ValueError(f"{name} is not decorated with @add_arg_scope")
            scope[_key(function)] = {**scope.get(_key(function), {}), **kwargs}
    else:
        raise TypeError(
            "list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict), got "
            f"{type(list_ops_or_scope).__name__}"
        )
    _scopes.stack.append(scope)
    try:
        yield scope
    finally:
        _scopes.stack.pop()

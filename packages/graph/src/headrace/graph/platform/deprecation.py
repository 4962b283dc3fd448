"""Decorators that mark functions and arguments as deprecated."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from headrace.graph.platform import logging

Function = TypeVar("Function", bound=Callable[..., Any])


def _warn(warned: set[str], key: str, once: bool, text: str) -> None:
    """Logs a warning, once for each key in the set of a decorated function."""
    if once and key in warned:
        return
    warned.add(key)
    logging.warning("%s", text)


def _when(date: str | None) -> str:
    return "in a future version" if date is None else f"after {date}"


def deprecated(
    date: str | None, instructions: str, warn_once: bool = True
) -> Callable[[Function], Function]:
    """Returns a decorator: the function logs a warning when it is called.

    Args:
      date: when the function will be removed, as YYYY-MM-DD; None means a future version.
      instructions: what to use instead.
      warn_once: warn at the first call only.
    """

    def decorate(function: Function) -> Function:
        name = f"{function.__qualname__} (from {function.__module__})"
        warned: set[str] = set()

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            _warn(
                warned,
                "",
                warn_once,
                f"{name} is deprecated and will be removed {_when(date)}.\n"
                f"Instructions for updating:\n{instructions}",
            )
            return function(*args, **kwargs)

        return called  # type: ignore[return-value]

    return decorate


def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any
) -> Callable[[Function], Function]:
    """Returns a decorator: the function logs a warning when it is called with some arguments.

    Args:
      date, instructions: as in deprecated.
      deprecated_arg_names_or_tuples: names, or (name, value for which nothing is logged).
      kwargs: warn_once, as in deprecated.
    """
    silent: dict[str, Any] = dict(
        one if isinstance(one, tuple) else (one, inspect.Parameter.empty)
        for one in deprecated_arg_names_or_tuples
    )
    return _checked_arguments(
        date,
        instructions,
        kwargs.get("warn_once", True),
        lambda given: [
            name
            for name, quiet in silent.items()
            if name in given and not (quiet is not inspect.Parameter.empty and given[name] == quiet)
        ],
        "with {} is deprecated",
    )


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Callable[[Function], Function]:
    """Returns a decorator: the function logs a warning when arguments have some values.

    Args:
      date, instructions, warn_once: as in deprecated.
      deprecated_kwargs: the values.
    """
    return _checked_arguments(
        date,
        instructions,
        warn_once,
        lambda given: [
            f"{name}={value}"
            for name, value in deprecated_kwargs.items()
            if name in given and given[name] == value
        ],
        "with {} is deprecated",
    )


def _checked_arguments(
    date: str | None,
    instructions: str,
    warn_once: bool,
    find: Callable[[dict[str, Any]], list[str]],
    what: str,
) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        warned: set[str] = set()

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            for name in find(dict(signature.bind_partial(*args, **kwargs).arguments)):
                _warn(
                    warned,
                    name,
                    warn_once,
                    f"calling {function.__qualname__} (from {function.__module__}) "
                    f"{what.format(name)} and will be removed {_when(date)}.\n"
                    f"Instructions for updating:\n{instructions}",
                )
            return function(*args, **kwargs)

        return called  # type: ignore[return-value]

    return decorate


def deprecated_argument_lookup(
    new_name: str, new_value: object, old_name: str, old_value: object
) -> Any:
    """Returns the value of a renamed argument. Raises: ValueError if both names are given."""
    if old_value is not None:
        if new_value is not None:
            raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
        return old_value
    return new_value


class tf_export:  # noqa: N801 - TF's name
    """Decorator that returns its function unchanged: names are public by the tables of hr.

    Args:
      names, kwargs: ignored.
    """

    def __init__(self, *names: str, **kwargs: Any) -> None:
        self._names = names

    def __call__(self, function: Function) -> Function:
        return function

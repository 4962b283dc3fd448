"""Python functions that a graph calls, by token: where builder and kernel of py_func meet.

The graph keeps the RegisteredCallable; this registry refers to it weakly, so that a function goes
with its graph, also where the function itself refers to the graph. A token means nothing in
another process.
"""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Callable
from typing import Any

from headrace.formats.errors import FailedPreconditionError

_numbers = itertools.count()
_registered: weakref.WeakValueDictionary[str, RegisteredCallable] = weakref.WeakValueDictionary()


class RegisteredCallable:
    """A function that can be found by its token as long as this object lives.

    Attributes:
      function: what to call.
      token: the name to find it by; goes into the node's `token` attribute.
    """

    __slots__ = ("__weakref__", "function", "token")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.token = f"pyfunc_{os.getpid()}_{next(_numbers)}"
        _registered[self.token] = self


def register(function: Callable[..., Any]) -> RegisteredCallable:
    """Makes a function findable by token; the graph that calls it must keep what this returns."""
    return RegisteredCallable(function)


def find(token: str | bytes) -> Callable[..., Any]:
    """Returns the function of a token.

    Raises: FailedPreconditionError if its graph is gone, or belongs to another process.
    """
    name = token.decode() if isinstance(token, bytes) else token
    found = _registered.get(name)
    if found is None:
        raise FailedPreconditionError(
            None,
            None,
            f"py_func {name!r}: no such function in process {os.getpid()}: its graph is gone or "
            "was made in another process; build the graph where it runs",
        )
    return found.function

"""Registry of the Python functions that py_func nodes call, keyed by token.

The graph builder registers a function, and the kernel looks it up by the node's `token` attribute.
The graph owns the RegisteredCallable. The registry holds weak references, so that a function is
freed together with its graph, even if the function refers to the graph. Tokens are valid in one
process only.
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
    """A function that `find` returns for its token while this object is alive.

    Attributes:
      function: the function to call.
      token: unique key of the function; the value of the node's `token` attribute.
    """

    __slots__ = ("__weakref__", "function", "token")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.token = f"pyfunc_{os.getpid()}_{next(_numbers)}"
        _registered[self.token] = self


def register(function: Callable[..., Any]) -> RegisteredCallable:
    """Registers a function; the graph that calls it must keep the returned object alive."""
    return RegisteredCallable(function)


def find(token: str | bytes) -> Callable[..., Any]:
    """Returns the function registered under a token.

    Raises: FailedPreconditionError if its graph was deleted or belongs to another process.
    """
    name = token.decode() if isinstance(token, bytes) else token
    found = _registered.get(name)
    if found is None:
        raise FailedPreconditionError(
            None,
            None,
            f"py_func {name!r}: no such function in process {os.getpid()}: its graph was "
            "deleted or built in another process; build the graph where it runs",
        )
    return found.function

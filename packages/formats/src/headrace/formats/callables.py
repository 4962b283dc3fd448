"""Python functions that nodes call by token, within one process (`py_func`).

The registry holds them weakly: whoever registers one (a graph) keeps it alive.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any

_functions: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_numbers = itertools.count()
_lock = threading.Lock()


def register(function: Callable[..., Any]) -> str:
    """Gives a function a token that is new in this process.

    Args:
      function: a function object of its own (a bound method would be gone at once).
    """
    with _lock:
        token = f"pyfunc_{next(_numbers)}"
        _functions[token] = function
    return token


def find(token: str) -> Callable[..., Any] | None:
    """The function of a token; None where it is not in this process, or gone with its graph."""
    return _functions.get(token)

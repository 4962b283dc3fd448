"""The name of the call of `gradients` in progress, for gradients that share state in it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

_calls = threading.local()


@contextlib.contextmanager
def gradient_call(scope: str) -> Iterator[None]:
    """Marks a call of `gradients` as in progress.

    Args:
      scope: its name scope, which is unique in the graph.
    """
    before = getattr(_calls, "name", None)
    _calls.name = scope.rstrip("/")
    try:
        yield
    finally:
        _calls.name = before


def gradient_call_name() -> str:
    """Returns the name scope of the innermost call in progress; "gradients" outside of calls."""
    return getattr(_calls, "name", None) or "gradients"

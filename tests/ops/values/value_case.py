"""One call of a public function, and what it must return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ValueCase:
    """A call `hr.<name>(*args, **kwargs)`; expected is its value, or the list of its values.

    An argument may be a function: it gets `hr`, and returns the argument.
    """

    name: str
    args: tuple[Any, ...]
    expected: Any
    kwargs: dict[str, Any] = field(default_factory=dict)


def call(name: str, *args: Any, gives: Any, **kwargs: Any) -> ValueCase:
    """A case in the order in which a reader says it: the call, then what it gives."""
    return ValueCase(name, args, gives, kwargs)

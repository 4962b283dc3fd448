"""Arguments that a call must give, although a later or older name of theirs makes them optional."""

from __future__ import annotations

from typing import TypeVar

_Value = TypeVar("_Value")


def required(value: _Value | None, name: str) -> _Value:
    """Returns an argument that is not None. Raises: TypeError that names a missing argument."""
    if value is None:
        raise TypeError(f"missing required argument: {name!r}")
    return value

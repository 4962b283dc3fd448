"""Values of a request's JSON body, checked."""

from __future__ import annotations

import math
from typing import Any

from headrace.board.errors import BadRequest


def integer(value: Any, where: str, minimum: int = 0, maximum: int = 2**53) -> int:
    """Returns an integer.

    Args:
      where: the value's place in the body, for the message: queries[0].px.
      minimum, maximum: the smallest and the largest value accepted.
    Raises: BadRequest.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadRequest(f"{where} is {_shown(value)}, not an integer")
    if not minimum <= value <= maximum:
        raise BadRequest(f"{where} is not within {minimum} and {maximum}")
    return value


def number(value: Any, where: str) -> float:
    """Returns a finite number. Raises: BadRequest."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadRequest(f"{where} is {_shown(value)}, not a number")
    try:
        converted = float(value)
    except OverflowError:
        converted = math.inf
    if not math.isfinite(converted):
        raise BadRequest(f"{where} is not finite")
    return converted


def one_of(value: Any, allowed: tuple[str, ...], where: str) -> str:
    """Returns one of the allowed strings. Raises: BadRequest for any other value."""
    if not isinstance(value, str) or value not in allowed:
        raise BadRequest(f"{where} is {_shown(value)}: it may be {', '.join(allowed)}")
    return value


def _shown(value: Any) -> str:
    if value is None:
        return "missing"
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, int) and abs(value) > 10**20:  # Python may refuse to write it out
        return "a huge integer"
    return repr(value)[:60]

"""Values of a request's JSON, checked."""

from __future__ import annotations

import math
from typing import Any

from headrace.board.errors import BadRequest


def integer(value: Any, where: str, least: int = 0, most: int = 2**53) -> int:
    """Returns an integer of JSON.

    Args:
      where: names the value in the message, such as queries[0].px.
      least, most: what it must lie within.
    Raises: BadRequest.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadRequest(f"{where} is {_shown(value)}, not an integer")
    if not least <= value <= most:
        raise BadRequest(f"{where} is not within {least} and {most}")
    return value


def number(value: Any, where: str) -> float:
    """Returns a finite number of JSON. Raises: BadRequest."""
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
    """Returns a word. Raises: BadRequest if it is none of those allowed."""
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

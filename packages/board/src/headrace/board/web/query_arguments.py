"""Arguments of a request: the query string and the JSON body, parsed and checked."""

from __future__ import annotations

import math
from typing import Any

from flask import request

from headrace.board.errors import BadRequest


def int_argument(
    name: str, default: int | None = None, minimum: int = 0, maximum: int = 2**53
) -> int:
    """Returns an integer of the query string.

    Args:
      default: the value where the argument is missing or empty; None: it is required.
      minimum, maximum: the smallest and the largest value accepted.
    Raises: BadRequest.
    """
    text = request.args.get(name)
    if text is None or text == "":
        if default is None:
            raise BadRequest(f"{name} is missing")
        return default
    try:
        value = int(text)
    except ValueError:
        raise BadRequest(f"{name} is {text[:40]!r}, not an integer") from None
    if not minimum <= value <= maximum:
        raise BadRequest(f"{name} is {value}, not within {minimum} and {maximum}")
    return value


def flag_argument(name: str) -> bool:
    """Returns whether an argument is 1; 0 or no argument means False. Raises: BadRequest."""
    return bool(int_argument(name, 0, 0, 1))


def step_argument(name: str) -> int | None:
    """Returns a step, any signed 64-bit integer; None where it is missing. Raises: BadRequest."""
    if not request.args.get(name):
        return None
    return int_argument(name, minimum=-(2**63), maximum=2**63 - 1)


def float_argument(name: str, default: float | None = None) -> float | None:
    """Returns a finite number of the query string, or the default. Raises: BadRequest."""
    text = request.args.get(name)
    if text is None or text == "":
        return default
    try:
        value = float(text)
    except ValueError:
        raise BadRequest(f"{name} is {text[:40]!r}, not a number") from None
    if not math.isfinite(value):
        raise BadRequest(f"{name} is {value}, not finite")
    return value


def ids_argument(name: str, max_items: int = 1000) -> list[int] | None:
    """Returns the integers of a list `1,2,3` in the query string; None where it is missing.

    Raises: BadRequest, also for more than max_items.
    """
    text = request.args.get(name)
    if text is None:
        return None
    parts = [part for part in text.split(",") if part]
    if len(parts) > max_items:
        raise BadRequest(f"{name} has {len(parts)} items, more than {max_items}")
    try:
        return [int(part) for part in parts]
    except ValueError:
        raise BadRequest(f"{name} is {text[:40]!r}, not integers joined by commas") from None


def body_object() -> dict[str, Any]:
    """Returns the JSON object of the request's body. Raises: BadRequest."""
    try:
        document = request.get_json(silent=True)
    except RecursionError:  # the JSON is nested a thousand levels deep
        document = None
    if not isinstance(document, dict):
        raise BadRequest("the body is not a JSON object")
    return document

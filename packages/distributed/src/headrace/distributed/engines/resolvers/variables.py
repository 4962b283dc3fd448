"""Reading an engine's variables; errors name the variable, what was expected and what came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.formats.errors import InvalidArgumentError

Environment = Mapping[str, str]


def text(environ: Environment, name: str, meaning: str) -> str:
    """Returns a variable that must be set.

    Args:
      meaning: what the variable says, for the message of an error.
    Raises: InvalidArgumentError if it is missing or empty.
    """
    value = environ.get(name, "")
    if not value:
        raise invalid(f"{name} is not set: expected {meaning}")
    return value


def number(environ: Environment, name: str, meaning: str, default: int | None = None) -> int:
    """Returns a variable as a number of at least 0.

    Args:
      default: value of a variable that is not set; None: it must be set.
    Raises: InvalidArgumentError if it is missing or no such number.
    """
    value = environ.get(name, "")
    if not value and default is not None:
        return default
    value = text(environ, name, meaning)
    if not (value.isascii() and value.isdigit() and len(value) < 19):
        raise invalid(f"{name} is {value!r}: expected {meaning}, a number of at least 0")
    return int(value)


def port_number(environ: Environment, name: str, default: int) -> int:
    """Returns a variable as the number of a port.

    Raises: InvalidArgumentError if it is set and is no port.
    """
    port = number(environ, name, "a port", default)
    if not 0 < port < 65536:
        raise invalid(f"{name} is {port}: expected a port, 1 to 65535")
    return port


def first_set(environ: Environment, names: Sequence[str]) -> str | None:
    """Returns the first of some variables that is set and not empty."""
    return next((name for name in names if environ.get(name)), None)


def invalid(why: str) -> InvalidArgumentError:
    """Returns the error for an environment that does not say what an engine's should."""
    return InvalidArgumentError(None, None, why)

"""Addresses of tasks: host and port."""

from __future__ import annotations

from headrace.formats.errors import InvalidArgumentError


def check_address(address: object) -> str:
    """Returns an address if it is "host:port"; an IPv6 host stands in brackets.

    Raises: InvalidArgumentError.
    Example:
      >>> check_address("[::1]:2222")
      '[::1]:2222'
    """
    split_address(address)
    return str(address)


def split_address(address: object) -> tuple[str, int]:
    """Splits "host:port".

    Returns: the host, without brackets, and the port.
    Raises: InvalidArgumentError for anything else.
    Example:
      >>> split_address("[::1]:2222")
      ('::1', 2222)
    """
    if isinstance(address, str):
        host, colon, port = address.rpartition(":")
        bracketed = host.startswith("[") and host.endswith("]")
        plain = host[1:-1] if bracketed else host
        if (
            colon
            and plain
            and port.isascii()
            and port.isdigit()
            and int(port) < 65536
            and (bracketed or ":" not in plain)
            and not any(c.isspace() or c in "/|,=@" for c in plain)
        ):
            return plain, int(port)
    raise InvalidArgumentError(
        None, None, f"{address!r} is not an address: expected host:port, such as 'ps0:2222'"
    )

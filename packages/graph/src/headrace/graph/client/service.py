"""Opens the session service of a target, and converts its arguments to bytes and strings."""

from __future__ import annotations

from typing import Any

from headrace.formats import services
from headrace.graph.typing.aliases import Proto


def open_service(target: str, config: Proto) -> Any:
    """Opens the session service for the scheme of a target. Raises: NotFoundError if missing."""
    scheme, colon, _ = target.partition("://")
    name = scheme if colon else "local"
    wire = b"" if config is None else serialized(config, "config", "ConfigProto")
    return services.find_service(services.SESSIONS, name)(target, wire)


def serialized(message: Any, argument: str, kind: str) -> bytes:
    if isinstance(message, bytes):
        return message
    if not hasattr(message, "SerializeToString") or message.DESCRIPTOR.name != kind:
        raise TypeError(f"{argument} must be a {kind}, but got {type(message)}")
    return message.SerializeToString()


def as_target(target: Any) -> str:
    if target is None:
        return ""
    if not isinstance(target, (str, bytes)):
        raise TypeError(f"target must be a string, but got {type(target)}")
    return as_text(target)


def as_text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else value

"""Errors that become HTTP responses; free of the web framework, so every layer may raise them."""

from __future__ import annotations


class BadRequest(Exception):
    """An argument is missing or wrong: status 400 with the message."""


class NotFound(Exception):
    """The run, tag or item does not exist: status 404 with the message."""


class DeadlineExceeded(Exception):
    """The response would take too long to compute: status 503 with the message."""

"""Why a request is not answered. No web framework here: any layer may raise these."""

from __future__ import annotations


class BadRequest(Exception):
    """An argument is missing or wrong: 400, with the message."""


class NotFound(Exception):
    """There is no such run, tag or item: 404, with the message."""


class TakesTooLong(Exception):
    """The answer would hold the server for too long: 503, with the message."""

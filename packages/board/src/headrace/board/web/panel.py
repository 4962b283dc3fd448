"""A panel: one area of the HTTP interface, as a class with one method a route."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from flask import Blueprint, Response

if TYPE_CHECKING:
    from headrace.board.board import Board

API_ROOT = "/api/v1"

ErrorHandler = Callable[[Exception], Response]


class Route(NamedTuple):
    """A method of HTTP, a URL rule below the panel's prefix, and the view that replies."""

    method: str
    rule: str
    view: Callable[..., Response]


class Panel:
    """Base class of all panels.

    Args:
      board: whose data the panel serves.
    """

    name: ClassVar[str]
    url_prefix: ClassVar[str] = API_ROOT

    def __init__(self, board: Board) -> None:
        self.board = board

    def routes(self) -> Sequence[Route]:
        """Returns the panel's routes; docs/board_api.md describes each."""
        raise NotImplementedError

    def error_handlers(self) -> Mapping[type[Exception], ErrorHandler]:
        """Returns the exceptions of this panel's views that become replies."""
        return {}

    def blueprint(self) -> Blueprint:
        """Returns the routes and error handlers as a Flask blueprint."""
        blueprint = Blueprint(self.name, __name__, url_prefix=self.url_prefix)
        for method, rule, view in self.routes():
            blueprint.add_url_rule(rule, view.__name__, view, methods=[method])
        for error, handler in self.error_handlers().items():
            blueprint.register_error_handler(error, handler)
        return blueprint

"""Notes, colours and saved views: /state, /state/NAME."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response

from headrace.board.web.columns import is_deeper
from headrace.board.web.json_values import integer
from headrace.board.web.responses import BadRequest, NotFound, body_object, reply_json
from headrace.board.state_file import NAME, NotSavedError, SavedDocuments, StaleError

if TYPE_CHECKING:
    from headrace.board.board import Board

_MOST_DEPTH = 50


def blueprint(board: Board) -> Blueprint:
    """Returns the endpoints; without a state file there are no documents and none can be put."""
    panel = Blueprint("saved_state", __name__)
    state = None if board.state_file is None else SavedDocuments(board.state_file)

    @panel.get("/state")
    def documents() -> Response:
        saved = {} if state is None else state.all()
        names = [{"name": name, "revision": saved[name].revision} for name in sorted(saved)]
        return reply_json(board, {"read_only": state is None, "documents": names})

    @panel.get("/state/<name>")
    def document(name: str) -> Response:
        _check(name)
        if state is None:
            return reply_json(board, {"revision": 0, "document": None})
        saved = state.get(name)
        return reply_json(board, {"revision": saved.revision, "document": saved.document})

    @panel.put("/state/<name>")
    def put(name: str) -> Response:
        _check(name)
        if state is None:
            message = "nothing is saved: the board was started without --state FILE"
            return reply_json(board, {"error": message}, 403)
        body = body_object()
        if set(body) != {"base", "document"}:
            raise BadRequest("the body is not {'base', 'document'}")
        if is_deeper(body["document"], _MOST_DEPTH):  # what a later reader could not unfold
            raise BadRequest(f"the document is nested deeper than {_MOST_DEPTH}")
        try:
            revision = state.put(name, integer(body["base"], "base"), body["document"])
        except StaleError as error:
            return reply_json(board, {"error": str(error), "revision": error.revision}, 409)
        return reply_json(board, {"revision": revision})

    @panel.errorhandler(NotSavedError)
    def not_saved(error: NotSavedError) -> Response:
        return reply_json(board, {"error": str(error)}, 503)

    return panel


def _check(name: str) -> None:
    if not NAME.match(name):
        raise NotFound("a name of a document has up to 100 letters, digits, - _ or .")

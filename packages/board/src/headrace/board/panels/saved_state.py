"""Notes, colours and saved views: GET /state, GET and PUT /state/NAME."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flask import Response

from headrace.board.errors import BadRequest, NotFound
from headrace.board.state_file import NAME, StaleRevisionError, StateFileError
from headrace.board.web.json_text import is_deeper
from headrace.board.web.json_values import integer
from headrace.board.web.panel import ErrorHandler, Panel, Route
from headrace.board.web.query_arguments import body_object
from headrace.board.web.responses import json_response

_MAX_DEPTH = 50


class SavedStatePanel(Panel):
    """Serves the documents of the state file; without one there are none and PUT is rejected."""

    name = "saved_state"

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/state", self.documents),
            Route("GET", "/state/<name>", self.document),
            Route("PUT", "/state/<name>", self.put),
        )

    def error_handlers(self) -> Mapping[type[Exception], ErrorHandler]:
        return {StateFileError: self._state_file_error}

    def documents(self) -> Response:
        """Returns the names and revisions of all documents."""
        state = self.board.state
        saved = {} if state is None else state.all()
        names = [{"name": name, "revision": saved[name].revision} for name in sorted(saved)]
        read_only = self.board.state_is_read_only
        return json_response(self.board, {"read_only": read_only, "documents": names})

    def document(self, name: str) -> Response:
        """Returns a document; revision 0 and null if it was never put."""
        _check_name(name)
        if self.board.state is None:
            return json_response(self.board, {"revision": 0, "document": None})
        saved = self.board.state.get(name)
        return json_response(self.board, {"revision": saved.revision, "document": saved.document})

    def put(self, name: str) -> Response:
        """Replaces a document if the request names its present revision."""
        _check_name(name)
        if self.board.state is None:
            message = "nothing is saved: the board was started without --state FILE"
            return json_response(self.board, {"error": message}, 403)
        body = body_object()
        if set(body) != {"base", "document"}:
            raise BadRequest("the body is not {'base', 'document'}")
        if is_deeper(body["document"], _MAX_DEPTH):
            raise BadRequest(f"the document is nested deeper than {_MAX_DEPTH}")
        try:
            base = integer(body["base"], "base")
            revision = self.board.state.put(name, base, body["document"])
        except StaleRevisionError as error:
            document = {"error": str(error), "revision": error.revision}
            return json_response(self.board, document, 409)
        return json_response(self.board, {"revision": revision})

    def _state_file_error(self, error: Exception) -> Response:
        return json_response(self.board, {"error": str(error)}, 503)


def _check_name(name: str) -> None:
    if not NAME.match(name):
        raise NotFound("a name of a document has up to 100 letters, digits, - _ or .")

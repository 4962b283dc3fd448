"""Texts, a page of rows at a time, and a search in all of them: GET /text."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Response, request

from headrace.board.errors import BadRequest
from headrace.board.summaries.series_rows import requested_row, requested_series, value_of_row
from headrace.board.summaries.text_rows import page_of_rows, row_document, search_rows
from headrace.board.web.panel import Panel, Route
from headrace.board.web.query_arguments import int_argument
from headrace.board.web.responses import json_response

_MAX_ROWS = 200
_MAX_QUERY_CHARACTERS = 200


class TextPanel(Panel):
    """Serves text summaries."""

    name = "text"

    def routes(self) -> Sequence[Route]:
        return (Route("GET", "/text", self.text),)

    def text(self) -> Response:
        """Returns one row, a page of rows, or the rows that contain a text."""
        rows = requested_series(self.board, "text").rows()
        if request.args.get("row"):
            row = requested_row(rows)
            page = [row_document(rows, row, value_of_row(self.board, rows, row))]
            return json_response(self.board, {"total": len(rows), "rows": page})
        first = int_argument("from", 0)
        count = int_argument("count", 50, 1, _MAX_ROWS)
        query = request.args.get("q", "")
        if len(query) > _MAX_QUERY_CHARACTERS:
            raise BadRequest(f"q has {len(query)} characters, more than {_MAX_QUERY_CHARACTERS}")
        if query:
            document = search_rows(self.board, rows, query, first, count)
        else:
            document = page_of_rows(self.board, rows, first, count)
        return json_response(self.board, document)

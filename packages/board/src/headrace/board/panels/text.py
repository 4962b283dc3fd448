"""Texts, a page of rows at a time, and search in all of them: GET /text."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, request

from headrace.board.summaries.series_rows import (
    asked_row,
    asked_series,
    standing_rows,
    value_of_row,
    values_of_rows,
)
from headrace.board.summaries.tensor_strings import strings_of
from headrace.board.web.responses import BadRequest, int_argument, reply_json

if TYPE_CHECKING:
    from headrace.board.board import Board
    from headrace.board.store.blob_series import BlobRows

_MOST_ROWS = 200
_MOST_VALUES = 2000  # of a row
_MOST_CHARACTERS = 64 << 10  # of a value
_MOST_CHARACTERS_OF_ROW = 512 << 10
_MOST_CHARACTERS_OF_REPLY = 8 << 20
_MOST_QUERY = 200
_SEARCH_S = 2.0


def blueprint(board: Board) -> Blueprint:
    """Returns the endpoint."""
    panel = Blueprint("text", __name__)

    @panel.get("/text")
    def text() -> Response:
        rows = asked_series(board, "text").rows()
        if request.args.get("row"):
            row = asked_row(rows)
            page = [row_document(rows, row, value_of_row(board, rows, row))]
            return reply_json(board, {"total": len(rows), "rows": page})
        first = int_argument("from", 0)
        count = int_argument("count", 50, 1, _MOST_ROWS)
        query = request.args.get("q", "")
        if len(query) > _MOST_QUERY:
            raise BadRequest(f"q has {len(query)} characters, more than {_MOST_QUERY}")
        if query:
            return reply_json(board, _search(board, rows, query, first, count))
        found = standing_rows(rows, superseded=True)
        page = [
            row_document(rows, row, value)
            for row, value in values_of_rows(board, rows, found[first : first + count])
        ]
        return reply_json(board, {"total": len(found), "rows": _within_reply(page)})

    return panel


def row_document(rows: BlobRows, row: int, value: Any | None) -> dict[str, Any]:
    """Returns a row: its texts in order, row-major, and the shape that they have."""
    texts: list[str] = []
    shape: list[int] = []
    cut = False
    if value is not None:
        texts, shape, cut = texts_of(value)
    values, left = [], _MOST_CHARACTERS_OF_ROW
    for text in texts:
        shown = text[: min(_MOST_CHARACTERS, left)]
        cut = cut or len(shown) < len(text)
        left -= len(shown)
        values.append(shown)
    return {
        "row": row,
        "step": int(rows.step[row]),
        "wall": float(rows.wall[row]),
        "superseded": bool(rows.superseded[row]),
        "readable": value is not None,
        "values": values,
        "shape": shape,
        "cut": cut,
    }


def texts_of(value: Any) -> tuple[list[str], list[int], bool]:
    """Returns the strings of a tensor, its shape, and whether there are more than these.

    What is no UTF-8 becomes U+FFFD.
    """
    if value.WhichOneof("value") != "tensor":
        return [], [], False
    strings, shape, more = strings_of(value.tensor, _MOST_VALUES)
    return [raw.decode("utf-8", "replace") for raw in strings], shape, more


def _search(board: Board, rows: BlobRows, query: str, first: int, count: int) -> dict[str, Any]:
    """Rows with the query in a text, whatever its case; as many as the time is enough for."""
    wanted = query.casefold()
    found = standing_rows(rows, superseded=True)
    until = time.monotonic() + _SEARCH_S
    total = searched = 0
    page = []
    for row, value in values_of_rows(board, rows, found):
        texts = [] if value is None else texts_of(value)[0]
        searched += 1
        if any(wanted in text.casefold() for text in texts):
            if first <= total < first + count:
                page.append(row_document(rows, row, value))
            total += 1
        if time.monotonic() > until:
            break
    return {
        "total": total,
        "rows": _within_reply(page),
        "searched": searched,
        "complete": searched == len(found),
    }


def _within_reply(page: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many rows as one reply may carry, one at least; the caller asks for the rest."""
    size = 0
    for i, row in enumerate(page):
        size += sum(map(len, row["values"]))
        if i and size > _MOST_CHARACTERS_OF_REPLY:
            return page[:i]
    return page

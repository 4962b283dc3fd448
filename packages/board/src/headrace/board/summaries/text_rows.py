"""Rows of text summaries: their strings, cut to what a page can show, and a search in them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from headrace.board.summaries.series_rows import current_rows, values_of_rows
from headrace.board.summaries.tensor_strings import strings_of

if TYPE_CHECKING:
    from headrace.board.board import Board
    from headrace.board.store.blob_series import BlobRows

_MAX_VALUES = 2000  # in one row
_MAX_CHARACTERS = 64 << 10  # in one value
_MAX_CHARACTERS_OF_ROW = 512 << 10
_MAX_CHARACTERS_OF_RESPONSE = 8 << 20
_MAX_SEARCH_S = 2.0


def row_document(rows: BlobRows, row: int, value: Any | None) -> dict[str, Any]:
    """Returns a row with its texts in row-major order and their shape."""
    texts: list[str] = []
    shape: list[int] = []
    cut = False
    if value is not None:
        texts, shape, cut = texts_of(value)
    values, left = [], _MAX_CHARACTERS_OF_ROW
    for text in texts:
        shown = text[: min(_MAX_CHARACTERS, left)]
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
    """Returns the strings of a tensor, its shape, and whether there are more strings than these.

    Bytes that are not UTF-8 become U+FFFD.
    """
    if value.WhichOneof("value") != "tensor":
        return [], [], False
    strings, shape, more = strings_of(value.tensor, _MAX_VALUES)
    return [raw.decode("utf-8", "replace") for raw in strings], shape, more


def page_of_rows(board: Board, rows: BlobRows, first: int, count: int) -> dict[str, Any]:
    """Returns `count` rows from `first` on, in order of step."""
    found = current_rows(rows, superseded=True)
    page = [
        row_document(rows, row, value)
        for row, value in values_of_rows(board, rows, found[first : first + count])
    ]
    return {"total": len(found), "rows": _within_response(page)}


def search_rows(board: Board, rows: BlobRows, query: str, first: int, count: int) -> dict[str, Any]:
    """Returns the rows that contain a text, ignoring case; stops after a few seconds."""
    requested = query.casefold()
    found = current_rows(rows, superseded=True)
    deadline = time.monotonic() + _MAX_SEARCH_S
    total = searched = 0
    page = []
    for row, value in values_of_rows(board, rows, found):
        texts = [] if value is None else texts_of(value)[0]
        searched += 1
        if any(requested in text.casefold() for text in texts):
            if first <= total < first + count:
                page.append(row_document(rows, row, value))
            total += 1
        if time.monotonic() > deadline:
            break
    return {
        "total": total,
        "rows": _within_response(page),
        "searched": searched,
        "complete": searched == len(found),
    }


def _within_response(page: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns as many rows as one response may carry, at least one; clients request the rest."""
    size = 0
    for i, row in enumerate(page):
        size += sum(map(len, row["values"]))
        if i and size > _MAX_CHARACTERS_OF_RESPONSE:
            return page[:i]
    return page

"""Images and audio, each event of them: /blobs, /blobs/items, /blob/NAME."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from flask import Blueprint, Response, request

from headrace.board.web.columns import dump_json
from headrace.board.summaries.media_types import MOST_PIXELS, UNKNOWN, media_of
from headrace.board.summaries.series_rows import asked_row, asked_series, value_of_row
from headrace.board.summaries.media_items import BlobNames, Item, Place, items_of
from headrace.board.web.responses import NotFound, reply_columns, reply_json
from headrace.board.store.blob_series import BlobRows
from headrace.formats.errors import DataLossError

if TYPE_CHECKING:
    from headrace.board.board import Board

_KINDS = ("image", "audio")
# Whose steps a slider may ask for.
_ROW_KINDS = (*_KINDS, "text", "tensor", "pr_curve", "histogram", "mesh")


def blueprint(board: Board) -> Blueprint:
    """Returns the endpoints."""
    panel = Blueprint("blobs", __name__)
    names = BlobNames()

    @panel.get("/blobs")
    def blobs() -> Response:
        series = asked_series(board, *_ROW_KINDS)
        rows = series.rows()
        return reply_columns(
            board,
            {"kind": series.tag.kind},
            {
                "step": rows.step,
                "wall": rows.wall,
                "superseded": np.asarray(rows.superseded).astype(np.uint8),
            },
        )

    @panel.get("/blobs/items")
    def blob_items() -> Response:
        series = asked_series(board, *_KINDS)
        rows = series.rows()
        row = asked_row(rows)
        items = items_of(value_of_row(board, rows, row), series.tag.kind)
        return reply_json(
            board,
            {
                "row": row,
                "step": int(rows.step[row]),
                "wall": float(rows.wall[row]),
                "items": [
                    {
                        "sample": i,
                        **item_document(item),
                        "id": names.name(_place(rows, row, i, series.tag.kind)),
                    }
                    for i, item in enumerate(items)
                ],
            },
        )

    @panel.get("/blob/<name>")
    def blob(name: str) -> Response:
        place = names.place(name)
        if place is None:
            raise NotFound("there is no such item")
        return item_response(_item(board, place), name)

    return panel


def item_document(item: Item) -> dict[str, Any]:
    """Returns what a page needs to know of an item before it asks for the bytes."""
    media = media_of(item.data)
    document = {
        "width": media.width or item.width,
        "height": media.height or item.height,
        "mime": media.mime,
        "bytes": len(item.data),
        "label": item.label,
        "sample_rate": media.sample_rate or item.sample_rate,
        "seconds": media.seconds,
    }
    if not media.seconds and item.frames and item.sample_rate:
        document["seconds"] = item.frames / item.sample_rate
    if media.too_large:
        document["refused"] = _too_large(media.width, media.height)
    return document


def item_response(item: Item, name: str) -> Response:
    """Returns an item's bytes, or the part that a Range asks for; 422 for too large an image."""
    media = media_of(item.data)
    if media.too_large:
        body = dump_json({"error": _too_large(media.width, media.height)})
        return Response(body, 422, content_type="application/json")
    response = Response(item.data, content_type=media.mime)
    if media.mime == UNKNOWN:
        response.headers["Content-Disposition"] = "attachment"
    response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
    response.set_etag(name)
    response.make_conditional(request, accept_ranges=True, complete_length=len(item.data))
    response.accept_ranges = "bytes"  # older Werkzeugs say it only where a range was asked for
    return response


def _too_large(width: int, height: int) -> str:
    return f"the image has {width} x {height} pixels, more than the {MOST_PIXELS} that are shown"


def _place(rows: BlobRows, row: int, sample: int, kind: str) -> Place:
    return Place(
        int(rows.file[row]),
        int(rows.offset[row]),
        int(rows.length[row]),
        int(rows.value[row]),
        sample,
        kind == "audio",
    )


def _item(board: Board, place: Place) -> Item:
    try:
        event = board.records.event(place.file, place.offset, place.length)
    except DataLossError as error:
        raise NotFound(str(error)) from None
    values = event.summary.value
    if 0 <= place.value < len(values):
        items = items_of(values[place.value], "audio" if place.sound else "image")
        if place.sample < len(items):
            return items[place.sample]
    raise NotFound("the item is not there any more")

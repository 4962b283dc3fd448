"""Images and sounds, at every step that was logged: GET /blobs, /blobs/items, /blob/NAME."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from flask import Response, request

from headrace.board.errors import NotFound
from headrace.board.store.blob_series import BlobRows
from headrace.board.summaries.media_items import (
    Item,
    ItemNames,
    Place,
    item_document,
    items_of,
    too_large_text,
)
from headrace.board.summaries.media_types import UNKNOWN, media_of
from headrace.board.summaries.series_rows import requested_row, requested_series, value_of_row
from headrace.board.web.json_text import dump_json
from headrace.board.web.panel import Panel, Route
from headrace.board.web.responses import columns_response, json_response
from headrace.formats.errors import DataLossError

if TYPE_CHECKING:
    from headrace.board.board import Board

_MEDIA_KINDS = ("image", "audio")
_KINDS_WITH_STEPS = (*_MEDIA_KINDS, "text", "tensor", "pr_curve", "histogram", "mesh")


class BlobsPanel(Panel):
    """Serves images and sounds, and the steps of all series whose values stay in the files."""

    name = "blobs"

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self._names = ItemNames()

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/blobs", self.blobs),
            Route("GET", "/blobs/items", self.blob_items),
            Route("GET", "/blob/<name>", self.blob),
        )

    def blobs(self) -> Response:
        """Returns the steps of a series, for a slider."""
        series = requested_series(self.board, *_KINDS_WITH_STEPS)
        rows = series.rows()
        return columns_response(
            self.board,
            {"kind": series.tag.kind},
            {
                "step": rows.step,
                "wall": rows.wall,
                "superseded": np.asarray(rows.superseded).astype(np.uint8),
            },
        )

    def blob_items(self) -> Response:
        """Returns the images or sounds of one row, with the names to fetch their bytes by."""
        series = requested_series(self.board, *_MEDIA_KINDS)
        rows = series.rows()
        row = requested_row(rows)
        kind = series.tag.kind
        items = items_of(value_of_row(self.board, rows, row), kind)
        return json_response(
            self.board,
            {
                "row": row,
                "step": int(rows.step[row]),
                "wall": float(rows.wall[row]),
                "items": [
                    {
                        "sample": i,
                        **item_document(item),
                        "id": self._names.name(_place(rows, row, i, kind)),
                    }
                    for i, item in enumerate(items)
                ],
            },
        )

    def blob(self, name: str) -> Response:
        """Returns the bytes of an image or a sound."""
        place = self._names.place(name)
        if place is None:
            raise NotFound("there is no such item")
        return item_response(self._item(place), name)

    def _item(self, place: Place) -> Item:
        try:
            event = self.board.records.event(place.file, place.offset, place.length)
        except DataLossError as error:
            raise NotFound(str(error)) from None
        values = event.summary.value
        if 0 <= place.value < len(values):
            items = items_of(values[place.value], "audio" if place.sound else "image")
            if place.sample < len(items):
                return items[place.sample]
        raise NotFound("the item is not there any more")


def item_response(item: Item, name: str) -> Response:
    """Returns an item's bytes or the range requested; 422 for an image that is too large.

    Args:
      item: an image or a sound.
      name: its name, which serves as the ETag.
    """
    media = media_of(item.data)
    if media.too_large:
        body = dump_json({"error": too_large_text(media)})
        return Response(body, 422, content_type="application/json")
    response = Response(item.data, content_type=media.mime)
    if media.mime == UNKNOWN:
        response.headers["Content-Disposition"] = "attachment"
    response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
    response.set_etag(name)
    response.make_conditional(request, accept_ranges=True, complete_length=len(item.data))
    response.accept_ranges = "bytes"  # older Werkzeugs set it only on responses to a range
    return response


def _place(rows: BlobRows, row: int, sample: int, kind: str) -> Place:
    return Place(
        int(rows.file[row]),
        int(rows.offset[row]),
        int(rows.length[row]),
        int(rows.value[row]),
        sample,
        kind == "audio",
    )

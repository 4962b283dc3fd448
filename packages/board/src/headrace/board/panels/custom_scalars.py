"""Charts that a program laid out itself: GET /custom_scalars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response
from google.protobuf.message import DecodeError

from headrace.board.summaries.series_rows import standing_rows, values_of_rows
from headrace.board.web.responses import reply_json
from headrace.board.store.blob_series import BlobSeries
from headrace.formats.proto.plugin_custom_scalars_pb2 import Layout

if TYPE_CHECKING:
    from headrace.board.board import Board

_MOST_LAYOUTS = 200
_MOST_ROWS_READ = 20
_MOST_CHARTS = 2000


def blueprint(board: Board) -> Blueprint:
    """Returns the endpoint."""
    panel = Blueprint("custom_scalars", __name__)

    @panel.get("/custom_scalars")
    def custom_scalars() -> Response:
        layouts = []
        for series in board.index.series_of_kind("custom_scalars")[:_MOST_LAYOUTS]:
            layout = _last_layout(board, series) if isinstance(series, BlobSeries) else None
            if layout is not None:
                layouts.append({"run": series.run.id, **layout_document(layout)})
        return reply_json(board, {"layouts": layouts})

    return panel


def _last_layout(board: Board, series: BlobSeries) -> Layout | None:
    rows = series.rows()
    # What is older than a few damaged or empty ones is not what the program means now.
    last = standing_rows(rows)[-_MOST_ROWS_READ:]
    for _, value in values_of_rows(board, rows, last[::-1]):
        strings = [] if value is None else value.tensor.string_val
        if strings:
            try:
                return Layout.FromString(strings[0])
            except DecodeError:
                return None
    return None


def layout_document(layout: Layout) -> dict[str, Any]:
    """Returns a layout as docs/board_api.md has it."""
    left = _MOST_CHARTS
    categories = []
    for category in layout.category[:_MOST_CHARTS]:
        charts = [chart_document(chart) for chart in category.chart[:left]]
        left -= len(charts)
        categories.append({"title": category.title, "closed": category.closed, "charts": charts})
    return {"categories": categories}


def chart_document(chart: Any) -> dict[str, Any]:
    """Returns a chart: its title and either regular expressions of tags or margins."""
    document: dict[str, Any] = {"title": chart.title}
    if chart.WhichOneof("content") == "margin":
        document["margin"] = {
            "series": [
                {"value": s.value, "lower": s.lower, "upper": s.upper} for s in chart.margin.series
            ]
        }
    else:
        document["multiline"] = {"regexes": list(chart.multiline.tag)}
    return document

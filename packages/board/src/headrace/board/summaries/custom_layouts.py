"""Layouts of charts that a program logged for itself (plugin custom_scalars)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from headrace.board.store.blob_series import BlobSeries
from headrace.board.summaries.series_rows import current_rows, values_of_rows
from headrace.formats.proto.plugin_custom_scalars_pb2 import Layout

if TYPE_CHECKING:
    from headrace.board.board import Board

_MAX_LAYOUTS = 200
_MAX_ROWS_READ = 20
_MAX_CHARTS = 2000


def custom_layouts(board: Board) -> list[dict[str, Any]]:
    """Returns the layout of each run at its last step, as docs/board_api.md describes it."""
    layouts = []
    for series in board.index.series_of_kind("custom_scalars")[:_MAX_LAYOUTS]:
        layout = _last_layout(board, series) if isinstance(series, BlobSeries) else None
        if layout is not None:
            layouts.append({"run": series.run.id, **layout_document(layout)})
    return layouts


def _last_layout(board: Board, series: BlobSeries) -> Layout | None:
    rows = series.rows()
    # If the last few rows are all corrupted or empty, an older layout would be out of date.
    last = current_rows(rows)[-_MAX_ROWS_READ:]
    layouts: list[Layout] = []
    step = None
    for row, value in values_of_rows(board, rows, last[::-1]):
        strings = [] if value is None else value.tensor.string_val
        if not strings:
            continue
        if layouts and rows.step[row] != step:
            break
        try:
            layouts.append(Layout.FromString(strings[0]))
        except DecodeError:
            break
        step = rows.step[row]
    return _merged(layouts[::-1]) if layouts else None


def _merged(layouts: list[Layout]) -> Layout:
    """Returns layouts of one step as one: tensorboardX logs a layout for each chart that it adds.

    Args:
      layouts: in the order of the log; of charts with the same title the last one stays.
    """
    merged = Layout()
    for layout in layouts:
        for category in layout.category:
            same = next((one for one in merged.category if one.title == category.title), None)
            if same is None:
                merged.category.add().CopyFrom(category)
                continue
            same.closed = category.closed
            for chart in category.chart:
                old = next((one for one in same.chart if one.title == chart.title), None)
                (same.chart.add() if old is None else old).CopyFrom(chart)
    return merged


def layout_document(layout: Layout) -> dict[str, Any]:
    """Returns a layout as the JSON object of a response."""
    left = _MAX_CHARTS
    categories = []
    for category in layout.category[:_MAX_CHARTS]:
        charts = [chart_document(chart) for chart in category.chart[:left]]
        left -= len(charts)
        categories.append({"title": category.title, "closed": category.closed, "charts": charts})
    return {"categories": categories}


def chart_document(chart: Any) -> dict[str, Any]:
    """Returns a chart: its title and either regular expressions for tags, or margins."""
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

"""The three calls of TensorBoard that scripts scrape scalars by, answered as it answers them.

Read only, and below the root: /data/runs, /data/plugin/scalars/tags and
/data/plugin/scalars/scalars. Every point is there, not a sample of a thousand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from flask import Blueprint, Response, request

from headrace.board.web.columns import dump_json
from headrace.board.web.responses import BadRequest, NotFound, reply_bytes
from headrace.board.store.scalar_series import ScalarSeries

if TYPE_CHECKING:
    from headrace.board.board import Board


def blueprint(board: Board) -> Blueprint:
    """Returns the endpoints."""
    panel = Blueprint("tensorboard_calls", __name__, url_prefix="/data")

    @panel.get("/runs")
    def runs() -> Response:
        return _json([run.name for run in board.index.runs()])

    @panel.get("/plugin/scalars/tags")
    def tags() -> Response:
        found: dict[str, dict[str, Any]] = {}
        for series in board.index.series_of_kind("scalar"):
            tag = series.tag
            found.setdefault(series.run.name, {})[tag.name] = {
                "displayName": tag.display or tag.name,
                "description": tag.description,
            }
        return _json(found)

    @panel.get("/plugin/scalars/scalars")
    def scalars() -> Response:
        series = _named_series(board, request.args.get("run"), request.args.get("tag"))
        columns = series.columns()
        standing = ~np.asarray(columns.superseded, bool)
        wall, step = columns.wall[standing].tolist(), columns.step[standing].tolist()
        rows = list(zip(wall, step, columns.value[standing].tolist()))
        if request.args.get("format") == "csv":
            lines = ["Wall time,Step,Value", *(f"{w!r},{s},{v!r}" for w, s, v in rows), ""]
            return reply_bytes("\r\n".join(lines).encode(), "text/csv; charset=utf-8")
        return _json(rows)

    return panel


def _named_series(board: Board, run_name: str | None, tag_name: str | None) -> ScalarSeries:
    if run_name is None or tag_name is None:
        raise BadRequest("run or tag is missing")
    tag = board.index.find_tag(tag_name, "scalar")
    for run in board.index.runs():
        if run.name == run_name and tag is not None:
            series = run.series.get(tag.id)
            if isinstance(series, ScalarSeries):
                return series
    raise NotFound(f"there is no scalar {tag_name[:100]!r} in a run {run_name[:100]!r}")


def _json(document: Any) -> Response:
    return reply_bytes(dump_json(document).encode(), "application/json")

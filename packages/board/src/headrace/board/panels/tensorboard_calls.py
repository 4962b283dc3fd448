"""The three calls of TensorBoard by which scripts read scalars, with the replies that it gives.

They are read-only and lie below /data, not below /api/v1. Replies have every point, where
TensorBoard sends a sample of a thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flask import Response, request

from headrace.board.errors import BadRequest, NotFound
from headrace.board.store.scalar_series import ScalarSeries
from headrace.board.web.json_text import dump_json
from headrace.board.web.panel import Panel, Route
from headrace.board.web.responses import bytes_response


class TensorboardCallsPanel(Panel):
    """Serves runs, tags and points of scalars in the form of TensorBoard's HTTP interface."""

    name = "tensorboard_calls"
    url_prefix = "/data"

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/runs", self.runs),
            Route("GET", "/plugin/scalars/tags", self.tags),
            Route("GET", "/plugin/scalars/scalars", self.scalars),
        )

    def runs(self) -> Response:
        """Returns the names of all runs."""
        return _json([run.name for run in self.board.index.runs()])

    def tags(self) -> Response:
        """Returns the scalar tags of each run."""
        found: dict[str, dict[str, Any]] = {}
        for series in self.board.index.series_of_kind("scalar"):
            tag = series.tag
            found.setdefault(series.run.name, {})[tag.name] = {
                "displayName": tag.display or tag.name,
                "description": tag.description,
            }
        return _json(found)

    def scalars(self) -> Response:
        """Returns the points of a tag in a run as [wall time, step, value], or as CSV."""
        series = self._named_series(request.args.get("run"), request.args.get("tag"))
        columns = series.columns()
        current = ~np.asarray(columns.superseded, bool)
        wall, step = columns.wall[current].tolist(), columns.step[current].tolist()
        rows = list(zip(wall, step, columns.value[current].tolist()))
        if request.args.get("format") == "csv":
            lines = ["Wall time,Step,Value", *(f"{w!r},{s},{v!r}" for w, s, v in rows), ""]
            return bytes_response("\r\n".join(lines).encode(), "text/csv; charset=utf-8")
        return _json(rows)

    def _named_series(self, run_name: str | None, tag_name: str | None) -> ScalarSeries:
        if run_name is None or tag_name is None:
            raise BadRequest("run or tag is missing")
        tag = self.board.index.find_tag(tag_name, "scalar")
        for run in self.board.index.runs():
            if run.name == run_name and tag is not None:
                series = run.series.get(tag.id)
                if isinstance(series, ScalarSeries):
                    return series
        raise NotFound(f"there is no scalar {tag_name[:100]!r} in a run {run_name[:100]!r}")


def _json(document: Any) -> Response:
    return bytes_response(dump_json(document).encode(), "application/json")

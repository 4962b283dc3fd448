"""Histograms over steps: GET /histograms, /histograms/export.json."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from flask import Response, request

from headrace.board.errors import BadRequest
from headrace.board.store.blob_series import BlobSeries
from headrace.board.summaries.histogram_buckets import (
    PERCENTILES,
    buckets_of,
    percentiles,
    rebinned,
    shared_edges,
)
from headrace.board.summaries.histogram_rows import HistogramRows
from headrace.board.summaries.series_rows import (
    current_rows,
    requested_row,
    requested_series,
    series_of_kinds,
    value_of_row,
    values_of_rows,
)
from headrace.board.web.json_text import dump_json
from headrace.board.web.panel import Panel, Route
from headrace.board.web.query_arguments import (
    flag_argument,
    float_argument,
    ids_argument,
    int_argument,
    step_argument,
)
from headrace.board.web.responses import columns_response, download_response

_KIND = ("histogram",)
_MAX_ROWS, _MAX_BINS, _MAX_RUNS = 2000, 1000, 100
_MAX_CELLS = 4_000_000  # rows * bins of a response: 32 MB


class HistogramsPanel(Panel):
    """Serves histograms: one with the buckets that were logged, or many with shared bins."""

    name = "histograms"

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/histograms", self.histograms),
            Route("GET", "/histograms/export.json", self.export),
        )

    def histograms(self) -> Response:
        """Returns one histogram as it was logged (`bins=raw`), or many with shared bins."""
        if request.args.get("bins") == "raw":
            return self._as_logged()
        return self._over_steps()

    def export(self) -> Response:
        """Returns all histograms of a series, with the buckets that were logged."""
        series = requested_series(self.board, *_KIND)
        pieces = self._export_pieces(series, flag_argument("superseded"))
        return download_response(pieces, "application/json", "histograms.json")

    def _as_logged(self) -> Response:
        rows = requested_series(self.board, *_KIND).rows()
        row = requested_row(rows)
        histogram = buckets_of(value_of_row(self.board, rows, row))
        if histogram is None:
            raise BadRequest(f"row {row} is not a histogram")
        return columns_response(
            self.board,
            {"row": row, "step": int(rows.step[row]), "wall": float(rows.wall[row])},
            {"left": histogram.left, "right": histogram.right, "count": histogram.count},
        )

    def _over_steps(self) -> Response:
        bins = int_argument("bins", 60, 1, _MAX_BINS)
        max_rows = int_argument("max", 200, 1, _MAX_ROWS)
        least, most = float_argument("least"), float_argument("most")
        if least is not None and most is not None and least > most:
            raise BadRequest(f"least is {least}, above most, which is {most}")
        series = self._requested_runs()
        if max_rows * bins * len(series) > _MAX_CELLS:
            raise BadRequest(f"max * bins * runs is above {_MAX_CELLS}")
        found = HistogramRows()
        for one in series:
            found.read(
                self.board,
                one,
                max_rows,
                lo=step_argument("lo"),
                hi=step_argument("hi"),
                superseded=flag_argument("superseded"),
            )
        histograms = found.histograms
        edges = shared_edges(histograms, bins, least, most)
        columns: dict[str, np.ndarray] = {
            "run": np.array([place.run for place in found.places], np.int32),
            "row": np.array([place.row for place in found.places], np.int32),
            "step": np.array([place.step for place in found.places], np.int64),
            "wall": np.array([place.wall for place in found.places], np.float64),
            "edges": edges,
            "counts": _concatenated([rebinned(h, edges) for h in histograms]),
            "percentiles": _concatenated([percentiles(h) for h in histograms]),
            "n": np.array([h.count.sum() for h in histograms], np.float64),
        }
        header = {
            "rows": len(histograms),
            "bins": bins,
            "total": sum(run["total"] for run in found.runs),
            "percents": list(PERCENTILES),
            "runs": found.runs,
        }
        return columns_response(self.board, header, columns)

    def _requested_runs(self) -> list[BlobSeries]:
        runs = ids_argument("runs", _MAX_RUNS)
        if runs is None:
            return [requested_series(self.board, *_KIND)]
        tag = int_argument("tag")
        return [series_of_kinds(self.board, run, tag, _KIND) for run in dict.fromkeys(runs)]

    def _export_pieces(self, series: BlobSeries, superseded: bool) -> Iterator[str]:
        """Yields pieces of the JSON of all events, each with the buckets that were logged."""
        rows = series.rows()
        yield dump_json({"run": series.run.name, "tag": series.tag.name})[:-1] + ',"rows":['
        separator = "\n"
        chosen = current_rows(rows, superseded=superseded)
        for row, value in values_of_rows(self.board, rows, chosen):
            one: dict[str, Any] = {"step": int(rows.step[row]), "wall_time": float(rows.wall[row])}
            histogram = None if value is None else buckets_of(value)
            if histogram is None:
                one["error"] = "this event cannot be read"
            else:
                one["left"] = histogram.left.tolist()
                one["right"] = histogram.right.tolist()
                one["count"] = histogram.count.tolist()
            yield separator + dump_json(one)
            separator = ",\n"
        yield "\n]}\n"


def _concatenated(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0)

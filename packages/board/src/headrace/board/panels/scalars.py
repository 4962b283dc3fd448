"""Curves and their points: POST /scalars, GET /series, /export.csv, /export.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from flask import Response

from headrace.board.errors import BadRequest, NotFound
from headrace.board.series.export import Selection, csv_rows, json_pieces
from headrace.board.series.point_flags import flags_of_series
from headrace.board.series.query import queries_of
from headrace.board.series.query_evaluation import QueryEvaluator
from headrace.board.store.scalar_series import ScalarSeries
from headrace.board.web.panel import Panel, Route
from headrace.board.web.query_arguments import (
    body_object,
    flag_argument,
    ids_argument,
    int_argument,
    step_argument,
)
from headrace.board.web.responses import columns_response, download_response

if TYPE_CHECKING:
    from headrace.board.board import Board


class ScalarsPanel(Panel):
    """Serves curves reduced to pixels, and exports of all points."""

    name = "scalars"

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self._evaluator = QueryEvaluator(board.index)

    def routes(self) -> Sequence[Route]:
        return (
            Route("POST", "/scalars", self.scalars),
            Route("GET", "/series", self.series),
            Route("GET", "/export.csv", self.export_csv),
            Route("GET", "/export.json", self.export_json),
        )

    def scalars(self) -> Response:
        """Returns the curves that the queries in the body select."""
        header, columns = self._evaluator.evaluate(queries_of(body_object()))
        return columns_response(self.board, header, columns)

    def series(self) -> Response:
        """Returns all points of one series."""
        columns = self._scalar_series(int_argument("run"), int_argument("tag")).columns()
        return columns_response(
            self.board,
            {},
            {
                "step": columns.step,
                "wall": columns.wall,
                "value": columns.value.astype(np.float64),
                "flags": flags_of_series(columns),
            },
        )

    def export_csv(self) -> Response:
        """Returns the selected series as CSV."""
        rows = csv_rows(self._selected_series(), _selection())
        return download_response(rows, "text/csv; charset=utf-8", "scalars.csv")

    def export_json(self) -> Response:
        """Returns the selected series as JSON."""
        pieces = json_pieces(self._selected_series(), _selection())
        return download_response(pieces, "application/json", "scalars.json")

    def _scalar_series(self, run: int, tag: int) -> ScalarSeries:
        try:
            found = self.board.index.series(run, tag)
        except KeyError:
            raise NotFound(f"run {run} has no tag {tag}") from None
        if not isinstance(found, ScalarSeries):
            raise BadRequest(f"tag {tag} is of kind {found.tag.kind}, not scalar")
        return found

    def _selected_series(self) -> list[ScalarSeries]:
        """Returns the series of the runs and tags that the request names; by default all."""
        runs, tags = ids_argument("runs"), ids_argument("tags")
        index = self.board.index
        for run in runs or ():
            try:
                index.run(run)
            except KeyError:
                raise NotFound(f"there is no run {run}") from None
        for tag in tags or ():
            try:
                kind = index.tag(tag).kind
            except KeyError:
                raise NotFound(f"there is no tag {tag}") from None
            if kind != "scalar":
                raise BadRequest(f"tag {tag} is of kind {kind}, not scalar")
        found = [s for s in index.series_of_kind("scalar") if isinstance(s, ScalarSeries)]
        if runs is not None:
            requested = set(runs)
            found = [s for s in found if s.run.id in requested]
        if tags is not None:
            requested = set(tags)
            found = [s for s in found if s.tag.id in requested]
        return found


def _selection() -> Selection:
    return Selection(step_argument("lo"), step_argument("hi"), flag_argument("superseded"))

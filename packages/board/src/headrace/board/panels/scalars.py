"""Curves and their numbers: POST /scalars, /series, /export.csv, /export.json."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from flask import Blueprint, Response, request

from headrace.board.web.responses import (
    BadRequest,
    NotFound,
    body_object,
    ids_argument,
    int_argument,
    reply_columns,
    reply_download,
)
from headrace.board.series.query_evaluation import NAN, NEGATIVE, POSITIVE, RESTART, SUPERSEDED, SeriesQueries
from headrace.board.series.export import Selection, csv_rows, json_pieces
from headrace.board.series.query import queries_of
from headrace.board.store.scalar_series import ScalarColumns, ScalarSeries

if TYPE_CHECKING:
    from headrace.board.board import Board

_LEAST_STEP, _MOST_STEP = -(2**63), 2**63 - 1


def blueprint(board: Board) -> Blueprint:
    """Returns the endpoints."""
    panel = Blueprint("scalars", __name__)
    answers = SeriesQueries(board.index)

    @panel.post("/scalars")
    def scalars() -> Response:
        return reply_columns(board, *answers.answer(queries_of(body_object())))

    @panel.get("/series")
    def series() -> Response:
        columns = _scalar_series(board, int_argument("run"), int_argument("tag")).columns()
        return reply_columns(
            board,
            {},
            {
                "step": columns.step,
                "wall": columns.wall,
                "value": columns.value.astype(np.float64),
                "flags": point_flags(columns),
            },
        )

    @panel.get("/export.csv")
    def export_csv() -> Response:
        rows = csv_rows(_selected_series(board), _selection())
        return reply_download(rows, "text/csv; charset=utf-8", "scalars.csv")

    @panel.get("/export.json")
    def export_json() -> Response:
        pieces = json_pieces(_selected_series(board), _selection())
        return reply_download(pieces, "application/json", "scalars.json")

    return panel


def point_flags(columns: ScalarColumns) -> np.ndarray:
    """Returns the flags of all points of a series, [n] u8 as docs/board_api.md has them."""
    flags = np.zeros(len(columns), np.uint8)
    flags[np.isnan(columns.value)] |= NAN
    flags[columns.value == np.inf] |= POSITIVE
    flags[columns.value == -np.inf] |= NEGATIVE
    if columns.segments > 1:
        flags[1:][columns.segment[1:] != columns.segment[:-1]] |= RESTART
        flags[columns.superseded] |= SUPERSEDED
    return flags


def _scalar_series(board: Board, run: int, tag: int) -> ScalarSeries:
    try:
        found = board.index.series(run, tag)
    except KeyError:
        raise NotFound(f"run {run} has no tag {tag}") from None
    if not isinstance(found, ScalarSeries):
        raise BadRequest(f"tag {tag} is of kind {found.tag.kind}, not scalar")
    return found


def _selected_series(board: Board) -> list[ScalarSeries]:
    """The series of the runs and tags that a request names; without either, all."""
    runs, tags = ids_argument("runs"), ids_argument("tags")
    index = board.index
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
        wanted = set(runs)
        found = [s for s in found if s.run.id in wanted]
    if tags is not None:
        wanted = set(tags)
        found = [s for s in found if s.tag.id in wanted]
    return found


def _selection() -> Selection:
    def step(name: str) -> int | None:
        if not request.args.get(name):
            return None
        return int_argument(name, least=_LEAST_STEP, most=_MOST_STEP)

    superseded = int_argument("superseded", 0, 0, 1)
    return Selection(step("lo"), step("hi"), bool(superseded))

"""Histograms and distributions over steps: GET /histograms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from flask import Blueprint, Response, request

from headrace.board.web.columns import dump_json
from headrace.board.summaries.series_rows import (
    asked_row,
    asked_series,
    evenly_chosen,
    series_of_kinds,
    standing_rows,
    value_of_row,
    values_of_rows,
)
from headrace.board.web.responses import (
    BadRequest,
    float_argument,
    ids_argument,
    int_argument,
    reply_columns,
    reply_download,
)
from headrace.board.summaries.histogram_buckets import (
    PERCENTILES,
    Buckets,
    buckets_of,
    percentiles,
    rebinned,
    shared_edges,
)
from headrace.board.store.blob_series import BlobSeries

if TYPE_CHECKING:
    from headrace.board.board import Board

_KIND = ("histogram",)
_MOST_ROWS, _MOST_BINS, _MOST_RUNS = 2000, 1000, 100
_MOST_CELLS = 4_000_000  # rows * bins of a reply: 32 MB
# Of all rows of a reply while it is made, 24 bytes each. A few bytes of a log may stand for 65536.
_MOST_BUCKETS_HELD = 8_000_000


def blueprint(board: Board) -> Blueprint:
    """Returns the endpoint."""
    panel = Blueprint("histograms", __name__)

    @panel.get("/histograms")
    def histograms() -> Response:
        if request.args.get("bins") == "raw":
            return _raw(board)
        return _over_steps(board)

    @panel.get("/histograms/export.json")
    def export() -> Response:
        series = asked_series(board, *_KIND)
        superseded = bool(int_argument("superseded", 0, 0, 1))
        return reply_download(
            _exported(board, series, superseded), "application/json", "histograms.json"
        )

    return panel


def _raw(board: Board) -> Response:
    rows = asked_series(board, *_KIND).rows()
    row = asked_row(rows)
    histogram = buckets_of(value_of_row(board, rows, row))
    if histogram is None:
        raise BadRequest(f"row {row} is no histogram")
    return reply_columns(
        board,
        {"row": row, "step": int(rows.step[row]), "wall": float(rows.wall[row])},
        {"left": histogram.left, "right": histogram.right, "count": histogram.count},
    )


def _over_steps(board: Board) -> Response:
    bins = int_argument("bins", 60, 1, _MOST_BINS)
    most_rows = int_argument("max", 200, 1, _MOST_ROWS)
    least, most = float_argument("least"), float_argument("most")
    if least is not None and most is not None and least > most:
        raise BadRequest(f"least is {least}, above most, which is {most}")
    series = _asked_runs(board)
    if most_rows * bins * len(series) > _MOST_CELLS:
        raise BadRequest(f"max * bins * runs is above {_MOST_CELLS}")
    histograms: list[Buckets] = []
    places: list[tuple[int, int, int, float]] = []
    runs: list[dict[str, int]] = []
    for one in series:
        before = len(histograms)
        total, unreadable = _read(board, one, most_rows, histograms, places)
        runs.append({"run": one.run.id, "rows": len(histograms) - before, "total": total,
                     "unreadable": unreadable})  # fmt: skip
    edges = shared_edges(histograms, bins, least, most)
    columns: dict[str, np.ndarray] = {
        "run": np.array([place[0] for place in places], np.int32),
        "row": np.array([place[1] for place in places], np.int32),
        "step": np.array([place[2] for place in places], np.int64),
        "wall": np.array([place[3] for place in places], np.float64),
        "edges": edges,
        "counts": _joined([rebinned(h, edges) for h in histograms]),
        "percentiles": _joined([percentiles(h) for h in histograms]),
        "n": np.array([h.count.sum() for h in histograms], np.float64),
    }
    header = {
        "rows": len(histograms),
        "bins": bins,
        "total": sum(run["total"] for run in runs),
        "percents": list(PERCENTILES),
        "runs": runs,
    }
    return reply_columns(board, header, columns)


def _exported(board: Board, series: BlobSeries, superseded: bool) -> Iterator[str]:
    """Yields pieces of the JSON of all events, each with the buckets that were written."""
    rows = series.rows()
    yield dump_json({"run": series.run.name, "tag": series.tag.name})[:-1] + ',"rows":['
    separator = "\n"
    for row, value in values_of_rows(board, rows, standing_rows(rows, superseded=superseded)):
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


def _asked_runs(board: Board) -> list[BlobSeries]:
    runs = ids_argument("runs", _MOST_RUNS)
    if runs is None:
        return [asked_series(board, *_KIND)]
    tag = int_argument("tag")
    return [series_of_kinds(board, run, tag, _KIND) for run in dict.fromkeys(runs)]


def _read(
    board: Board,
    series: BlobSeries,
    most: int,
    histograms: list[Buckets],
    places: list[tuple[int, int, int, float]],
) -> tuple[int, int]:
    """Adds the histograms of a run. Returns: how many there are, how many were unreadable.

    Raises: BadRequest for more buckets in all than may be held.
    """
    rows = series.rows()
    superseded = bool(int_argument("superseded", 0, 0, 1))
    found = standing_rows(rows, _step("lo"), _step("hi"), superseded)
    unreadable = 0
    held = sum(len(histogram.left) for histogram in histograms)
    for row, value in values_of_rows(board, rows, evenly_chosen(found, most)):
        histogram = None if value is None else buckets_of(value)
        if histogram is None:
            unreadable += 1
        else:
            held += len(histogram.left)
            if held > _MOST_BUCKETS_HELD:
                raise BadRequest(
                    f"the histograms have more than {_MOST_BUCKETS_HELD:,} buckets: ask for fewer"
                    " rows (max) or runs"
                )
            histograms.append(histogram)
            places.append((series.run.id, row, int(rows.step[row]), float(rows.wall[row])))
    return len(found), unreadable


def _step(name: str) -> int | None:
    if not request.args.get(name):
        return None
    return int_argument(name, least=-(2**63), most=2**63 - 1)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0)

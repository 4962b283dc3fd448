"""Runs, tags, series and problems as rows of JSON replies."""

from __future__ import annotations

import math
from typing import Any

from headrace.board.store.blob_series import BlobSeries
from headrace.board.store.path_text import path_text
from headrace.board.store.problems import Problem
from headrace.board.store.run import Run, Tag
from headrace.board.store.scalar_series import ScalarSeries
from headrace.board.store.series import Series


def run_row(run: Run, problems: int) -> dict[str, Any]:
    """Returns the row of a run with a number of problems."""
    return {
        "id": run.id,
        "name": run.name,
        "folder": run.name.rpartition("/")[0],
        "start": _number(run.start),
        "last_wall": _number(run.last_wall),
        "live": run.live,
        "segments": run.segments,
        "problems": problems,
    }


def tag_row(tag: Tag) -> dict[str, Any]:
    """Returns the row of a tag."""
    return {
        "id": tag.id,
        "name": tag.name,
        "kind": tag.kind,
        "plugin": tag.plugin,
        "display": tag.display,
        "description": tag.description,
    }


def problem_row(problem: Problem) -> dict[str, Any]:
    """Returns the row of a problem."""
    return {
        "id": problem.id,
        "severity": problem.severity,
        "kind": problem.kind,
        "run": problem.run,
        "file": None if problem.file is None else path_text(problem.file),
        "offset": problem.offset,
        "bytes": problem.bytes,
        "count": problem.count,
        "text": problem.text,
        "wall": problem.wall,
        "tag": problem.tag,
        "step": problem.step,
    }


def series_figures(series: Series) -> tuple[Any, ...] | None:
    """Returns the fields of ScalarStatistics for any series; None for a series without rows."""
    if isinstance(series, ScalarSeries):
        return series.statistics() if len(series) else None
    ends = series.ends() if isinstance(series, BlobSeries) else None
    return None if ends is None else (*ends, None, None, None, 0)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None

"""Precision and recall by threshold: GET /pr_curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flask import Response

from headrace.board.summaries.pr_tables import pr_tables
from headrace.board.summaries.series_rows import current_rows, requested_series
from headrace.board.web.panel import Panel, Route
from headrace.board.web.query_arguments import flag_argument, int_argument
from headrace.board.web.responses import columns_response

_MAX_ROWS = 1000


class PrCurvesPanel(Panel):
    """Serves the tables of PR curves."""

    name = "pr_curves"

    def routes(self) -> Sequence[Route]:
        return (Route("GET", "/pr_curves", self.pr_curves),)

    def pr_curves(self) -> Response:
        """Returns evenly spaced tables of a series."""
        rows = requested_series(self.board, "pr_curve").rows()
        limit = int_argument("max", 200, 1, _MAX_ROWS)
        candidates = current_rows(rows, superseded=flag_argument("superseded"))
        tables, unreadable = pr_tables(self.board, rows, candidates, limit)
        chosen = np.array([row for row, _ in tables], np.intp)
        data = [table.reshape(-1) for _, table in tables]
        return columns_response(
            self.board,
            {
                "rows": len(tables),
                "thresholds": tables[0][1].shape[1] if tables else 0,
                "total": len(candidates),
                "unreadable": unreadable,
            },
            {
                "row": chosen.astype(np.int32),
                "step": rows.step[chosen],
                "wall": rows.wall[chosen],
                "data": np.concatenate(data) if data else np.empty(0),
            },
        )

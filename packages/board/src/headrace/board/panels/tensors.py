"""Values of tensors that no other panel serves: GET /tensors."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Response

from headrace.board.errors import NotFound
from headrace.board.store.blob_series import BlobSeries
from headrace.board.summaries.series_rows import requested_row, value_of_row
from headrace.board.summaries.tensor_values import tensor_document
from headrace.board.web.panel import Panel, Route
from headrace.board.web.query_arguments import int_argument
from headrace.board.web.responses import json_response


class TensorsPanel(Panel):
    """Serves the first elements of a tensor."""

    name = "tensors"

    def routes(self) -> Sequence[Route]:
        return (Route("GET", "/tensors", self.tensors),)

    def tensors(self) -> Response:
        """Returns one row of a series of tensors."""
        run, tag = int_argument("run"), int_argument("tag")
        try:
            series = self.board.index.series(run, tag)
        except KeyError:
            raise NotFound(f"run {run} has no tag {tag}") from None
        if not isinstance(series, BlobSeries) or series.tag.kind in ("graph", "run_metadata"):
            raise NotFound(f"tag {tag} has no tensors")
        rows = series.rows()
        row = requested_row(rows)
        value = value_of_row(self.board, rows, row)
        document = tensor_document(value.tensor) if value.HasField("tensor") else {"shape": None}
        return json_response(
            self.board,
            {
                "row": row,
                "rows": len(rows),
                "step": int(rows.step[row]),
                "wall": float(rows.wall[row]),
                **document,
            },
        )

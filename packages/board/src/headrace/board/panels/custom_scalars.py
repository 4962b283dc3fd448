"""Layouts of charts that programs logged: GET /custom_scalars."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Response

from headrace.board.summaries.custom_layouts import custom_layouts
from headrace.board.web.panel import Panel, Route
from headrace.board.web.responses import json_response


class CustomScalarsPanel(Panel):
    """Serves the layouts of all runs."""

    name = "custom_scalars"

    def routes(self) -> Sequence[Route]:
        return (Route("GET", "/custom_scalars", self.custom_scalars),)

    def custom_scalars(self) -> Response:
        """Returns the last layout of each run."""
        return json_response(self.board, {"layouts": custom_layouts(self.board)})

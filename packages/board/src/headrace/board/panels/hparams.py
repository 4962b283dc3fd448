"""Hyperparameters of training sessions and their metrics: GET /hparams."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Response

from headrace.board.summaries.hparams_sessions import hparams_table
from headrace.board.web.panel import Panel, Route
from headrace.board.web.responses import json_response


class HparamsPanel(Panel):
    """Serves the table of sessions."""

    name = "hparams"

    def routes(self) -> Sequence[Route]:
        return (Route("GET", "/hparams", self.hparams),)

    def hparams(self) -> Response:
        """Returns hyperparameters, metrics and sessions."""
        return json_response(self.board, hparams_table(self.board.index))

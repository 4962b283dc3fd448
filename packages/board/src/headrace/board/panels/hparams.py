"""Hyperparameters of runs and the metrics they are judged by: GET /hparams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response

from headrace.board.summaries.hparams_sessions import session_table
from headrace.board.web.responses import reply_json

if TYPE_CHECKING:
    from headrace.board.board import Board


def blueprint(board: Board) -> Blueprint:
    """Returns the endpoint."""
    panel = Blueprint("hparams", __name__)

    @panel.get("/hparams")
    def hparams() -> Response:
        return reply_json(board, session_table(board.index))

    return panel

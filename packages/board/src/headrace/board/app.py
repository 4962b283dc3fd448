"""The board as a WSGI application."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping

from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from headrace.board.board import Board
from headrace.board.errors import BadRequest, DeadlineExceeded, NotFound
from headrace.board.panels.blobs import BlobsPanel
from headrace.board.panels.custom_scalars import CustomScalarsPanel
from headrace.board.panels.embeddings import EmbeddingsPanel
from headrace.board.panels.graphs import GraphsPanel
from headrace.board.panels.histograms import HistogramsPanel
from headrace.board.panels.hparams import HparamsPanel
from headrace.board.panels.meshes import MeshesPanel
from headrace.board.panels.overview import OverviewPanel
from headrace.board.panels.placements import PlacementsPanel
from headrace.board.panels.pr_curves import PrCurvesPanel
from headrace.board.panels.saved_state import SavedStatePanel
from headrace.board.panels.scalars import ScalarsPanel
from headrace.board.panels.tensorboard_calls import TensorboardCallsPanel
from headrace.board.panels.tensors import TensorsPanel
from headrace.board.panels.text import TextPanel
from headrace.board.panels.traces import TracesPanel
from headrace.board.reading.places.log_places import Place
from headrace.board.web import static_files
from headrace.board.web.error_pages import error_page, wants_page
from headrace.board.web.responses import error_response
from headrace.board.web.security import MAX_UPLOAD_BYTES, Access, enforce_access

PANELS = (
    OverviewPanel,
    TensorsPanel,
    ScalarsPanel,
    HistogramsPanel,
    BlobsPanel,
    TextPanel,
    PrCurvesPanel,
    CustomScalarsPanel,
    HparamsPanel,
    SavedStatePanel,
    TracesPanel,
    PlacementsPanel,
    GraphsPanel,
    MeshesPanel,
    EmbeddingsPanel,
    TensorboardCallsPanel,
)


class BoardApp(Flask):
    """A Flask application with the board that it serves."""

    board: Board


def create_app(
    logdir: Place | Mapping[str, Place],
    *,
    title: str = "",
    state_file: str | os.PathLike[str] | None = None,
    follow_links: bool = False,
    access: Access | None = None,
    follow: bool = True,
) -> BoardApp:
    """Returns a WSGI application that shows the event logs below a folder.

    Mount it in a server of your own, or run `headrace-board`. Reading starts at once, in threads of
    the calling process; `app.board.stop()` ends them.

    Args:
      logdir: folder of event files, or its URL, such as s3://bucket/runs; each folder with event
        files is a run. It may be empty, and need not exist yet. Several of them by name.
      title: title of the browser tab; by default the name of the folder.
      state_file: file of notes, saved views and colours; without it the browser stores them.
      follow_links: whether symbolic links may lead out of the logdir.
      access: who may send requests; by default programs that address the board as localhost.
      follow: whether to keep reading as files grow; without it the files are read once, now.
    Raises: FrontendMissingError if the package was not built.
    """
    app = BoardApp("headrace.board", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MAX_UPLOAD_BYTES
    app.json.sort_keys = False  # type: ignore[attr-defined]
    enforce_access(app, access or Access())
    app.register_blueprint(static_files.blueprint())
    app.board = board = Board(
        logdir, title=title, state_file=state_file, follow_links=follow_links, follow=follow
    )
    board.token_needed = access is not None and access.token is not None
    for panel in PANELS:
        app.register_blueprint(panel(board).blueprint())
    _register_error_handlers(app)
    board.start()
    return app


def new_token() -> str:
    """Returns a random token that cannot be guessed."""
    return secrets.token_urlsafe(24)


def _register_error_handlers(app: Flask) -> None:
    @app.errorhandler(BadRequest)
    def bad_request(error: BadRequest) -> Response:
        return error_response(400, str(error))

    @app.errorhandler(NotFound)
    def not_found(error: NotFound) -> Response:
        return error_response(404, str(error))

    @app.errorhandler(DeadlineExceeded)
    def deadline_exceeded(error: DeadlineExceeded) -> Response:
        return error_response(503, str(error))

    @app.errorhandler(HTTPException)
    def http_error(error: HTTPException) -> Response:
        status, why = error.code or 500, error.description or error.name
        return (error_page(status) if wants_page() else None) or error_response(status, why)

"""The board as a WSGI application."""

from __future__ import annotations

import importlib
import os
import secrets
from typing import Any

from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from headrace.board.web import static_files
from headrace.board.board import Board
from headrace.board.web.columns import dump_json
from headrace.board.panels import tensorboard_calls
from headrace.board.errors import BadRequest, NotFound, TakesTooLong
from headrace.board.web.security import MAX_UPLOAD_BYTES, Access, guard

# One module each, with `blueprint(board)`: an area of the interface in docs/board_api.md.
PANELS = (
    "overview",
    "tensors",
    "scalars",
    "histograms",
    "blobs",
    "text",
    "pr_curves",
    "custom_scalars",
    "hparams",
    "saved_state",
    "traces",
    "graphs",
    "meshes",
    "embeddings",
)


def create_app(
    logdir: str | os.PathLike[str],
    *,
    title: str = "",
    state_file: str | os.PathLike[str] | None = None,
    follow_links: bool = False,
    access: Access | None = None,
    follow: bool = True,
) -> Flask:
    """Returns a WSGI application that shows the event logs below a folder.

    Mount it in a server of your own, or run `headrace-board`. Reading begins at once, in threads of
    the process that calls this; `app.board.stop()` ends them.

    Args:
      logdir: folder of event files, in folders that are runs. It may be empty, or come later.
      title: stands in the browser's tab; the folder's name by default.
      state_file: where notes, saved views and colours are kept; without it the browser keeps them.
      follow_links: whether symbolic links may lead out of the logdir.
      access: who may ask; by default programs that address the board as localhost.
      follow: whether to go on reading as files grow; without it they are read once, now.
    Raises: FrontendMissingError if the package was not built.
    """
    app = Flask("headrace.board", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MAX_UPLOAD_BYTES
    app.json.sort_keys = False  # type: ignore[attr-defined]
    guard(app, access or Access())
    app.register_blueprint(static_files.blueprint())
    board = Board(
        logdir, title=title, state_file=state_file, follow_links=follow_links, follow=follow
    )
    board.token_needed = access is not None and access.token is not None
    for name in PANELS:
        panel: Any = importlib.import_module(f"headrace.board.panels.{name}")
        app.register_blueprint(panel.blueprint(board), url_prefix="/api/v1")
    app.register_blueprint(tensorboard_calls.blueprint(board))
    _answer_errors(app)
    app.board = board  # type: ignore[attr-defined]
    board.start()
    return app


def new_token() -> str:
    """Returns a token that nobody guesses."""
    return secrets.token_urlsafe(24)


def _answer_errors(app: Flask) -> None:
    def answer(status: int, message: str) -> Response:
        body = dump_json({"error": message})
        return Response(body, status, content_type="application/json")

    @app.errorhandler(BadRequest)
    def bad_request(error: BadRequest) -> Response:
        return answer(400, str(error))

    @app.errorhandler(NotFound)
    def not_found(error: NotFound) -> Response:
        return answer(404, str(error))

    @app.errorhandler(TakesTooLong)
    def takes_too_long(error: TakesTooLong) -> Response:
        return answer(503, str(error))

    @app.errorhandler(HTTPException)
    def http_error(error: HTTPException) -> Response:
        return answer(error.code or 500, error.description or error.name)

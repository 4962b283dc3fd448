"""`/embeddings` and `/embedding/...`: the points of the projector (docs/board_api.md)."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from flask import Blueprint, Response

from headrace.board.web.columns import is_deeper
from headrace.board.embedding.embedding_error import BadEmbedding
from headrace.board.embedding.embedding_index import Embedding, EmbeddingShelf
from headrace.board.embedding.point_labels import read_labels
from headrace.board.embedding.point_table import MOST_SENT, PointTable
from headrace.board.embedding.sprite_image import MOST_BYTES, image_type
from headrace.board.store.path_text import path_text
from headrace.board.web.responses import (
    BadRequest,
    NotFound,
    int_argument,
    reply_bytes,
    reply_columns,
    reply_json,
)

if TYPE_CHECKING:
    from headrace.board.board import Board

_MOST_BOOKMARKS_BYTES = 32 << 20
_MOST_BOOKMARKS_DEPTH = 50


def blueprint(board: Board) -> Blueprint:
    """Returns the endpoints of embeddings."""
    made = Blueprint("embeddings", __name__)
    shelf = EmbeddingShelf(board.folder, board.index.problems)

    def asked() -> Embedding:
        number = int_argument("id")
        try:
            return shelf.get(number)
        except KeyError:
            raise NotFound(f"there is no embedding {number}") from None

    def table(embedding: Embedding) -> PointTable:
        return shelf.points(embedding, int_argument("most", MOST_SENT, 1, MOST_SENT))

    @made.get("/embeddings")
    def embeddings() -> Response:
        run_ids = {run.folder: run.id for run in board.index.runs()}
        return reply_json(
            board,
            {"embeddings": [_described(one, run_ids) for one in shelf.list()]},
        )

    @made.get("/embedding")
    @_answers_damage
    def embedding() -> Response:
        found = table(asked())
        header = {
            "id": int_argument("id"),
            "rows": found.rows,
            "source_dims": found.dims,
            "dims": found.points.shape[1],
            "sent": len(found.points),
            "notes": list(found.notes),
        }
        return reply_columns(board, header, {"points": found.points.ravel(), "row": found.row})

    @made.get("/embedding/metadata")
    @_answers_damage
    def metadata() -> Response:
        one = asked()
        if not one.metadata:
            raise NotFound(f"embedding {one.id} has no metadata")
        found = table(one)
        labels = read_labels(one.folder, one.metadata, found.row.astype(np.int64), found.rows)
        columns = [
            {"name": c.name, "numeric": c.numeric, "distinct": c.distinct} for c in labels.columns
        ]
        return reply_json(
            board,
            {
                "rows": labels.rows,
                "columns": columns,
                "values": [column.values for column in labels.columns],
                "notes": list(labels.notes),
            },
        )

    @made.get("/embedding/bookmarks")
    @_answers_damage
    def bookmarks() -> Response:
        one = asked()
        if not one.bookmarks:
            raise NotFound(f"embedding {one.id} has no bookmarks")
        data = one.folder.read(one.bookmarks, _MOST_BOOKMARKS_BYTES)
        try:
            saved = json.loads(data)
        except (ValueError, RecursionError):
            raise BadEmbedding("the bookmarks are no JSON") from None
        if is_deeper(saved, _MOST_BOOKMARKS_DEPTH):
            raise BadEmbedding(f"the bookmarks are nested deeper than {_MOST_BOOKMARKS_DEPTH}")
        return reply_json(board, {"bookmarks": saved})

    @made.get("/embedding/sprite")
    @_answers_damage
    def sprite() -> Response:
        one = asked()
        if not one.sprite:
            raise NotFound(f"embedding {one.id} has no sprite")
        data = one.folder.read(one.sprite, MOST_BYTES)
        mime, _, _ = image_type(data)
        return reply_bytes(data, mime)

    return made


def _described(one: Embedding, run_ids: dict[str, int]) -> dict[str, Any]:
    return {
        "id": one.id,
        "run": run_ids.get(one.folder.path),
        "folder": path_text(one.folder.path) or ".",
        "name": one.name,
        "rows": one.rows,
        "dims": one.dims,
        "source": "file" if one.tensor else "checkpoint",
        "version": one.version,
        "metadata": bool(one.metadata),
        "bookmarks": bool(one.bookmarks),
        "sprite": [one.sprite_width, one.sprite_height] if one.sprite else None,
    }


def _answers_damage(view: Callable[..., Response]) -> Callable[..., Response]:
    """Turns what is wrong with the files into 404 or 400."""

    @wraps(view)
    def answered(*args: Any, **kwargs: Any) -> Response:
        try:
            return view(*args, **kwargs)
        except BadEmbedding as error:
            raise (NotFound if error.missing else BadRequest)(str(error)) from None

    return answered

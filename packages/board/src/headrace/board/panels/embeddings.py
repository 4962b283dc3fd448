"""Points of the projector: GET /embeddings, /embedding, /embedding/metadata and others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flask import Response

from headrace.board.embedding.embedding_error import EmbeddingError
from headrace.board.embedding.embedding_index import Embedding
from headrace.board.embedding.point_labels import read_labels
from headrace.board.embedding.point_table import MAX_SENT, PointTable
from headrace.board.embedding.sprite_image import MAX_BYTES, image_type
from headrace.board.errors import NotFound
from headrace.board.store.path_text import path_text
from headrace.board.web.json_text import is_deeper
from headrace.board.web.panel import ErrorHandler, Panel, Route
from headrace.board.web.query_arguments import int_argument
from headrace.board.web.responses import (
    bytes_response,
    columns_response,
    error_response,
    json_response,
)

_MAX_BOOKMARKS_BYTES = 32 << 20
_MAX_BOOKMARKS_DEPTH = 50


class EmbeddingsPanel(Panel):
    """Serves the tensors that projector configs and checkpoints offer."""

    name = "embeddings"

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/embeddings", self.embeddings),
            Route("GET", "/embedding", self.embedding),
            Route("GET", "/embedding/metadata", self.metadata),
            Route("GET", "/embedding/bookmarks", self.bookmarks),
            Route("GET", "/embedding/sprite", self.sprite),
        )

    def error_handlers(self) -> Mapping[type[Exception], ErrorHandler]:
        return {EmbeddingError: _embedding_error}

    def embeddings(self) -> Response:
        """Returns the list of embeddings."""
        run_ids = {run.folder: run.id for run in self.board.index.runs()}
        rows = [_embedding_row(one, run_ids) for one in self.board.embeddings.list()]
        return json_response(self.board, {"embeddings": rows})

    def embedding(self) -> Response:
        """Returns the points of an embedding."""
        found = self._table(self._requested())
        header = {
            "id": int_argument("id"),
            "rows": found.rows,
            "source_dims": found.dims,
            "dims": found.points.shape[1],
            "sent": len(found.points),
            "notes": list(found.notes),
        }
        columns = {"points": found.points.ravel(), "row": found.row}
        return columns_response(self.board, header, columns)

    def metadata(self) -> Response:
        """Returns the labels of the same points."""
        one = self._requested()
        if not one.metadata:
            raise NotFound(f"embedding {one.id} has no metadata")
        found = self._table(one)
        labels = read_labels(one.folder, one.metadata, found.row.astype(np.int64), found.rows)
        columns = [
            {"name": c.name, "numeric": c.numeric, "distinct": c.distinct} for c in labels.columns
        ]
        return json_response(
            self.board,
            {
                "rows": labels.rows,
                "columns": columns,
                "values": [column.values for column in labels.columns],
                "notes": list(labels.notes),
            },
        )

    def bookmarks(self) -> Response:
        """Returns the JSON of the bookmarks file that the config names."""
        one = self._requested()
        if not one.bookmarks:
            raise NotFound(f"embedding {one.id} has no bookmarks")
        data = one.folder.read(one.bookmarks, _MAX_BOOKMARKS_BYTES)
        try:
            saved = json.loads(data)
        except (ValueError, RecursionError):
            raise EmbeddingError("the bookmarks are not JSON") from None
        if is_deeper(saved, _MAX_BOOKMARKS_DEPTH):
            raise EmbeddingError(f"the bookmarks are nested deeper than {_MAX_BOOKMARKS_DEPTH}")
        return json_response(self.board, {"bookmarks": saved})

    def sprite(self) -> Response:
        """Returns the image that holds the tiles of the points."""
        one = self._requested()
        if not one.sprite:
            raise NotFound(f"embedding {one.id} has no sprite")
        data = one.folder.read(one.sprite, MAX_BYTES)
        mime, _, _ = image_type(data)
        return bytes_response(data, mime)

    def _requested(self) -> Embedding:
        number = int_argument("id")
        try:
            return self.board.embeddings.get(number)
        except KeyError:
            raise NotFound(f"there is no embedding {number}") from None

    def _table(self, embedding: Embedding) -> PointTable:
        return self.board.embeddings.points(embedding, int_argument("most", MAX_SENT, 1, MAX_SENT))


def _embedding_error(error: Exception) -> Response:
    missing = isinstance(error, EmbeddingError) and error.missing
    return error_response(404 if missing else 400, str(error))


def _embedding_row(one: Embedding, run_ids: dict[str, int]) -> dict[str, Any]:
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

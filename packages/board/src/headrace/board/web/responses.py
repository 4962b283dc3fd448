"""Responses of the board: JSON, columns, files, downloads."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from flask import Response, request

from headrace.board.web.columns import MEDIA_TYPE, columns_as_json, encode_columns
from headrace.board.web.json_text import dump_json

if TYPE_CHECKING:
    from headrace.board.board import Board

_GZIP_FROM_BYTES = 1024
_GZIP_LEVEL = 1  # on a loopback connection compression time costs more than bytes


def json_response(board: Board, document: Mapping[str, Any], status: int = 200) -> Response:
    """Returns a JSON response; adds the revision of the store."""
    body = dump_json({"rev": board.index.rev, **document}).encode()
    return bytes_response(body, "application/json", status)


def columns_response(
    board: Board,
    header: Mapping[str, Any],
    columns: Mapping[str, np.ndarray],
    compress: bool = False,
) -> Response:
    """Returns columns, or the same content as JSON if the request prefers that.

    Args:
      compress: worthwhile for repetitive columns such as those of a graph. Measured floats shrink
        too little to pay 20 ms per megabyte on a loopback connection.
    """
    header = {"rev": board.index.rev, **header}
    if request.accept_mimetypes.best == "application/json":
        return bytes_response(columns_as_json(header, columns).encode(), "application/json")
    return bytes_response(encode_columns(header, columns), MEDIA_TYPE, compress=compress)


def bytes_response(
    body: bytes, media_type: str, status: int = 200, compress: bool = True
) -> Response:
    """Returns a response with an ETag, gzipped where accepted; 304 if the client has the body."""
    etag = hashlib.blake2b(body, digest_size=12).hexdigest()
    headers = {"Cache-Control": "no-cache", "Vary": "Accept, Accept-Encoding"}
    if status == 200 and request.method == "GET" and request.if_none_match.contains(etag):
        response = Response(status=304, headers=headers)
    else:
        if compress and len(body) >= _GZIP_FROM_BYTES and "gzip" in request.accept_encodings:
            body = gzip.compress(body, _GZIP_LEVEL, mtime=0)
            headers["Content-Encoding"] = "gzip"
        response = Response(body, status, headers, content_type=media_type)
    response.set_etag(etag)
    return response


def download_response(pieces: Iterator[str], media_type: str, name: str) -> Response:
    """Returns a response that a browser saves as a file; it is streamed.

    Args:
      pieces: pieces of the text; they are produced after the request context has ended.
      media_type, name: type and name of the file.
    """
    encoded = (piece.encode("utf-8", "replace") for piece in pieces)
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(encoded, headers=headers, content_type=media_type)


def error_response(status: int, message: str) -> Response:
    """Returns `{"error": message}` with a status."""
    body = dump_json({"error": message})
    return Response(body, status, content_type="application/json")

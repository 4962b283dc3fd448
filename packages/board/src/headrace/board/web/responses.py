"""Replies of the board's endpoints, and the arguments that they take."""

from __future__ import annotations

import gzip
import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from flask import Response, request

from headrace.board.web.columns import MEDIA_TYPE, columns_as_json, dump_json, encode_columns
from headrace.board.errors import BadRequest, NotFound, TakesTooLong

if TYPE_CHECKING:
    from headrace.board.board import Board

__all__ = [
    "BadRequest",
    "NotFound",
    "TakesTooLong",
    "body_object",
    "float_argument",
    "ids_argument",
    "int_argument",
    "reply_bytes",
    "reply_columns",
    "reply_download",
    "reply_json",
]

_GZIP_FROM_BYTES = 1024
_GZIP_LEVEL = 1  # of a loopback server: the time to compress counts, not the last percent


def reply_json(board: Board, document: Mapping[str, Any], status: int = 200) -> Response:
    """Returns a JSON reply that carries the store's revision."""
    body = dump_json({"rev": board.index.rev, **document}).encode()
    return reply_bytes(body, "application/json", status)


def reply_columns(
    board: Board,
    header: Mapping[str, Any],
    columns: Mapping[str, np.ndarray],
    compress: bool = False,
) -> Response:
    """Returns a reply of columns, or the same as JSON if the caller prefers that.

    Args:
      compress: for columns that repeat themselves, as a graph's do. Measured floats do not shrink
        enough to be worth 20 ms a megabyte on a connection that never leaves the machine.
    """
    header = {"rev": board.index.rev, **header}
    if request.accept_mimetypes.best == "application/json":
        return reply_bytes(columns_as_json(header, columns).encode(), "application/json")
    return reply_bytes(encode_columns(header, columns), MEDIA_TYPE, compress=compress)


def reply_bytes(body: bytes, media_type: str, status: int = 200, compress: bool = True) -> Response:
    """Returns a reply with an ETag, compressed where the caller can read that; 304 if it has it."""
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


def reply_download(pieces: Iterator[str], media_type: str, name: str) -> Response:
    """Returns a reply that a browser saves as a file, sent while it is made.

    Args:
      pieces: of the text; made without a request's context.
      media_type, name: of the file.
    """
    encoded = (piece.encode("utf-8", "replace") for piece in pieces)
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(encoded, headers=headers, content_type=media_type)


def int_argument(name: str, default: int | None = None, least: int = 0, most: int = 2**53) -> int:
    """Returns an integer of the query string. Raises: BadRequest."""
    text = request.args.get(name)
    if text is None or text == "":
        if default is None:
            raise BadRequest(f"{name} is missing")
        return default
    try:
        value = int(text)
    except ValueError:
        raise BadRequest(f"{name} is {text[:40]!r}, not an integer") from None
    if not least <= value <= most:
        raise BadRequest(f"{name} is {value}, not within {least} and {most}")
    return value


def float_argument(name: str, default: float | None = None) -> float | None:
    """Returns a finite number of the query string, or the default. Raises: BadRequest."""
    text = request.args.get(name)
    if text is None or text == "":
        return default
    try:
        value = float(text)
    except ValueError:
        raise BadRequest(f"{name} is {text[:40]!r}, not a number") from None
    if not math.isfinite(value):
        raise BadRequest(f"{name} is {value}, not finite")
    return value


def ids_argument(name: str, most: int = 1000) -> list[int] | None:
    """Returns the integers of a list `1,2,3` in the query string; None if there is none."""
    text = request.args.get(name)
    if text is None:
        return None
    parts = [part for part in text.split(",") if part]
    if len(parts) > most:
        raise BadRequest(f"{name} has {len(parts)} items, more than {most}")
    try:
        return [int(part) for part in parts]
    except ValueError:
        raise BadRequest(f"{name} is {text[:40]!r}, not integers joined by commas") from None


def body_object() -> dict[str, Any]:
    """Returns the JSON object of the request's body. Raises: BadRequest."""
    try:
        document = request.get_json(silent=True)
    except RecursionError:  # nested a thousand deep
        document = None
    if not isinstance(document, dict):
        raise BadRequest("the body is not a JSON object")
    return document

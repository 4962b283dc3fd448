"""Serves the built front end from memory: only files in the manifest of the build."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources

from flask import Blueprint, Response, abort, request


class FrontendMissingError(RuntimeError):
    """The package was not built, so it has no front end."""


@lru_cache(maxsize=1)
def _assets() -> dict[str, tuple[bytes, str, str]]:
    """Returns content, media type and ETag of each file, by name."""
    folder = resources.files("headrace.board") / "assets"
    manifest = folder / "manifest.json"
    if not manifest.is_file():
        raise FrontendMissingError(
            "headrace.board has no front end: install the package with pip, or in a checkout"
            " run `python setup.py build_ext --inplace` in packages/board"
        )
    files = json.loads(manifest.read_text())["files"]
    return {
        name: ((folder / name).read_bytes(), about["type"], about["etag"])
        for name, about in files.items()
    }


def blueprint() -> Blueprint:
    """Returns the routes of the page at / and of its files at /assets/NAME."""
    pages = Blueprint("assets", __name__)
    _assets()  # reports a missing build now, not at the first request

    @pages.get("/")
    def page() -> Response:
        return _reply("index.html", immutable=False)

    @pages.get("/assets/<name>")
    def asset(name: str) -> Response:
        # The names of scripts and styles contain a hash of their content.
        return _reply(name, immutable="-" in name)

    return pages


def _reply(name: str, immutable: bool) -> Response:
    if name not in _assets():
        abort(404, "no such file")
    content, media_type, etag = _assets()[name]
    if request.if_none_match.contains(etag):
        response = Response(status=304)
    else:
        response = Response(content, content_type=media_type)
    response.set_etag(etag)
    response.headers["Cache-Control"] = (
        "private, max-age=31536000, immutable" if immutable else "no-cache"
    )
    return response

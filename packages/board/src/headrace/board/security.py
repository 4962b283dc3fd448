"""Who may ask the board, and what a browser may do with its answers.

A board listens on the loopback address of somebody's machine, where every page of their browser can
reach it: DNS rebinding, cross-site requests and scripts in the data are the threats. The rules
stand here, before any endpoint.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from flask import Flask, Response, redirect, request
from werkzeug.datastructures import Headers
from werkzeug.wrappers import Response as WerkzeugResponse

from headrace.board.columns import dump_json

COOKIE = "headrace_board"
MAX_BODY_BYTES = 1 << 20
MAX_UPLOAD_BYTES = 256 << 20
UPLOAD_PATH = "/api/v1/graphs/upload"
_METHODS = ("GET", "HEAD", "POST", "PUT")

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:;"
    " media-src 'self' blob:; connect-src 'self'; worker-src 'self'; font-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors {frames};"
    " require-trusted-types-for 'script'; trusted-types headrace"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


@dataclass(frozen=True)
class Access:
    """Who may ask.

    Args:
      hosts: names by which the board may be addressed, beside localhost and loopback addresses.
      token: what a caller must show once (`?t=TOKEN`), then as a cookie; None: nothing.
      any_host: no check of the Host header (`--insecure-public`, or behind a proxy of your own).
      frames: origins that may show the board in a frame (a notebook's); none by default.
    """

    hosts: frozenset[str] = frozenset()
    token: str | None = None
    any_host: bool = False
    frames: tuple[str, ...] = field(default=())


def guard(app: Flask, access: Access) -> None:
    """Puts the rules before every request of an app, and the headers on every answer."""
    frames = " ".join(access.frames) if access.frames else "'none'"
    policy = CONTENT_POLICY.format(frames=frames)

    @app.before_request
    def check() -> WerkzeugResponse | None:
        refused = refusal(access)
        if refused is not None:
            status, why = refused
            return Response(dump_json({"error": why}), status, content_type="application/json")
        if access.token is not None and "t" in request.args:
            return _with_cookie(access.token)
        return None

    @app.after_request
    def harden(response: Response) -> Response:
        headers: Headers = response.headers
        for name, value in _HEADERS.items():
            headers.setdefault(name, value)
        headers["Content-Security-Policy"] = policy
        headers.setdefault("Cache-Control", "no-store")
        return response


def refusal(access: Access) -> tuple[int, str] | None:
    """Returns the status and the reason why the present request is refused; None if it is not."""
    if request.method not in _METHODS:
        return 405, f"{request.method} is not a method of the board"
    host = request.headers.get("Host", "")
    if not access.any_host and not host_allowed(host, access.hosts):
        return 421, "the Host header does not name this board (see --allow-host)"
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
        return 403, "a page of another origin may not ask this board"
    opens_page = request.method == "GET" and request.path == "/"
    # same-site is another port of this host, which is another program.
    if request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site") and not (
        opens_page and request.headers.get("Sec-Fetch-Mode") == "navigate"
    ):
        return 403, "a page of another site may not ask this board"
    if access.token is not None and not _shows_token(access.token):
        return 401, "open the board with the address that it printed, which carries its token"
    if request.method in ("POST", "PUT"):
        return _body_refusal()
    return None


def host_allowed(host: str, extra: Iterable[str] = ()) -> bool:
    """Whether a Host header names localhost, a loopback address or one of extra; any port.

    >>> host_allowed("127.0.0.1:6006"), host_allowed("[::1]:6006"), host_allowed("evil.example")
    (True, True, False)
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
        _ = urlsplit(f"//{host}").port
    except ValueError:
        return False
    if "@" in host or "/" in host:
        return False
    if name == "localhost" or name in {allowed.lower() for allowed in extra}:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _body_refusal() -> tuple[int, str] | None:
    upload = request.path == UPLOAD_PATH
    wanted = "application/octet-stream" if upload else "application/json"
    most = MAX_UPLOAD_BYTES if upload else MAX_BODY_BYTES
    # A form of a foreign page can send neither this type nor this header without asking first.
    if request.mimetype != wanted or request.headers.get("X-Board") != "1":
        return 403, f"{request.method} needs Content-Type: {wanted} and X-Board: 1"
    if request.content_length is None:
        return 411, "the body's length is missing"
    if request.content_length > most:
        return 413, f"the body has {request.content_length} bytes, more than {most}"
    return None


def _shows_token(token: str) -> bool:
    shown = request.args.get("t") or request.cookies.get(COOKIE) or ""
    return hmac.compare_digest(shown.encode(), token.encode())


def _with_cookie(token: str) -> WerkzeugResponse:
    """Moves the token from the address, which ends up in histories, to a cookie."""
    response = redirect(request.script_root + "/", 303)
    response.set_cookie(COOKIE, token, httponly=True, samesite="Strict", path="/")
    return response

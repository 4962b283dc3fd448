"""Which requests the board accepts, and what a browser may do with the responses.

A board listens on a loopback address of the user's machine, where every page in their browser can
reach it. The threats are DNS rebinding, cross-site requests, and scripts in the data. All rules
are in this module and apply before any route.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from flask import Flask, Response, redirect, request
from werkzeug.datastructures import Headers
from werkzeug.wrappers import Response as WerkzeugResponse

from headrace.board.web.error_pages import error_page, wants_page
from headrace.board.web.json_text import dump_json

MAX_BODY_BYTES = 1 << 20
MAX_UPLOAD_BYTES = 256 << 20
UPLOAD_PATH = "/api/v1/graphs/upload"
_WEB_PORTS = (80, 443)  # ports of a Host header without a port
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
    """Who may send requests.

    Args:
      hosts: host names of the board in addition to localhost and loopback addresses, which it has
        at any port: `name` at any port, as behind a proxy or a tunnel, or `name:port`.
      token: secret that a client must send once (`?t=TOKEN`), then as a cookie; None: no secret.
      any_host: whether to accept any Host header (`--insecure-public`, or behind your own proxy).
      frames: origins that may show the board in a frame, such as a notebook's; none by default.
    """

    hosts: frozenset[str] = frozenset()
    token: str | None = None
    any_host: bool = False
    frames: tuple[str, ...] = field(default=())


def enforce_access(app: Flask, access: Access) -> None:
    """Checks every request of an app, and adds the security headers to every response."""
    frames = " ".join(access.frames) if access.frames else "'none'"
    policy = CONTENT_POLICY.format(frames=frames)

    @app.before_request
    def check() -> WerkzeugResponse | None:
        rejected = rejection(access)
        if rejected is not None:
            status, why = rejected
            page = error_page(status) if wants_page() else None
            if page is not None:
                return page
            return Response(dump_json({"error": why}), status, content_type="application/json")
        if access.token is not None and request.path == "/" and "t" in request.args:
            return _with_cookie(access.token)
        return None

    @app.after_request
    def harden(response: Response) -> Response:
        headers: Headers = response.headers
        for name, value in _HEADERS.items():
            headers.setdefault(name, value)
        headers.setdefault("Content-Security-Policy", policy)
        headers.setdefault("Cache-Control", "no-store")
        return response


def rejection(access: Access) -> tuple[int, str] | None:
    """Returns status and reason if the current request must be rejected, else None."""
    if request.method not in _METHODS:
        return 405, f"{request.method} is not a method of the board"
    host = request.headers.get("Host", "")
    if not access.any_host and not host_allowed(host, access.hosts):
        return 421, f"the board is not at {host[:200]!r} (see --allow-host NAME[:PORT])"
    origin = request.headers.get("Origin")
    if origin is not None and not _is_origin_of(origin, host):
        return 403, "a page of another origin may not send requests to this board"
    opens_page = request.method == "GET" and request.path == "/"
    # same-site means another port of this host, which belongs to another program.
    if request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site") and not (
        opens_page and request.headers.get("Sec-Fetch-Mode") == "navigate"
    ):
        return 403, "a page of another site may not send requests to this board"
    if access.token is not None and not _shows_token(access.token):
        return 401, "open the address that the board printed, which contains its token"
    if request.method in ("POST", "PUT"):
        return _body_rejection()
    return None


def host_allowed(host: str, extra: Iterable[str] = ()) -> bool:
    """Returns whether a Host header names localhost, a loopback address, or one of `extra`.

    Loopback names hold at any port: SSH and editors forward a port of theirs to the board's. A page
    of another program on this machine is kept out by its Origin, which has that program's port.

    Args:
      extra: `name` at any port, or `name:port`.

    >>> host_allowed("127.0.0.1:6006"), host_allowed("[::1]:8888"), host_allowed("evil.example")
    (True, True, False)
    >>> host_allowed("b.org", ["b.org"]), host_allowed("b.org:81", ["b.org:80"])
    (True, False)
    """
    requested = _name_and_port(host)
    if requested is None or not requested[0]:
        return False
    name = requested[0]
    ports = _WEB_PORTS if requested[1] is None else (requested[1],)
    for entry in extra:
        allowed = _name_and_port(entry)
        if allowed is not None and name == allowed[0] and allowed[1] in (None, *ports):
            return True
    return is_loopback(name)


def is_loopback(host: str) -> bool:
    """Returns whether a host is localhost or a loopback address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def cookie_name(token: str) -> str:
    """Returns the name of the cookie that holds a token.

    Cookies do not distinguish ports, so the name depends on the token: several boards on one host
    must not overwrite each other's cookies.
    """
    return f"headrace_board_{hashlib.sha256(token.encode()).hexdigest()[:16]}"


def _name_and_port(host: str) -> tuple[str, int | None] | None:
    """Returns name and port (None without one) of a Host header; None if it is malformed."""
    if "@" in host or "/" in host:
        return None
    if host.count(":") > 1 and not host.startswith("["):
        host = f"[{host}]"  # an IPv6 address without brackets
    try:
        parts = urlsplit(f"//{host}")
        return (parts.hostname or "", parts.port) if parts.netloc == host else None
    except ValueError:
        return None


def _is_origin_of(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def _body_rejection() -> tuple[int, str] | None:
    upload = request.path == UPLOAD_PATH
    required = "application/octet-stream" if upload else "application/json"
    most = MAX_UPLOAD_BYTES if upload else MAX_BODY_BYTES
    # A page of another origin cannot send this type or header without a CORS preflight.
    if request.mimetype != required or request.headers.get("X-Board") != "1":
        return 403, f"{request.method} needs Content-Type: {required} and X-Board: 1"
    if request.content_length is None:
        return 411, "the body's length is missing"
    if request.content_length > most:
        return 413, f"the body has {request.content_length} bytes, more than {most}"
    return None


def _shows_token(token: str) -> bool:
    shown = request.args.get("t") or request.cookies.get(cookie_name(token)) or ""
    return hmac.compare_digest(shown.encode(), token.encode())


def _with_cookie(token: str) -> WerkzeugResponse:
    """Moves the token from the address, which browsers keep in histories, to a cookie.

    The redirect and the path of the cookie are relative, because only the browser knows below
    which path a proxy serves the board.
    """
    response = redirect("./", 303)
    response.set_cookie(
        cookie_name(token),
        token,
        httponly=True,
        samesite="Strict",
        path=None,
        secure=request.is_secure,
    )
    return response

"""Errors as pages: what a person sees who opens a wrong address, with the command that helps."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from html import escape
from urllib.parse import urlsplit

from flask import Response, request

_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:42rem;margin:12vh auto;padding:0 1.5rem}"
    "h1{font-size:1.3rem}"
    "pre{padding:.8rem 1rem;border:1px solid #8886;border-radius:6px;white-space:pre-wrap;"
    "overflow-wrap:anywhere;font:13px/1.5 ui-monospace,monospace}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
# No script, no file, no frame: the style is the only thing that these pages may use.
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_HOST = re.compile(r"[\w.-]{1,200}")


def wants_page() -> bool:
    """Returns whether a browser opens an address, rather than a script that requests data."""
    return (
        request.method in ("GET", "HEAD")
        and not request.path.startswith("/api/")
        and "text/html" in request.accept_mimetypes.values()
    )


def error_page(status: int) -> Response | None:
    """Returns the page of an error; None for a status that has none.

    Args:
      status: 401, 404 or 421.
    """
    if status not in _PAGES:
        return None
    title, body = _PAGES[status]()
    html = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(title)}</h1>{body}</main></body>"
        "</html>"
    )
    response = Response(html, status, content_type="text/html; charset=utf-8")
    response.headers["Content-Security-Policy"] = _POLICY
    return response


def _no_token() -> tuple[str, str]:
    shown = "t" in request.args
    return "This board needs its token", (
        (
            "<p>The token in this address is not that of the board. A board that makes up its"
            " token has another one after each start.</p>"
            if shown
            else "<p>The address lacks the token, by which the board knows who may read its"
            " logs.</p>"
        )
        + "<p>Open the address that the board printed when it started:</p>"
        f"<pre>headrace-board: LOGDIR on {escape(_origin())}/?t=TOKEN</pre>"
        "<p>If you do not have it any more, start the board again, with a token that you choose:"
        f"</p><pre>headrace-board --logdir LOGDIR{_options()} --token TOKEN</pre>"
    )


def _wrong_name() -> tuple[str, str]:
    name = _requested_name()
    allow = shlex.quote(name) if name else "NAME"
    named = f"<code>{escape(name)}</code>" if name else "The name in this address"
    return "The board does not answer to this name", (
        f"<p>{named} is not a name of this board. It replies to localhost, loopback addresses and"
        " the names given by --allow-host, so that no page of another site can read your logs.</p>"
        f"<p>If the name is yours, that of a proxy or a tunnel, start the board with it:</p>"
        f"<pre>headrace-board --logdir LOGDIR --allow-host {escape(allow)}</pre>"
        "<p>Or forward a port from your machine, and open <code>http://localhost:6006</code>"
        " there:</p><pre>ssh -L 6006:localhost:6006 MACHINE</pre>"
    )


def _not_found() -> tuple[str, str]:
    # Relative: only the browser knows below which path a proxy serves the board.
    home = "../" * (request.path.count("/") - 1) or "./"
    return "There is no such page", (
        f"<p>This board has one page, and nothing at <code>{escape(request.path[:200])}</code>.</p>"
        f'<p><a href="{home}">Go to the board</a></p>'
        "<p>The board prints its address when it starts:</p>"
        "<pre>headrace-board --logdir LOGDIR</pre>"
    )


_PAGES = {401: _no_token, 404: _not_found, 421: _wrong_name}


def _requested_name() -> str:
    """Returns the host name of the request where it is a plain one, else ""."""
    try:
        name = urlsplit(f"//{request.headers.get('Host', '')}").hostname or ""
    except ValueError:
        return ""
    return name if _HOST.fullmatch(name) and not name.startswith("-") else ""


def _origin() -> str:
    host = request.headers.get("Host", "")[:200]
    return f"{request.scheme}://{host}" if host else "ADDRESS"


def _options() -> str:
    """Returns the option of the port that this address names."""
    try:
        port = urlsplit(f"//{request.headers.get('Host', '')}").port
    except ValueError:
        port = None
    return f" --port {port}" if port else ""

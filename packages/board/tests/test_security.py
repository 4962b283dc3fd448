"""Requests that are rejected, and the headers for browsers."""

from __future__ import annotations

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.test import create_environ, run_wsgi_app

from headrace.board.web.security import Access, cookie_name, enforce_access, host_allowed

JSON = {"Content-Type": "application/json", "X-Board": "1"}


def client_of(access: Access | None = None) -> FlaskClient:
    app = Flask("guarded", static_folder=None)
    enforce_access(app, access or Access())

    @app.get("/")
    @app.get("/api/v1/meta")
    def read() -> str:
        return "data"

    @app.post("/api/v1/scalars")
    @app.post("/api/v1/graphs/upload")
    def write() -> str:
        return "done"

    return app.test_client()


def get(client: FlaskClient, path: str = "/api/v1/meta", **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.get(path, headers={"Host": "localhost:6006", **named}).status_code


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:6006", "127.0.0.1:6006", "127.8.8.8", "[::1]:6006", "LOCALHOST"],
)
def test_a_loopback_name_is_accepted(host: str) -> None:
    assert get(client_of(), Host=host) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:6006",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "evil.example#localhost",
        "192.168.1.7",
        "[::2]",
        "localhost:port",
        "0.0.0.0",
        "",
    ],
)
def test_a_rebound_name_is_rejected(host: str) -> None:
    # Without a client: older ones make a URL of the host, and fail where none can have it.
    environ = {**create_environ("/api/v1/meta"), "HTTP_HOST": host}
    _, status, _ = run_wsgi_app(client_of().application, environ)
    assert status.startswith("421 ")


def test_a_name_that_the_user_allows_is_accepted() -> None:
    client = client_of(Access(hosts=frozenset(["Board.example"])))
    assert get(client, Host="board.example:80") == 200
    assert get(client, Host="other.example:80") == 421


@pytest.mark.parametrize(
    "host, allowed",
    [
        ("localhost:6006", True),
        ("127.0.0.1:6006", True),
        ("[::1]:6006", True),
        ("localhost:8888", True),  # forwarded by SSH or an editor
        ("127.0.0.1:8888", True),
        ("[::1]:8888", True),
        ("localhost", True),
        ("[::1]", True),
        ("192.168.1.7:6006", False),
        ("proxy.example", True),
        ("proxy.example:8443", True),
        ("tunnel.example:7000", True),
        ("tunnel.example:7001", False),
        ("tunnel.example", False),
        ("secure.example", True),
        ("[fe80::1]:6006", True),
    ],
)
def test_localhost_is_accepted_at_any_port_and_other_names_if_allowed(
    host: str, allowed: bool
) -> None:
    names = frozenset(["proxy.example", "tunnel.example:7000", "secure.example:443", "fe80::1", ""])
    client = client_of(Access(hosts=names))
    reply = client.get("/", headers={"Host": host})
    assert reply.status_code == (200 if allowed else 421)
    if not allowed:
        assert f"not at '{host}' (see --allow-host NAME[:PORT])" in reply.get_json()["error"]


@given(st.text(max_size=30))
def test_any_host_header_is_decided_without_an_error(host: str) -> None:
    assert host_allowed(host) in (True, False)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://localhost:8888",
        "http://localhost",
        "file://",
        "http://[",
        "http://[::1",
        "//",
        "",
    ],
)
def test_another_origin_is_rejected(origin: str) -> None:
    client = client_of()
    assert get(client, Origin=origin) == 403
    sent = client.post(
        "/api/v1/scalars", json={}, headers={"Host": "localhost:6006", "Origin": origin, **JSON}
    )
    assert sent.status_code == 403


def test_the_boards_origin_is_accepted() -> None:
    assert get(client_of(), Origin="http://localhost:6006", Sec_Fetch_Site="same-origin") == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_may_open_the_page_and_nothing_else(site: str) -> None:
    client = client_of()
    assert get(client, Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors") == 403
    assert get(client, Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate") == 403
    assert get(client, "/", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate") == 200
    assert get(client, "/", Sec_Fetch_Site=site, Sec_Fetch_Mode="cors") == 403


@pytest.mark.parametrize("method", ["DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_other_methods_are_rejected(method: str) -> None:
    headers = {"Host": "localhost:6006"}
    assert client_of().open("/api/v1/meta", method=method, headers=headers).status_code == 405


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain", "X-Board": "1"},
        {"Content-Type": "application/x-www-form-urlencoded", "X-Board": "1"},
        {"Content-Type": "multipart/form-data; boundary=x", "X-Board": "1"},
        {"Content-Type": "application/json"},
        {"Content-Type": "application/json", "X-Board": "0"},
        {"Content-Type": "application/octet-stream", "X-Board": "1"},
    ],
)
def test_what_a_form_could_send_changes_nothing(headers: dict[str, str]) -> None:
    sent = client_of().post(
        "/api/v1/scalars", data=b"{}", headers={"Host": "localhost:6006", **headers}
    )
    assert sent.status_code == 403


def test_bodies_have_a_limit_and_an_upload_a_larger_one() -> None:
    client = client_of()
    host = {"Host": "localhost:6006"}
    large = b" " * ((1 << 20) + 1)
    assert client.post("/api/v1/scalars", data=large, headers={**host, **JSON}).status_code == 413
    upload = {**host, "Content-Type": "application/octet-stream", "X-Board": "1"}
    assert client.post("/api/v1/graphs/upload", data=large, headers=upload).status_code == 200
    assert (
        client.post("/api/v1/graphs/upload", json={}, headers={**host, **JSON}).status_code == 403
    )


def test_a_token_is_shown_once_and_kept_as_a_cookie() -> None:
    client = client_of(Access(token="sesame"))
    assert get(client) == 401
    assert get(client, "/?t=guess") == 401
    assert get(client, "/?t=sesäme") == 401
    first = client.get("/?t=sesame", headers={"Host": "localhost:6006"})
    assert (first.status_code, first.headers["Location"]) == (303, "./")
    cookie = first.headers["Set-Cookie"]
    assert cookie.startswith(cookie_name("sesame") + "=") and "HttpOnly" in cookie
    # Without a path it is that of the page, below whatever path a proxy shows it.
    assert "SameSite=Strict" in cookie and "Path" not in cookie
    assert get(client) == 200


def test_a_script_shows_the_token_in_each_address() -> None:
    client = client_of(Access(token="sesame"))
    reply = client.get("/api/v1/meta?t=sesame", headers={"Host": "localhost"})
    assert reply.status_code == 200 and "Set-Cookie" not in reply.headers


def test_every_response_has_the_security_headers() -> None:
    client = client_of()
    for path, host in (("/", "localhost"), ("/missing", "localhost"), ("/", "evil.example")):
        headers = client.get(path, headers={"Host": host}).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "*" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "Access-Control-Allow-Origin" not in headers

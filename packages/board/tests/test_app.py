"""The application as a whole: the page, its files, and errors."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from headrace.board import create_app
from headrace.board.app import PANELS


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    app = create_app(tmp_path_factory.mktemp("logs"), follow=False)
    app.config["PROPAGATE_EXCEPTIONS"] = True  # a 500 would be an exception here
    return app.test_client()


def test_the_page_names_only_files_of_the_build(client: FlaskClient) -> None:
    page = client.get("/").get_data(as_text=True)
    named = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(named) >= 3
    for name in named:
        assert re.fullmatch(r"assets/[\w.-]+", name), name
        got = client.get("/" + name)
        assert got.status_code == 200, name
        assert got.headers["X-Content-Type-Options"] == "nosniff"
    assert "<script>" not in page and "style=" not in page and " on" not in page.lower()


def test_a_built_file_is_requested_once(client: FlaskClient) -> None:
    page = client.get("/").get_data(as_text=True)
    script = re.search(r"assets/main-[\w]+\.js", page)
    assert script is not None
    got = client.get("/" + script[0])
    assert "immutable" in got.headers["Cache-Control"]
    again = client.get("/" + script[0], headers={"If-None-Match": got.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_what_every_page_needs_is_small(client: FlaskClient) -> None:
    """At most 150 KB of script, compressed, before a page can be drawn."""
    folder = resources.files("headrace.board") / "assets"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert 5_000 < manifest["core_gzip_bytes"] <= 150_000


def test_what_is_bundled_keeps_its_licences() -> None:
    folder = resources.files("headrace.board") / "assets"
    notices = (folder / "third_party_licenses.txt").read_text()
    for name in ("preact", "@preact/signals", "flatbush", "markdown-it", "umap-js"):
        assert re.search(rf"^{name} [\d.]+ \(", notices, re.M), name
    assert notices.count("Permission") >= 10


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../app.py",
        "/assets/%2e%2e/app.py",
        "/assets/..%2fapp.py",
        "/assets/manifest.json",
        "/assets//etc/passwd",
        "/assets/",
        "/../../etc/passwd",
        "/etc/passwd",
        "/api/v1/../../etc/passwd",
        "/api/v1/blob/../../../etc/passwd",
        "/api/v1/blob/%2e%2e%2fetc%2fpasswd",
    ],
)
def test_no_path_reaches_the_file_system(client: FlaskClient, path: str) -> None:
    got = client.get(path)
    assert got.status_code in (404, 405, 308), path
    assert b"root:" not in got.data and b"import" not in got.data


def test_every_panel_replies_and_an_unknown_route_is_an_error(client: FlaskClient) -> None:
    rules = {rule.rule for rule in client.application.url_map.iter_rules()}
    assert {rule for rule in rules if not rule.startswith("/api/v1/")} >= {"/", "/assets/<name>"}
    assert len(PANELS) >= 1
    got = client.get("/api/v1/nothing")
    assert got.status_code == 404 and json.loads(got.data)["error"]


ARGUMENTS = ("run", "tag", "row", "index", "name", "id", "a", "b", "lo", "hi", "px", "max", "bins")
VALUES = st.sampled_from(["", "0", "1", "-1", "99999999999999999999", "nan", "inf", "1e400", "x"])


@given(st.data())
def test_no_query_string_is_a_server_error(client: FlaskClient, data: st.DataObject) -> None:
    rules = [
        rule
        for rule in client.application.url_map.iter_rules()
        if "GET" in (rule.methods or ()) and not rule.rule.endswith(("/events", "/changes"))
    ]
    rule = data.draw(st.sampled_from(sorted(rules, key=lambda r: r.rule)))
    path = re.sub(r"<[^>]+>", lambda _: data.draw(st.sampled_from(["0", "7", "zz"])), rule.rule)
    query = data.draw(
        st.dictionaries(st.sampled_from(ARGUMENTS), VALUES | st.text(max_size=6), max_size=5)
    )
    got = client.get(path, query_string=query)
    assert got.status_code < 500, (path, query, got.data[:200])
    if got.status_code >= 400 and path.startswith("/api"):
        assert json.loads(got.data)["error"]


def test_an_app_may_be_mounted_below_a_prefix(tmp_path: Path) -> None:
    from werkzeug.middleware.dispatcher import DispatcherMiddleware
    from werkzeug.test import Client

    app = create_app(tmp_path, follow=False)
    mounted = Client(DispatcherMiddleware(lambda e, s: [b""], {"/board": app}))
    page = mounted.get("/board/")
    assert page.status_code == 200 and 'src="assets/' in page.get_data(as_text=True)
    assert mounted.get("/board/api/v1/meta").status_code == 200

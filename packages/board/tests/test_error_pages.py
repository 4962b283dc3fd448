"""What a person sees who opens an address that the board does not serve."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from headrace.board import create_app
from headrace.board.web.security import Access, enforce_access

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def client(tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    access = Access(token="sesame")
    return create_app(tmp_path_factory.mktemp("logs"), follow=False, access=access).test_client()


def opened(client: FlaskClient, path: str, host: str = "localhost:6006") -> TestResponse:
    return client.get(path, headers={"Host": host, **HTML})


def is_page(response: TestResponse) -> bool:
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "script-src" not in policy
    return response.content_type == "text/html; charset=utf-8"


def commands(response: TestResponse) -> list[str]:
    return re.findall(r"<pre>(.*?)</pre>", response.get_data(as_text=True))


def test_a_name_that_is_not_the_boards_gets_a_page_with_the_option_that_allows_it(
    client: FlaskClient,
) -> None:
    got = opened(client, "/", "board.example:8443")
    assert got.status_code == 421 and is_page(got)
    assert commands(got)[0] == "headrace-board --logdir LOGDIR --allow-host board.example"
    assert commands(got)[1].startswith("ssh -L 6006:localhost:6006 ")


@pytest.mark.parametrize("host", ["<script>x</script>", "a'b;rm -rf", "-o.example", "[fe80::1]"])
def test_a_strange_name_is_not_part_of_the_command(client: FlaskClient, host: str) -> None:
    got = opened(client, "/", host)
    assert got.status_code == 421
    assert commands(got)[0] == "headrace-board --logdir LOGDIR --allow-host NAME"
    assert host not in got.get_data(as_text=True)


def test_a_missing_token_and_a_wrong_one_get_pages_that_say_where_the_token_is(
    client: FlaskClient,
) -> None:
    missing, wrong = opened(client, "/"), opened(client, "/?t=guess")
    for got in (missing, wrong):
        assert got.status_code == 401 and is_page(got)
        assert commands(got) == [
            "headrace-board: LOGDIR on http://localhost:6006/?t=TOKEN",
            "headrace-board --logdir LOGDIR --port 6006 --token TOKEN",
        ]
        assert "sesame" not in got.get_data(as_text=True)
    assert "lacks the token" in missing.get_data(as_text=True)
    assert "is not that of the board" in wrong.get_data(as_text=True)
    assert "guess" not in wrong.get_data(as_text=True)


@pytest.mark.parametrize(
    "path, home", [("/scalars", "./"), ("/a/b", "../"), ("/assets/old-HASH.js", "../")]
)
def test_an_unknown_path_gets_a_page_that_leads_to_the_board(
    client: FlaskClient, path: str, home: str
) -> None:
    got = opened(client, f"{path}?t=sesame")
    assert got.status_code == 404 and is_page(got)
    assert f'<a href="{home}">' in got.get_data(as_text=True)
    assert commands(got) == ["headrace-board --logdir LOGDIR"]


def test_a_path_is_shown_as_text(client: FlaskClient) -> None:
    got = opened(client, "/%3Cimg%20src=x%3E?t=sesame")
    assert got.status_code == 404
    assert "<img" not in got.get_data(as_text=True)


def test_scripts_still_get_json(client: FlaskClient) -> None:
    for path, host, status in (
        ("/api/v1/meta", "evil.example", 421),
        ("/api/v1/meta", "localhost", 401),
        ("/api/v1/nothing?t=sesame", "localhost", 404),
    ):
        got = opened(client, path, host)
        assert (got.status_code, got.content_type) == (status, "application/json")
        assert got.get_json()["error"]
    plain = client.get("/", headers={"Host": "evil.example", "Accept": "*/*"})
    assert (plain.status_code, plain.content_type) == (421, "application/json")


def test_a_page_of_another_site_is_rejected_without_a_page() -> None:
    app = Flask("guarded", static_folder=None)
    enforce_access(app, Access())
    headers = {"Host": "localhost", "Origin": "http://evil.example", **HTML}
    got = app.test_client().get("/", headers=headers)
    assert (got.status_code, got.content_type) == (403, "application/json")

"""docs/board_api.md describes every route, and its examples are what the board replies.

`python packages/board/tests/test_api_page.py` writes the replies of a board into the page.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

import pytest
from fixtures.api_log import write_api_log
from werkzeug.routing import MapAdapter
from werkzeug.test import TestResponse

from headrace.board.app import BoardApp, create_app

PAGE = Path(__file__).parents[3] / "docs" / "board_api.md"
EXAMPLE = re.compile(r"```http\n(.*?)```\n\n```(\w+)\n(.*?)```", re.S)
ROUTE = re.compile(r"^#{3,4} `(GET|POST|PUT) ([^`]*)`", re.M)
STATIC = {"/", "/assets/<name>"}  # the page itself
# Fields that differ from process to process: only their types are compared.
VOLATILE = {"boot", "mark", "memory_bytes", "rev", "version", "scanner"}
VOLATILE_TEXT = re.compile(r'"(boot|rev)":("[0-9a-f]+"|\d+)')
LINE_CHARACTERS = 118


class Example(NamedTuple):
    """A request of the page, and the reply as the page has it."""

    request: str
    language: str
    reply: str


class Session:
    """A board over the log of the examples, which are sent in the order of the page."""

    def __init__(self, folder: Path) -> None:
        logs = write_api_log(folder / "runs")
        self.app: BoardApp = create_app(logs, state_file=folder / "state.json", follow=False)
        self._client = self.app.test_client()
        self._blob = ""

    def send(self, request: str) -> tuple[str, str]:
        """Returns the language and the text of the reply to a request in the page's notation."""
        head, _, body = request.partition("\n\n")
        (line, *header_lines) = head.strip().split("\n")
        method, path = line.split(" ", 1)
        headers = dict(header.split(": ", 1) for header in header_lines)
        response = self._client.open(
            path.replace("BLOB_ID", self._blob), method=method, headers=headers, data=body.strip()
        )
        assert response.status_code == 200, (request, response.data[:300])
        if path.startswith("/api/v1/blobs/items"):
            self._blob = json.loads(response.data)["items"][0]["id"]
        return _shown(response)


def _shown(response: TestResponse) -> tuple[str, str]:
    if response.content_type == "text/event-stream":
        first = next(iter(response.iter_encoded()))
        response.close()
        return "text", first.decode().strip() + "\n"
    if response.content_type.startswith("image/"):
        return "text", f"{response.content_type}, {len(response.data)} bytes\n"
    if response.content_type == "application/json":
        return "json", _json_lines(json.loads(response.data)) + "\n"
    return "text", response.data.decode().replace("\r\n", "\n")


def _json_lines(value: Any, indent: str = "", before: int = 0) -> str:
    """Returns JSON with each list or object on one line if it fits, and long lists filled."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + before + len(line) <= LINE_CHARACTERS or not isinstance(value, list | dict):
        return line
    inner = indent + "  "
    if isinstance(value, list) and not any(isinstance(item, list | dict) for item in value):
        numbers = ", ".join(json.dumps(item, ensure_ascii=False) for item in value)
        lines = textwrap.wrap(
            numbers, LINE_CHARACTERS, initial_indent=inner, subsequent_indent=inner,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        return "\n".join(["[", *lines, f"{indent}]"])
    if isinstance(value, list):
        parts = [inner + _json_lines(item, inner) for item in value]
        return "[\n" + ",\n".join(parts) + f"\n{indent}]"
    parts = []
    for key, item in value.items():
        head = f"{inner}{json.dumps(key)}: "
        parts.append(head + _json_lines(item, inner, len(key) + 4))
    return "{\n" + ",\n".join(parts) + f"\n{indent}}}"


def page() -> str:
    return PAGE.read_text()


def examples() -> list[Example]:
    return [Example(*match) for match in EXAMPLE.findall(page())]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    session = Session(tmp_path_factory.mktemp("api"))
    yield session
    session.app.board.stop()


def route_of(adapter: MapAdapter, request: str) -> str:
    method, path = request.split("\n", 1)[0].split(" ", 1)
    rule, _ = adapter.match(path.partition("?")[0], method, return_rule=True)
    return f"{method} {rule.rule}"


def test_every_route_has_a_section_and_an_example(session: Session) -> None:
    routes = {
        f"{method} {rule.rule}"
        for rule in session.app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.rule not in STATIC
    }
    adapter = session.app.url_map.bind("localhost")
    assert {route_of(adapter, example.request) for example in examples()} == routes
    described = {f"{method} {path.partition('?')[0]}" for method, path in ROUTE.findall(page())}
    plain = {re.sub(r"<(?:int:)?(\w+)>", lambda m: _PARAMETERS[m[1]], route) for route in routes}
    assert described == {route.replace("/api/v1", "") for route in plain}


_PARAMETERS = {"number": "ID", "name": "NAME"}


def test_the_board_replies_as_documented(session: Session) -> None:
    found = examples()
    assert len(found) > 50
    for example in found:
        language, reply = session.send(example.request)
        assert language == example.language, example.request
        if language == "json":
            output, replied = json.loads(example.reply), json.loads(reply)
            assert stable(replied) == stable(output), example.request
        else:
            assert _stable_text(reply) == _stable_text(example.reply), example.request


def stable(value: Any, key: str = "") -> Any:
    """Returns a value of JSON with the type of each volatile field in place of its value."""
    if key in VOLATILE or (key == "id" and isinstance(value, str)):
        return type(value).__name__
    if key == "wall" and isinstance(value, float) and value > 1.71e9:  # when the board saw it
        return "now"
    if isinstance(value, dict):
        return {name: stable(item, name) for name, item in value.items()}
    return [stable(item) for item in value] if isinstance(value, list) else value


def _stable_text(text: str) -> str:
    return VOLATILE_TEXT.sub(r'"\1"', text)


def write_replies() -> None:
    """Replaces the replies of the page by those of a board."""
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder))

        def replaced(match: re.Match[str]) -> str:
            language, reply = session.send(match[1])
            return f"```http\n{match[1]}```\n\n```{language}\n{reply}```"

        PAGE.write_text(EXAMPLE.sub(replaced, PAGE.read_text()))
        session.app.board.stop()


if __name__ == "__main__":
    write_replies()

"""The display for notebooks."""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError, URLError

import pytest
from fixtures.event_logs import WALL, simple_event

import headrace.board
from headrace.board.notebook import Display
from headrace.formats.event_file import EventFileWriter


def write_log(folder: Path) -> None:
    with EventFileWriter(folder) as writer:
        writer.write(simple_event(0, WALL, [("loss", 1.0)]))


def runs_of(display: Display) -> list[str]:
    with urllib.request.urlopen(display.url + "api/v1/runs", timeout=60) as reply:
        return [run["name"] for run in json.load(reply)["runs"]]


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Display]:
    display = headrace.board.show(tmp_path, height=500)
    yield display
    display.stop()


def test_a_notebook_shows_a_board_that_responds(tmp_path: Path, shown: Display) -> None:
    html = shown._repr_html_()
    assert 'height="500"' in html
    address = re.search(r'src="(http://localhost:\d+/)"', html)
    assert address is not None
    with urllib.request.urlopen(address[1], timeout=60) as page:
        policy = page.headers["Content-Security-Policy"]
    assert "frame-ancestors http://localhost:* http://127.0.0.1:*" in policy
    assert headrace.board.show(tmp_path).url == shown.url


def test_a_notebook_shows_several_folders_by_name(tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("train", "eval")}
    for folder in folders.values():
        write_log(folder)
    display = headrace.board.show(folders)
    try:
        assert headrace.board.show(dict(folders)).url == display.url
        end = time.monotonic() + 60
        while sorted(runs_of(display)) != ["eval", "train"]:
            assert time.monotonic() < end
            time.sleep(0.05)
    finally:
        display.stop()


def test_a_board_that_is_stopped_leaves_no_thread_and_no_port(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    first = headrace.board.show(tmp_path)
    with urllib.request.urlopen(first.url + "api/v1/events", timeout=60) as page:
        page.readline()  # an open page must not hold it up
        first.stop()
    assert set(threading.enumerate()) <= before
    with pytest.raises(URLError):
        urllib.request.urlopen(first.url, timeout=60)
    second = headrace.board.show(tmp_path)
    try:
        first.stop()  # of another board than the one that is shown now
        with urllib.request.urlopen(second.url, timeout=60) as page:
            assert page.status == 200
    finally:
        second.stop()
        second.stop()


def test_behind_a_proxy_the_token_of_the_address_is_required(tmp_path: Path) -> None:
    display = headrace.board.show(tmp_path, url="https://hub.example/proxy/{port}/")
    try:
        found = re.fullmatch(r"https://hub.example/proxy/(\d+)/\?t=([\w-]{30,})", display.url)
        assert found is not None
        inside = f"http://127.0.0.1:{found[1]}/api/v1/meta"
        host = {"Host": "hub.example"}
        with urllib.request.urlopen(
            urllib.request.Request(f"{inside}?t={found[2]}", headers=host), timeout=60
        ) as page:
            assert "frame-ancestors 'self'" in page.headers["Content-Security-Policy"]
        with pytest.raises(HTTPError) as raised:
            urllib.request.urlopen(urllib.request.Request(inside, headers=host), timeout=60)
        with raised.value:
            assert raised.value.code == 401
    finally:
        display.stop()

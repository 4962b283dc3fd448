"""Notes survive lost connections, rejected saves, other pages and reloads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser.metrics_view import WALL, open_view, settled, until, write_run
from browser.page_requests import HeldRequests


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for name in ("first", "second"):
        write_run(tmp_path / "runs" / name, [(step, WALL, [("loss", 1.0)]) for step in range(3)])
    return tmp_path / "runs"


def open_notes(page: Any, url: str, run: str) -> Any:
    """Opens the details of a run; returns its note."""
    open_view(page, url)
    settled(page)
    return notes_of(page, run)


def notes_of(page: Any, run: str) -> Any:
    page.keyboard.press("Control+k")
    page.locator(".palette input:focus").wait_for()
    page.keyboard.type(run)
    page.locator(".palette-item", has_text=run).first.click()
    return page.get_by_role("textbox", name=f"Note on {run}")


def write(page: Any, note: Any, text: str) -> None:
    note.fill(text)
    note.blur()


def saved(state: Path, run: str) -> str | None:
    if not state.exists():
        return None
    documents = json.loads(state.read_text())["documents"]
    note = documents.get("notes", {}).get("document", {}).get(run)
    return note and note["text"]


def test_a_note_written_while_the_server_is_away_is_saved_when_it_comes_back(
    tmp_path: Path, logdir: Path, board_server: Callable[..., Any], page: Any
) -> None:
    state = tmp_path / "state.json"
    board = board_server(logdir, "--state", str(state))
    note = open_notes(page, board.url, "first")
    write(page, note, "before")
    assert until(lambda: saved(state, "first") == "before")
    board.stop()
    write(page, note, "while it was away")
    banner = page.get_by_role("alert").filter(has_text="not saved")
    banner.wait_for()
    assert note.input_value() == "while it was away"
    board_server(logdir, "--state", str(state), port=board.port)
    assert until(lambda: saved(state, "first") == "while it was away", 40)
    assert until(lambda: banner.count() == 0)


def test_a_note_that_could_not_be_saved_is_saved_by_the_next_visit(
    tmp_path: Path, logdir: Path, board_server: Callable[..., Any], page: Any
) -> None:
    state = tmp_path / "state.json"
    board = board_server(logdir, "--state", str(state))
    note = open_notes(page, board.url, "first")
    write(page, note, "saved")
    assert until(lambda: saved(state, "first") == "saved")
    board.stop()
    write(page, note, "lost with the page?")
    page.get_by_role("alert").filter(has_text="not saved").wait_for()
    page.goto("about:blank")
    again = board_server(logdir, "--state", str(state), port=board.port)
    note = open_notes(page, again.url, "first")
    assert until(lambda: note.input_value() == "lost with the page?")
    assert until(lambda: saved(state, "first") == "lost with the page?")


def test_a_rejected_note_stays_in_the_page_with_the_reason(
    tmp_path: Path, logdir: Path, board_server: Callable[..., Any], page: Any
) -> None:
    state = tmp_path / "state.json"
    board = board_server(logdir, "--state", str(state))
    full = {f"run {i}": {"text": "x" * 19_000, "tags": []} for i in range(55)}
    documents = {"notes": {"revision": 1, "document": full}}
    state.write_text(json.dumps({"format": 1, "documents": documents}))
    note = open_notes(page, board.url, "first")
    write(page, note, "y" * 10_000)
    alert = page.get_by_role("alert").filter(has_text="not saved")
    alert.wait_for()
    assert "Notes" in alert.inner_text() and "more than" in alert.inner_text()
    assert len(note.input_value()) == 10_000
    write(page, note, "less")
    assert until(lambda: saved(state, "first") == "less")
    assert until(lambda: alert.count() == 0)


def test_two_browsers_write_notes_of_two_runs_and_both_are_kept(
    tmp_path: Path, logdir: Path, board_server: Callable[..., Any], page: Any, browser: Any
) -> None:
    state = tmp_path / "state.json"
    board = board_server(logdir, "--state", str(state))
    mine = open_notes(page, board.url, "first")
    other = browser.new_context().new_page()
    theirs = open_notes(other, board.url, "second")
    write(other, theirs, "theirs")
    assert until(lambda: saved(state, "second") == "theirs")
    write(page, mine, "mine")
    assert until(lambda: saved(state, "first") == "mine")
    assert saved(state, "second") == "theirs"
    assert until(lambda: notes_of(page, "second").input_value() == "theirs")
    other.context.close()


def test_without_a_state_file_two_pages_of_a_browser_do_not_overwrite_each_other(
    logdir: Path, board_server: Callable[..., Any], page: Any
) -> None:
    url = board_server(logdir).url
    mine = open_notes(page, url, "first")
    other = page.context.new_page()
    theirs = open_notes(other, url, "second")
    write(page, mine, "mine")
    assert until(lambda: notes_of(other, "first").input_value() == "mine")
    theirs = notes_of(other, "second")
    write(other, theirs, "theirs")
    assert until(lambda: notes_of(page, "second").input_value() == "theirs")
    page.reload()
    settled(page)
    assert until(lambda: notes_of(page, "first").input_value() == "mine")
    assert until(lambda: notes_of(page, "second").input_value() == "theirs")


def test_a_slow_save_does_not_conflict_with_what_is_typed_meanwhile(
    tmp_path: Path, logdir: Path, board_server: Callable[..., Any], page: Any
) -> None:
    state = tmp_path / "state.json"
    board = board_server(logdir, "--state", str(state))
    note = open_notes(page, board.url, "first")
    held = HeldRequests(page, "**/api/v1/state/notes")
    write(page, note, "one")
    held.wait()
    held.let_new_ones_go()
    write(page, note, "two")
    page.wait_for_timeout(800)  # twice the delay after which the page saves a note
    assert saved(state, "first") is None, "one save at a time"
    held.release()
    assert until(lambda: saved(state, "first") == "two")
    assert note.input_value() == "two"

"""Panels of Markdown among the cards: written, ordered, saved, and part of reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from browser.axe_rules import serious_violations
from browser.metrics_view import WALL, open_view, settled, until, write_run

EVIL = "<img src=x onerror=window.pwned=1> [x](javascript:window.pwned=2)"
TEXT = f"# Findings\n\nThe **second** seed is worse.\n\n{EVIL}"


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("panels")
    rows = [(s, WALL + s, [("train/loss", 50.0 - s), ("eval/loss", 60.0 - s)]) for s in range(50)]
    write_run(folder / "seed_1", rows)
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.json"


def menu(page: Any, button: str, item: str) -> None:
    page.get_by_role("button", name=button, exact=True).click()
    page.get_by_role("menuitem", name=item).click()


def write_panel(page: Any, text: str) -> None:
    field = page.get_by_label("Text of the panel, Markdown")
    field.fill(text)
    page.get_by_role("button", name="Save", exact=True).click()
    field.wait_for(state="detached")


def new_panel(page: Any, text: str) -> None:
    settled(page)
    menu(page, "view", "New panel of text")
    write_panel(page, text)


def panels(page: Any) -> list[str]:
    """Returns the first lines of the panels, from the top down."""
    found = [
        (one.bounding_box()["y"], one.inner_text().split("\n")[0])
        for one in page.locator(".panel-text").all()
    ]
    return [text for _, text in sorted(found)]


def saved(state: Path) -> list[dict[str, Any]]:
    documents = json.loads(state.read_text())["documents"] if state.exists() else {}
    return list(documents.get("panels", {}).get("document", {}).values())


def test_a_panel_is_written_with_a_preview_survives_a_reload_and_is_removed(
    logdir: Path, board_server: Any, page: Any, state: Path
) -> None:
    open_view(page, board_server(logdir, "--state", str(state)).url)
    settled(page)
    menu(page, "view", "New panel of text")
    field = page.get_by_label("Text of the panel, Markdown")
    assert until(lambda: field.evaluate("field => field === document.activeElement"))
    field.fill(TEXT)
    preview = page.get_by_label("Preview of the panel")
    preview.locator("strong", has_text="second").wait_for()
    page.get_by_role("button", name="Save", exact=True).click()
    shown = page.locator(".panel-text")
    assert shown.locator("h4").inner_text() == "Findings"
    assert until(lambda: [one["text"] for one in saved(state)] == [TEXT])

    page.reload()
    settled(page)
    assert shown.locator("strong").inner_text() == "second"
    assert EVIL.split(" [")[0] in shown.inner_text()
    assert shown.locator("img, a").count() == 0 and page.evaluate("window.pwned ?? null") is None
    # The panel is above the cards, and no card lies below it.
    first = page.locator(".heading").first.bounding_box()
    panel = page.locator(".panel").bounding_box()
    assert panel["y"] + panel["height"] <= first["y"]

    menu(page, "Menu of the panel Findings", "Edit")
    write_panel(page, "changed")
    assert panels(page) == ["changed"]
    page.once("dialog", lambda dialog: dialog.accept())
    menu(page, "Menu of the panel changed", "Remove")
    assert until(lambda: page.locator(".panel").count() == 0)
    assert until(lambda: saved(state) == [])


def test_panels_move_within_their_place_and_stand_at_folders(
    logdir: Path, board_server: Any, page: Any, state: Path
) -> None:
    url = board_server(logdir, "--state", str(state)).url
    open_view(page, url)
    for text in ("one", "two", "three"):
        new_panel(page, text)
    menu(page, "Menu of the panel three", "Move up")
    assert until(lambda: panels(page) == ["one", "three", "two"])
    menu(page, "Menu of the panel one", "Move down")
    assert until(lambda: panels(page) == ["three", "one", "two"])
    page.get_by_role("button", name="Menu of the panel three").click()
    up = page.get_by_role("menuitem", name="Move up")
    assert up.get_attribute("aria-disabled") == "true"
    page.keyboard.press("Escape")

    page.get_by_role("button", name="Add a panel of text to train").click()
    write_panel(page, "about training")
    assert until(lambda: "train" in [one["place"] for one in saved(state)])
    assert until(lambda: panels(page)[-1] == "about training")
    open_view(page, url)
    settled(page)
    assert until(lambda: panels(page) == ["three", "one", "two", "about training"])
    heading = page.get_by_role("button", name="train 1", exact=True)
    assert heading.bounding_box()["y"] < page.get_by_text("about training").bounding_box()["y"]
    heading.click()
    assert until(lambda: panels(page) == ["three", "one", "two"])
    # A folder that is filtered away takes its panel with it.
    page.get_by_label("Filter tags").fill("^eval")
    heading.wait_for(state="detached")
    assert panels(page) == ["three", "one", "two"]


def test_a_text_that_is_too_long_is_not_saved_and_says_why(
    logdir: Path, board_server: Any, page: Any, state: Path
) -> None:
    open_view(page, board_server(logdir, "--state", str(state)).url)
    settled(page)
    menu(page, "view", "New panel of text")
    field = page.get_by_label("Text of the panel, Markdown")
    field.fill("é" * 32_001)
    error = page.get_by_text("The text has 64,002 bytes, more than the 64 KB of a panel.")
    error.wait_for()
    assert page.get_by_role("button", name="Save", exact=True).is_disabled()
    page.get_by_role("button", name="Cancel").click()
    assert until(lambda: page.locator(".panel").count() == 0)
    assert saved(state) == []


def test_a_draft_outlives_its_editor_and_excludes_others(
    logdir: Path, board_server: Any, page: Any, state: Path
) -> None:
    open_view(page, board_server(logdir, "--state", str(state)).url)
    settled(page)
    menu(page, "view", "New panel of text")
    field = page.get_by_label("Text of the panel, Markdown")
    field.fill("half written")
    page.get_by_role("link", name="Problems").click()
    field.wait_for(state="detached")
    page.get_by_role("link", name="Metrics").click()
    assert until(field.input_value) == "half written"
    assert page.get_by_role("button", name="Add a panel of text to train").is_disabled()
    page.get_by_role("button", name="Cancel").click()
    assert page.get_by_role("button", name="Add a panel of text to train").is_enabled()


def test_a_board_that_cannot_write_shows_panels_and_offers_no_changes(
    logdir: Path, board_server: Any, page: Any, state: Path
) -> None:
    url = board_server(logdir, "--state", str(state)).url
    open_view(page, url)
    new_panel(page, "# Published")
    assert until(lambda: len(saved(state)) == 1)

    def read_only(route: Any) -> None:
        route.fulfill(json={**route.fetch().json(), "read_only": True})

    page.route("**/api/v1/meta", read_only)
    page.reload()
    settled(page)
    assert until(lambda: panels(page) == ["Published"])
    assert page.get_by_role("button", name="Menu of the panel").count() == 0
    assert page.get_by_role("button", name="Add a panel of text").count() == 0
    page.get_by_role("button", name="view", exact=True).click()
    item = page.get_by_role("menuitem", name="New panel of text")
    assert item.get_attribute("aria-disabled") == "true" and "--state" in item.inner_text()


def test_panels_are_in_reports(
    logdir: Path, board_server: Any, browser: Any, page: Any, state: Path, tmp_path: Path
) -> None:
    open_view(page, board_server(logdir, "--state", str(state)).url)
    new_panel(page, TEXT + "\n\n| seed | loss |\n|--|--:|\n| 1 | 0.5 |")
    page.get_by_role("button", name="Add a panel of text to train").click()
    write_panel(page, "see [the plan](https://example.org/plan)")
    page.once("dialog", lambda dialog: dialog.accept("Report"))
    with page.expect_download() as started:
        menu(page, "export", "Save as a report (HTML)")
    started.value.save_as(tmp_path / "report.html")
    report = browser.new_page()
    try:
        report.goto((tmp_path / "report.html").as_uri())
        shown = report.locator(".panel")
        assert shown.count() == 2
        assert shown.nth(0).locator("h4").inner_text() == "Findings"
        assert shown.nth(0).locator("td").all_inner_texts() == ["1", "0.5"]
        assert shown.nth(0).locator("img, a").count() == 0
        assert EVIL.split(" [")[0] in shown.nth(0).inner_text()
        link = shown.nth(1).locator("a")
        assert link.get_attribute("href") == "https://example.org/plan"
        assert report.locator("section", has_text="the plan").locator("h2").inner_text() == "train"
        assert report.evaluate("window.pwned ?? null") is None
        assert serious_violations(report) == []
    finally:
        report.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_panels_and_their_editor_are_accessible_and_fit_small_screens(
    logdir: Path, board_server: Any, page: Any, state: Path, scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme)
    open_view(page, board_server(logdir, "--state", str(state)).url)
    new_panel(page, TEXT + "\n\n" + "- a line\n" * 60)
    menu(page, "Menu of the panel Findings", "Edit")
    assert serious_violations(page) == []
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Menu of the panel Findings").wait_for()
    assert serious_violations(page) == []
    size = page.viewport_size
    try:
        page.set_viewport_size({"width": 390, "height": 800})
        page.get_by_role("button", name="Menu of the panel Findings").click()
        page.get_by_role("menuitem", name="Edit").click()
        editor = page.locator(".panel-editor")
        assert until(lambda: editor.bounding_box()["width"] < 390)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
    finally:
        page.set_viewport_size(size)

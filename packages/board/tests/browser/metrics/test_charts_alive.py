"""Charts while requests are slow or fail, and their clicks and keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from browser.metrics_view import WALL, chart, open_view, settled, until, write_run
from browser.page_requests import HeldRequests, round_trip
from fixtures.event_logs import simple_event

from headrace.formats.event_file import EventFileWriter


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("alive")
    write_run(folder / "run", [(s, WALL + s, [("loss", 100.0 - s)]) for s in range(100)])
    return folder


SCALARS = "**/api/v1/scalars"


def is_smoothed(request: Any) -> bool:
    """Whether a request is for smoothed curves."""
    return any(query["smooth"] for query in request.post_data_json["queries"])


def reject_smoothed(route: Any) -> None:
    if is_smoothed(route.request):
        route.fulfill(status=503, json={"error": "the server has no time"})
    else:
        route.continue_()


def smooth(page: Any, amount: int) -> None:
    page.get_by_label("Smoothing", exact=True).fill(str(amount))


def test_a_reply_for_superseded_settings_is_not_drawn(
    logdir: Path, board_server: Any, page: Any
) -> None:
    held = HeldRequests(page, SCALARS, is_smoothed)
    open_view(page, board_server(logdir).url)
    before = chart(page, "loss")["curves"][0]["y"]
    smooth(page, 700)
    held.wait()
    smooth(page, 0)
    round_trip(page)
    held.release()
    (curve,) = chart(page, "loss")["curves"]
    assert curve["raw"] is None
    assert curve["y"] == before


def test_a_failed_request_keeps_the_chart_shows_an_error_and_can_be_retried(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.route(SCALARS, reject_smoothed)
    open_view(page, board_server(logdir).url)
    before = chart(page, "loss")["curves"][0]["y"]
    smooth(page, 700)
    note = page.locator(".chart-note")
    note.wait_for()
    assert "the server has no time" in note.inner_text()
    assert chart(page, "loss")["curves"][0]["y"] == before
    page.unroute(SCALARS)
    note.get_by_role("button", name="Try again").click()
    assert until(lambda: chart(page, "loss")["curves"][0]["raw"])
    assert note.count() == 0
    smooth(page, 0)
    assert until(lambda: chart(page, "loss")["curves"][0]["raw"] is None)


def test_a_retry_requests_only_new_data(tmp_path: Path, board_server: Any, page: Any) -> None:
    write_run(tmp_path / "still", [(s, WALL + s, [("loss", 1.0)]) for s in range(5)])
    with EventFileWriter(tmp_path / "grows") as writer:
        writer.write(simple_event(0, WALL, [("loss", 1.0)]))
        writer.flush()
        page.route(SCALARS, reject_smoothed)
        open_view(page, board_server(tmp_path).url)
        settled(page)
        smooth(page, 700)
        page.locator(".chart-note").wait_for()
        page.unroute(SCALARS)
        requests: list[list[int]] = []
        page.on(
            "request",
            lambda request: (
                requests.extend(q["runs"] for q in json.loads(request.post_data)["queries"])
                if request.url.endswith("/scalars")
                else None
            ),
        )
        page.get_by_role("button", name="Try again").click()
        assert until(lambda: chart(page, "loss")["curves"][0]["raw"])
        assert len(requests[-1]) == 2
        writer.write(simple_event(1, WALL + 1, [("loss", 2.0)]))
        writer.flush()
        assert until(lambda: any(len(c["x"]) == 2 for c in chart(page, "loss")["curves"]))
        assert len(requests[-1]) == 1


def test_a_double_click_resets_the_zoom_and_leaves_the_step_cursor(
    logdir: Path, board_server: Any, page: Any
) -> None:
    open_view(page, board_server(logdir).url, "step=7&z=loss=20:40")
    assert chart(page, "loss")["view"]["x"] == [20, 40]
    box = page.locator(".chart").first.bounding_box()
    page.mouse.dblclick(box["x"] + 200, box["y"] + 90)
    assert until(lambda: chart(page, "loss")["view"]["x"] == [0, 99])
    page.wait_for_timeout(300)  # longer than the page waits for the second click of two
    assert page.get_by_label("Step", exact=True).input_value() == "7"
    assert page.locator(".tooltip.pinned").count() == 0
    page.mouse.click(box["x"] + 200, box["y"] + 90)
    assert until(lambda: page.get_by_label("Step", exact=True).input_value() not in ("7", ""))
    assert page.locator(".tooltip.pinned").count() == 1


def test_keys_of_the_browser_are_not_those_of_a_chart(
    logdir: Path, board_server: Any, page: Any
) -> None:
    open_view(page, board_server(logdir).url, "z=loss=20:40")
    settled(page)
    page.locator(".chart").first.focus()
    for key in ("Control+ArrowRight", "Meta+0", "Control+0", "Alt+ArrowLeft"):
        page.keyboard.press(key)
    assert page.evaluate("window.__board.metrics.crosshair") is None
    assert chart(page, "loss")["view"]["x"] == [20, 40]
    page.keyboard.press("ArrowRight")
    assert page.evaluate("window.__board.metrics.crosshair")["axis"] == "step"
    assert "by nearest" in page.locator(".tooltip").inner_text()
    page.keyboard.press("s")
    assert until(lambda: "by highest" in page.locator(".tooltip").inner_text())


def test_a_pinned_table_follows_the_data(tmp_path: Path, board_server: Any, page: Any) -> None:
    with EventFileWriter(tmp_path / "run") as writer:
        for step in (0, 1):
            writer.write(simple_event(step, WALL + step, [("loss", 1.0)]))
        writer.flush()
        open_view(page, board_server(tmp_path).url)
        settled(page)
        page.locator(".chart").first.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Space")
        table = page.locator(".tooltip.pinned")
        table.wait_for()
        assert "step 1" in table.inner_text()
        # A second writer starts again at step 1: what the pinned table shows is superseded.
        with EventFileWriter(tmp_path / "run", suffix=".again") as again:
            for step in (1, 2):
                again.write(simple_event(step, WALL + 10 + step, [("loss", 7.5)]))
            again.flush()
            assert until(lambda: "7.5" in table.inner_text())


def test_a_chart_is_a_table_for_those_who_do_not_see_it(
    logdir: Path, board_server: Any, page: Any
) -> None:
    open_view(page, board_server(logdir).url)
    settled(page)
    cells = page.locator("table.hidden-for-the-eye tbody tr").first.locator("th, td")
    assert cells.all_inner_texts() == ["run loss", "1", "1", "100"]


def test_wall_times_are_those_of_the_readers_clock(
    logdir: Path, board_server: Any, browser: Any
) -> None:
    url = board_server(logdir).url
    context = browser.new_context(timezone_id="Asia/Kolkata")
    try:
        page = context.new_page()
        open_view(page, url, "x=wall")
        settled(page)
        page.locator(".chart").first.focus()
        page.keyboard.press("ArrowRight")
        assert until(lambda: "2023-11-15 03:4" in page.locator(".tooltip header").inner_text())
        assert "GMT+5:30" in page.locator(".tooltip header").inner_text()
    finally:
        context.close()

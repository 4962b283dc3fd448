"""The Trace page while the server reads, and when requests fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser.page_requests import HeldRequests, wait_for_rest
from fixtures.traces import metadata_of, node_stats, two_tasks, write_log
from test_trace_page import open_trace, trace, until


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    write_log(folder / "run", {step: two_tasks().SerializeToString() for step in (3, 7)})
    return folder


@pytest.fixture
def url(board_server: Any, logdir: Path) -> str:
    return board_server(logdir).url


def reject(route: Any) -> None:
    route.fulfill(status=500, json={"error": "the disk is gone"})


def test_a_trace_that_is_being_read_shows_its_size(page: Any, url: str) -> None:
    held = HeldRequests(page, "**/api/v1/trace/*?px=*")
    page.goto(f"{url}#/trace?step=3")
    opening = page.locator(".trace-opening")
    opening.wait_for()
    assert opening.get_attribute("aria-busy") == "true"
    assert "Reading step 3, 9" in opening.inner_text()
    assert "B…" in opening.inner_text()
    assert "Reading the step" in page.locator(".trace-panel").inner_text()
    held.release()
    until(page, "window.__board.trace.drawn.sharp")
    opening.wait_for(state="detached")


def test_a_trace_that_cannot_be_read_can_be_tried_again(page: Any, url: str) -> None:
    page.route("**/api/v1/trace/*?px=*", reject)
    page.goto(f"{url}#/trace")
    page.get_by_role("alert").get_by_text("the disk is gone").wait_for()
    page.unroute("**/api/v1/trace/*?px=*")
    page.get_by_role("button", name="Try again").click()
    until(page, "window.__board.trace.analysed && window.__board.trace.drawn.sharp")
    assert page.locator(".trace-opening").count() == 0


def test_a_failed_list_of_traces_can_be_requested_again(page: Any, url: str) -> None:
    page.route("**/api/v1/traces", reject)
    page.goto(f"{url}#/trace")
    page.get_by_role("alert").get_by_text("the disk is gone").wait_for()
    page.unroute("**/api/v1/traces")
    page.get_by_role("button", name="Try again").click()
    until(page, "window.__board.trace?.drawn.sharp")


def test_a_summary_that_fails_leaves_the_lanes_and_can_be_tried_again(page: Any, url: str) -> None:
    page.route("**/api/v1/trace/*/summary", reject)
    page.goto(f"{url}#/trace")
    until(page, "window.__board?.trace?.items?.length === 8")
    page.locator(".trace-panel").get_by_text("the disk is gone").wait_for()
    page.unroute("**/api/v1/trace/*/summary")
    page.locator(".trace-panel").get_by_role("button", name="Try again").click()
    until(page, "window.__board.trace.stalls !== null")


def test_a_window_that_cannot_be_read_is_reported_and_retried(page: Any, url: str) -> None:
    open_trace(page, url)
    page.route("**/api/v1/trace/*?t0=*", reject)
    page.locator(".trace-canvas").focus()
    for _ in range(4):
        page.keyboard.press("w")
    page.locator(".trace-notices").get_by_text("the disk is gone").first.wait_for()
    wait_for_rest(page)  # the view moves for some frames, and each sends a request
    assert not trace(page)["drawn"]["sharp"]
    page.unroute("**/api/v1/trace/*?t0=*")
    page.locator(".trace-notices").get_by_role("button", name="Try again").click()
    until(page, "window.__board.trace.drawn.sharp")
    page.locator(".trace-notices").wait_for(state="detached")


def test_totals_that_fail_do_not_leave_those_of_another_area(page: Any, url: str) -> None:
    open_trace(page, url, "?tar=0.0~1500&tside=area")
    panel = page.locator(".trace-panel")
    panel.get_by_text("MatMul").first.wait_for()
    page.route("**/api/v1/trace/*/totals*", reject)
    page.locator(".trace-canvas").focus()
    page.keyboard.press("Shift+ArrowRight")
    panel.get_by_text("the disk is gone").wait_for()
    assert panel.get_by_text("MatMul").count() == 0
    page.unroute("**/api/v1/trace/*/totals*")
    panel.get_by_role("button", name="Try again").click()
    panel.get_by_text("MatMul").first.wait_for()


def test_a_failed_comparison_shows_an_error(page: Any, url: str) -> None:
    page.route("**/api/v1/trace/compare*", reject)
    open_trace(page, url, "?step=3&tcmp=7&tside=compare")
    panel = page.locator(".trace-panel")
    panel.get_by_text("the disk is gone").wait_for()
    page.unroute("**/api/v1/trace/compare*")
    panel.get_by_role("button", name="Try again").click()
    panel.locator(".trace-compare").first.wait_for()


def test_run_metadata_without_slices_is_no_trace_and_leaves_the_real_ones(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    empty = metadata_of(w0_CPU_0=[]).SerializeToString()
    write_log(tmp_path / "a_run", {1: empty})
    page.goto(f"{board_server(tmp_path).url}#/trace")
    page.get_by_text("No step has been traced in this log").wait_for()
    timed = metadata_of(w0_CPU_0=[node_stats("x", 0, 9000, "x = MatMul()")]).SerializeToString()
    write_log(tmp_path / "b_run", {1: empty, 2: timed})
    page.locator(".trace-page canvas").first.wait_for()
    until(page, "window.__board.trace?.stalls != null")
    wait_for_rest(page)  # a notice would be there by now
    assert page.locator(".trace-notices").count() == 0


def test_a_trace_without_slices_shows_only_that(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    (tmp_path / "empty.trace.json").write_text("[]")
    page.goto(f"{board_server(tmp_path).url}#/trace")
    page.get_by_text("This trace has no slices").wait_for()
    until(page, "window.__board.trace.stalls !== null")
    wait_for_rest(page)  # a notice would be there by now
    assert page.locator(".trace-notices").count() == 0

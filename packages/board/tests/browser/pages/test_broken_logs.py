"""Logs with steps and clocks of no sense, and a logdir that is deleted."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from browser.metrics_view import open_view, settled, until
from fixtures import event_logs, media_logs

from headrace.formats.event_file import EventFileWriter

# Texts and labels of the page in which a dot stands as a word; logged texts may have one.
_DOTS = r"""
() => [...document.querySelectorAll('body :not(.markdown *)')].flatMap((e) => [
  ...[...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE).map((n) => n.data),
  ...['aria-label', 'title', 'download'].map((name) => e.getAttribute(name) ?? ''),
]).filter((text) => /(^|[\s,:_])\.($|[\s,:_])/.test(text))
"""


def write(folder: Path) -> Path:
    with EventFileWriter(folder) as writer:
        for step in range(50):
            writer.write(event_logs.simple_event(step, 1.7e9 + step, [("loss", 1.0 / (1 + step))]))
        writer.write(event_logs.simple_event(1 << 62, 1e300, [("odd", 1.0)]))
    return folder


def test_one_huge_step_leaves_the_cursor_to_all_others(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    page.goto(board_server(write(tmp_path / "logs" / "r")).url)
    slider = page.get_by_label("Step cursor")
    slider.wait_for()
    assert (slider.get_attribute("min"), slider.get_attribute("max")) == ("0", "49")
    assert "49 +" in page.locator(".cursor-bar").inner_text()


def test_no_page_prints_hundreds_of_digits(page: Any, board_server: Any, tmp_path: Path) -> None:
    url = board_server(write(tmp_path / "r")).url
    for rest in ("#/problems", "#/metrics", "#/metrics?cu=relative&step=9", "#/metrics?cu=wall"):
        page.goto(f"{url}{rest}")
        page.locator("main").wait_for()
        page.wait_for_timeout(500)
        words = page.locator("body").inner_text().split()
        assert max(map(len, words)) < 60, max(words, key=len)
        assert "Invalid Date" not in page.locator("body").inner_text()


def test_a_clock_of_1e300_prints_few_digits(page: Any, board_server: Any, tmp_path: Path) -> None:
    with EventFileWriter(tmp_path / "r") as writer:
        for step in range(60):
            wall = 1e300 if step in (30, 59) else 1.7e9 + step  # it goes back after step 30
            writer.write(event_logs.simple_event(step, wall, [("loss", 1.0)]))
    url = board_server(tmp_path).url
    page.goto(f"{url}#/problems")
    page.locator("tr[data-kind=clock_jump]").wait_for()
    texts = [page.locator("body").inner_text()]
    for unit in ("relative", "wall"):
        page.goto(f"{url}#/metrics?cu={unit}&step=59")
        page.locator(".step-text", has_text="≈").wait_for()
        texts.append(page.locator("body").inner_text())
    page.get_by_role("tree", name="Runs").focus()
    page.keyboard.press("End")
    page.keyboard.press("i")
    page.get_by_role("complementary", name="Details").wait_for()
    texts.append(page.locator("body").inner_text())
    for text in texts:
        assert re.findall(r"\d{20,}|\.\d{12,}", text.replace(",", "")) == []
        assert "Invalid Date" not in text


def test_the_run_of_the_log_folder_itself_has_its_name(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    event_logs.write_a(tmp_path / "mnist", 5)
    page.goto(board_server(tmp_path / "mnist").url)
    page.locator(".row-name", has_text="mnist").wait_for()
    assert page.locator(".row-name").all_inner_texts() == ["mnist"]


def test_nothing_on_the_metrics_page_calls_a_run_by_a_dot(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    media_logs.write_run(tmp_path / "mnist", 0)
    open_view(page, board_server(tmp_path / "mnist").url)
    settled(page)
    page.get_by_role("tree", name="Runs").focus()
    page.keyboard.press("End")
    page.keyboard.press("i")
    page.get_by_role("complementary", name="Details").wait_for()
    found: set[str] = set()
    cards: set[str] = set()
    scrolled = page.locator(".grid-scroll")
    for top in range(0, scrolled.evaluate("e => e.scrollHeight"), 400):
        scrolled.evaluate("(e, top) => { e.scrollTop = top }", top)
        settled(page)
        cards |= {card.get_attribute("aria-label") for card in page.get_by_role("article").all()}
        found |= {*page.evaluate(_DOTS)}
    assert len(cards) > 8, "scalars, histograms, images, sounds, texts"
    page.keyboard.press("Control+k")
    page.locator(".palette input:focus").wait_for()
    page.keyboard.type("only mnist")
    assert until(lambda: "Only mnist" in page.locator(".palette-text").all_inner_texts())
    assert found | {*page.evaluate(_DOTS)} == set()


def test_a_deleted_log_folder_says_so(page: Any, board_server: Any, tmp_path: Path) -> None:
    event_logs.write_a(tmp_path / "logs" / "r", 5)
    page.goto(board_server(tmp_path / "logs").url)
    page.locator(".row-name", has_text="r").wait_for()
    shutil.rmtree(tmp_path / "logs")
    page.get_by_text("the log folder logs was deleted").wait_for(timeout=30_000)

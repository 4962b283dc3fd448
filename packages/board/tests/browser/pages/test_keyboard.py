"""The Metrics page can be used with the keyboard alone, and its controls have names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser.metrics_view import chart, open_view, settled, until
from fixtures import event_logs

_FOCUSED = """
() => {
  const e = document.activeElement;
  const outline = getComputedStyle(e);
  const name = e.ariaLabel || e.title || e.labels?.[0]?.textContent || e.textContent.trim();
  return { tag: e.tagName, role: e.getAttribute('role'), name, id: e.id,
    seen: outline.outlineStyle !== 'none' || e.matches('.search input, .splitter') };
}
"""
_NAMELESS = """
() => [...document.querySelectorAll('button, a[href], input, select, [role=application]')]
  .filter((e) => e.checkVisibility())
  .filter((e) => !(e.ariaLabel || e.title || e.labels?.length || e.textContent.trim()))
  .map((e) => e.outerHTML.slice(0, 120))
"""
_CONTRAST = """
() => {
  const pen = document.createElement('canvas').getContext('2d');
  const rgb = (text) => { pen.fillStyle = '#000'; pen.fillStyle = text; pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const style = getComputedStyle(document.documentElement);
  const of = (name) => light(rgb(style.getPropertyValue(name).trim()));
  const ratio = (a, b) => (Math.max(of(a), of(b)) + 0.05) / (Math.min(of(a), of(b)) + 0.05);
  const worst = {};
  for (const ground of ['--ground', '--surface', '--raised', '--sunken'])
    for (const text of ['--text', '--text-soft', '--text-faint', '--error'])
      worst[`${text} on ${ground}`] = ratio(text, ground);
  for (let i = 0; i < 20; i++) worst[`run ${i}`] = ratio(`--run-${i}`, '--surface') * 1.5;
  return worst;
}
"""


@pytest.fixture
def shown(tmp_path: Path, board_server: Any, page: Any) -> Any:
    event_logs.write_m(tmp_path, runs=12, tags=4, steps=50)
    open_view(page, board_server(tmp_path).url)
    settled(page)
    return page


def test_tab_reaches_every_part_and_the_focus_is_seen(shown: Any) -> None:
    seen = []
    for _ in range(60):
        shown.keyboard.press("Tab")
        seen.append(shown.evaluate(_FOCUSED))
        if seen[-1]["tag"] == "BODY":
            break
    names = [one["name"] for one in seen]
    for expected in (
        "Skip to the page",
        "Filter runs",
        "Filter tags",
        "x axis",
        "Smoothing",
        "Step",
    ):
        assert expected in names, names
    assert any(one["role"] == "tree" for one in seen)
    assert any(one["role"] == "application" for one in seen)
    assert [one for one in seen if one["tag"] != "BODY" and not one["seen"]] == []
    assert [one for one in seen if not one["name"]] == []


def test_every_control_has_a_name(shown: Any) -> None:
    shown.locator("article.tile").first.hover()
    assert shown.evaluate(_NAMELESS) == []


def test_runs_are_chosen_by_the_arrow_keys_and_space(shown: Any) -> None:
    shown.locator(".runs-scroll").focus()
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("Space")
    assert until(lambda: len(chart(shown, "eval/metric0")["curves"]) == 11)
    shown.keyboard.press("Home")
    shown.keyboard.press("ArrowLeft")
    assert until(lambda: shown.get_by_role("treeitem").count() == 4)
    shown.keyboard.press("End")
    shown.keyboard.press("Enter")
    assert until(lambda: len(chart(shown, "eval/metric0")["curves"]) == 1)
    shown.keyboard.press("i")
    assert shown.get_by_role("complementary", name="Details").is_visible()


def test_a_chart_reacts_to_keys(shown: Any) -> None:
    target = shown.locator(".chart").first
    target.focus()
    shown.keyboard.press("ArrowRight")
    first = until(lambda: shown.evaluate("window.__board.metrics.crosshair"))
    shown.keyboard.press("ArrowRight")
    assert until(lambda: shown.evaluate("window.__board.metrics.crosshair.x") > first["x"])
    assert shown.locator(".tooltip").is_visible()
    shown.keyboard.press("Space")
    assert shown.locator(".tooltip.pinned").is_visible()
    shown.keyboard.press("Escape")
    assert until(lambda: shown.locator(".tooltip").count() == 0)
    shown.keyboard.press("+")
    assert until(lambda: chart(shown, "eval/metric0")["view"]["x"] != [0, 490])
    shown.keyboard.press("0")
    assert until(lambda: chart(shown, "eval/metric0")["view"]["x"] == [0, 490])


def test_the_palette_goes_to_pages_tags_and_actions(shown: Any) -> None:
    def by_palette(letters: str) -> None:
        shown.keyboard.press("Control+k")
        shown.locator(".palette input:focus").wait_for()
        shown.keyboard.type(letters)
        shown.keyboard.press("Enter")
        assert until(lambda: shown.locator(".palette").count() == 0)

    by_palette("metric2")
    assert until(lambda: shown.get_by_label("Filter tags").input_value() == "^eval/metric2$")
    by_palette("theme dark")
    assert until(lambda: shown.locator("html[data-theme=dark]").count() == 1)
    by_palette("probl")
    assert until(lambda: shown.evaluate("location.hash").startswith("#/problems"))


def test_a_menu_opens_moves_and_closes_by_keys(shown: Any) -> None:
    button = shown.locator("article.tile").first.get_by_role("button", name="Menu of the card")
    button.focus()
    shown.keyboard.press("Enter")
    menu = shown.get_by_role("menu")
    menu.wait_for()
    shown.keyboard.press("ArrowDown")
    assert shown.evaluate("document.activeElement.textContent") == "Table of values"
    shown.keyboard.press("Escape")
    assert until(lambda: menu.count() == 0)
    assert shown.evaluate("document.activeElement.ariaLabel") == "Menu of the card"


@pytest.mark.parametrize("theme", ["light", "dark", "contrast"])
def test_text_and_lines_stand_out_in_each_theme(shown: Any, theme: str) -> None:
    shown.evaluate("(theme) => { document.documentElement.dataset.theme = theme }", theme)
    ratios = shown.evaluate(_CONTRAST)
    assert {name: round(r, 2) for name, r in ratios.items() if r < 4.5} == {}

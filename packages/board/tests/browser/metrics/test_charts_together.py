"""Charts of several tags: created, combined by dragging, with separate axes, removed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from browser.metrics_view import WALL, chart, open_view, settled, until, write_run

ODD = ["a=b", "x==y", "p,q", "back\\slash"]


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of loss, four tags with odd names, and w/0 to w/39."""
    folder: Path = tmp_path_factory.mktemp("together")
    for number, name in enumerate(("seed_1", "seed_2")):
        rows = [
            (
                step,
                WALL + step,
                [
                    ("loss", 1.0 + number + step),
                    *((tag, float(i * step)) for i, tag in enumerate(ODD)),
                ]
                + [(f"w/{i}", float(i)) for i in range(40)],
            )
            for step in range(20)
        ]
        write_run(folder / name, rows)
    return folder


def card_menu(page: Any, card: Any, item: str, role: str = "menuitem") -> None:
    card.hover()
    card.get_by_role("button", name="Menu of the card").click()
    page.get_by_role(role, name=item, exact=True).click()


def test_a_made_chart_takes_drops_has_two_axes_and_goes_away(
    logdir: Path, board_server: Any, page: Any
) -> None:
    open_view(page, board_server(logdir).url, "made=^loss$&q=a=b")
    settled(page)
    result, other = page.locator("article.tile").nth(0), page.locator("article.tile").nth(1)
    other.locator("h3").drag_to(result)
    shown = until(lambda: len((c := chart(page, "made:^loss$"))["curves"]) == 4 and c)
    assert {c["tag"] for c in shown["curves"]} == {"loss", "a=b"}
    card_menu(page, result, "a=b on a right axis", "menuitemcheckbox")
    shown = until(lambda: (c := chart(page, "made:^loss$"))["view"]["right"] and c)
    assert {c["tag"] for c in shown["curves"] if c["right"]} == {"a=b"}
    page.reload()
    assert until(lambda: chart(page, "made:^loss$")["view"]["right"])
    card_menu(page, result, "Remove a=b")
    assert until(lambda: len(chart(page, "made:^loss$")["curves"]) == 2)
    card_menu(page, result, "Remove this chart")
    assert until(lambda: page.locator("article.tile").count() == 1)
    assert until(lambda: "made" not in page.evaluate("location.hash"))


def test_an_expression_is_not_dropped_as_if_it_were_a_tag(
    logdir: Path, board_server: Any, page: Any
) -> None:
    open_view(page, board_server(logdir).url, "made==loss*2&q=^loss$")
    settled(page)
    result, other = page.locator("article.tile").nth(0), page.locator("article.tile").nth(1)
    assert result.locator("h3").get_attribute("draggable") == "false"
    other.locator("h3").drag_to(result)
    assert until(lambda: len(chart(page, "made:=loss*2")["curves"]) == 4)


def test_tags_beyond_the_limit_of_a_request_are_left_out_with_a_note(
    logdir: Path, board_server: Any, page: Any
) -> None:
    open_view(page, board_server(logdir).url, "made=^w/&q=^loss$")
    shown = chart(page, "made:^w/")
    assert len(shown["curves"]) == 64
    assert len({c["tag"] for c in shown["curves"]}) == 32
    info = page.locator(".tile-info").first
    assert until(lambda: "first 32 of 40 tags" in info.inner_text())
    page.get_by_role("button", name="chart", exact=True).click()
    page.get_by_label("Tags by a pattern").fill("^w/")
    form = page.locator(".popover")
    assert until(lambda: "40 tags, of which the first 32 are drawn" in form.inner_text())
    page.get_by_label("Tags by a pattern").fill("(")
    assert until(lambda: "not valid" in form.inner_text())


@pytest.mark.parametrize("key", ["q", "rq", "made", "g"])
def test_no_pattern_of_an_address_holds_up_the_page(
    tmp_path: Path, board_server: Any, page: Any, key: str
) -> None:
    name = "a" * 40 + "!"
    write_run(tmp_path / name, [(s, WALL + s, [(name, math.sin(s)), ("b", 1.0)]) for s in range(3)])
    value = {
        "q": "(a%2B)%2B$|b",
        "rq": 'name ~ "(a|a)*!"',
        "made": "(a%2B)%2B$|^b$",
        "g": "re:(a%2B)%2B$",
    }
    open_view(page, board_server(tmp_path).url, f"{key}={value[key]}")
    assert len(chart(page, "b")["curves"]) == 1

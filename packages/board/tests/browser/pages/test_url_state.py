"""The address holds the view: opening it restores the view exactly."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser.metrics_view import open_view, settled, until, wait_for_address
from fixtures import event_logs

RUNS = 12
_CONTROLS = """
() => [...document.querySelectorAll(
  ':is(.toolbar, .cursor-bar, .runs > .search) :is(input, select)')]
  .map((e) => [e.ariaLabel ?? e.parentElement.textContent,
    e.type === 'checkbox' ? e.checked : e.value])
"""


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("m")
    event_logs.write_m(folder, runs=RUNS, tags=6, steps=60)
    return folder


def whole_state(page: Any) -> dict[str, Any]:
    """Everything that the page shows, and its controls."""
    state = settled(page)
    state["controls"] = page.evaluate(_CONTROLS)
    state["boxes"] = page.locator(".run-row .box").evaluate_all(
        "list => list.map((e) => e.checked)"
    )
    state["rows"] = page.locator(".run-row").all_inner_texts()
    state["scroll"] = page.locator(".grid-scroll").evaluate_all(
        "list => list.map((e) => e.scrollTop)"
    )
    return state


def _choose(label: str, *options: str) -> Callable[[Any, random.Random], None]:
    def act(page: Any, chance: random.Random) -> None:
        # Where no run is drawn there is no step cursor.
        if (control := page.get_by_label(label, exact=True)).count():
            control.select_option(chance.choice(options))

    return act


def _fill(label: str, *texts: str) -> Callable[[Any, random.Random], None]:
    def act(page: Any, chance: random.Random) -> None:
        page.get_by_label(label, exact=True).fill(chance.choice(texts))

    return act


def _card_tool(name: str) -> Callable[[Any, random.Random], None]:
    def act(page: Any, chance: random.Random) -> None:
        cards = page.locator("article.tile")
        card = cards.nth(chance.randrange(min(3, cards.count())))
        card.hover()
        card.get_by_role("button", name=re.compile(name)).first.click()

    return act


def _toggle_run(page: Any, chance: random.Random) -> None:
    boxes = page.locator(".run-row .box")
    for _ in range(chance.randint(1, 3)):
        boxes.nth(chance.randrange(boxes.count())).click()


def _zoom(page: Any, chance: random.Random) -> None:
    charts = page.locator(".chart")
    if charts.count() == 0:
        return
    box = charts.nth(chance.randrange(min(2, charts.count()))).bounding_box()
    start = box["x"] + 60 + chance.random() * 40
    page.mouse.move(start, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(start + 80 + chance.random() * 60, box["y"] + 64, steps=4)
    page.mouse.up()


def _pick_step(page: Any, chance: random.Random) -> None:
    if (field := page.get_by_label("Step", exact=True)).count():
        field.fill(str(chance.randrange(0, 590)))
        page.keyboard.press("Enter")


def _close_folder(page: Any, chance: random.Random) -> None:
    headings = page.locator(".heading-button")
    headings.nth(chance.randrange(headings.count())).click()


def _check(label: str) -> Callable[[Any, random.Random], None]:
    def act(page: Any, chance: random.Random) -> None:
        page.get_by_label(label, exact=True).first.click()

    return act


def _sort(page: Any, chance: random.Random) -> None:
    page.get_by_role("button", name="More of the runs").click()
    page.get_by_role("menuitemcheckbox", name="Sort by name").click()


ACTIONS: list[Callable[[Any, random.Random], None]] = [
    _choose("x axis", "step", "relative", "wall"),
    _choose("Scale of the y axis", "linear", "log", "symlog"),
    _choose("Group runs", "", "folder", "all", "re"),
    _choose("Kind of smoothing", "ema", "mean", "median"),
    _choose("Show the cursor as", "step", "relative", "wall"),
    _fill("Smoothing", "0", "420", "800"),
    _fill("Filter tags", "", "metric[0-3]", "train", "no such tag", "a&b=c#%?,"),
    _fill("Filter runs", "", "run00", "sweep1", "metric0 > 0.5"),
    _check("no outliers"),
    _toggle_run,
    _zoom,
    _pick_step,
    _close_folder,
    _card_tool("Pin to the top|Unpin"),
    _card_tool("Full width|Normal size"),
    _sort,
]


_FILTERS = [_fill("Filter tags", ""), _fill("Filter runs", "")]


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_ten_random_views_come_back_from_their_addresses(
    logdir: Path, board_server: Any, page: Any, seed: int
) -> None:
    open_view(page, board_server(logdir).url)
    settled(page)
    chance = random.Random(seed)
    for number in range(10):
        done = []
        for action in chance.sample(ACTIONS, 3):
            if page.locator("article.tile").count() == 0 and action not in _FILTERS:
                action = _FILTERS[0]
            action(page, chance)
            done.append(getattr(action, "__qualname__", ""))
        page.mouse.move(5, 5)
        settled(page)
        wait_for_address(page)
        before = whole_state(page)
        address = page.evaluate("location.href")
        assert len(address) <= 2048, done
        page.goto("about:blank")
        page.goto(address)
        after = whole_state(page)
        assert after == before, (number, done, address)
        assert page.evaluate("location.href") == address


def test_going_back_brings_the_view_before(logdir: Path, board_server: Any, page: Any) -> None:
    open_view(page, board_server(logdir).url, "q=train")
    before = settled(page)
    page.get_by_role("link", name="Problems").click()
    assert until(lambda: page.locator("article.tile").count() == 0)
    page.go_back()
    assert until(lambda: page.locator("article.tile").count() > 0)
    assert settled(page) == before


def test_many_chosen_runs_fit_into_an_address(tmp_path: Path, board_server: Any, page: Any) -> None:
    event_logs.write_m(tmp_path, runs=100, tags=1, steps=3)
    names = [f"sweep{i // 10}/run{i:03d}" for i in range(0, 100, 2)]
    open_view(page, board_server(tmp_path).url, f"runs=only:{','.join(names)}")
    (shown,) = settled(page)["charts"]
    assert sorted(c["label"] for c in shown["curves"]) == names
    page.locator(".run-row .box").nth(2).click()  # run001
    assert until(lambda: "~" in page.evaluate("location.hash"))
    assert len(page.evaluate("location.href")) < 800
    page.reload()
    (shown,) = settled(page)["charts"]
    assert sorted(c["label"] for c in shown["curves"]) == sorted([*names, "sweep0/run001"])


def test_nonsense_in_the_address_leaves_the_defaults(
    logdir: Path, board_server: Any, page: Any
) -> None:
    url = board_server(logdir).url
    open_view(page, url)
    plain = settled(page)
    open_view(page, url, "x=sideways&y=7&s=abc&z=loss=1:x&runs=maybe:3&w=NaN&top=-5e9&%F0=1")
    assert settled(page) == plain

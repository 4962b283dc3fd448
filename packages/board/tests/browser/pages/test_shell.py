"""The frame around the pages: tabs, themes, menus, keys, and failures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser.metrics_view import WALL, open_view, settled, until
from browser.page_requests import round_trip
from fixtures import graphs
from fixtures.event_logs import simple_event

from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event

_FOCUSED = "document.activeElement.textContent.trim()"
_DISABLED = "document.activeElement.ariaDisabled"


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    with EventFileWriter(folder / "run") as writer:
        writer.write(Event(wall_time=WALL, graph_def=graphs.small().SerializeToString()))
        for step in range(100):
            writer.write(simple_event(step, WALL + step, [("loss", 1.0)]))
    return folder


@pytest.fixture
def shown(logdir: Path, board_server: Callable[..., Any], page: Any) -> Any:
    open_view(page, board_server(logdir).url)
    settled(page)
    return page


def theme(page: Any) -> str:
    return page.evaluate("document.documentElement.dataset.theme")


def choose(page: Any, letters: str) -> None:
    page.keyboard.press("Control+k")
    page.locator(".palette input:focus").wait_for()
    page.keyboard.type(letters)
    page.keyboard.press("Enter")
    assert until(lambda: page.locator(".palette").count() == 0)


def test_a_chosen_theme_outlives_a_change_of_the_system(shown: Any) -> None:
    shown.emulate_media(color_scheme="dark")
    assert until(lambda: theme(shown) == "dark"), "by default it is the system's"
    choose(shown, "theme light")
    assert until(lambda: theme(shown) == "light")
    shown.emulate_media(color_scheme="light")
    shown.emulate_media(color_scheme="dark")
    round_trip(shown)  # the system's theme would be there by now
    assert theme(shown) == "light"
    shown.reload()
    assert until(lambda: theme(shown) == "light")
    choose(shown, "theme as the system")
    assert until(lambda: theme(shown) == "dark")
    shown.emulate_media(color_scheme="light")
    assert until(lambda: theme(shown) == "light")


def test_control_click_on_a_tab_opens_it_with_the_view_in_a_new_page(shown: Any) -> None:
    shown.get_by_label("Filter tags").fill("loss")
    with shown.context.expect_page() as opened:
        shown.get_by_role("link", name="Problems").click(modifiers=["Control"])
    new = opened.value
    assert until(lambda: new.evaluate("location.hash") == "#/problems?q=loss")
    assert shown.evaluate("location.hash").startswith("#/metrics")


def test_a_page_whose_code_fails_to_load_offers_a_reload(shown: Any) -> None:
    shown.route("**/assets/problems_page*.js", lambda route: route.abort())
    shown.get_by_role("link", name="Problems").click()
    alert = shown.get_by_role("main").get_by_role("alert")
    alert.wait_for()
    assert "the page Problems could not be loaded" in alert.inner_text()
    shown.unroute("**/assets/problems_page*.js")
    alert.get_by_role("button", name="Reload the page").click()
    assert until(lambda: alert.count() == 0 and shown.get_by_role("main").inner_text() != "")
    assert shown.evaluate("location.hash").startswith("#/problems")


def test_cards_whose_code_fails_to_load_offer_a_reload(shown: Any) -> None:
    shown.route("**/assets/scalar_card*.js", lambda route: route.abort())
    shown.reload()
    alert = shown.get_by_role("article").first.get_by_role("alert")
    alert.wait_for()
    assert "scalar cards could not be loaded" in alert.inner_text()
    shown.unroute("**/assets/scalar_card*.js")
    alert.get_by_role("button", name="Reload the page").click()
    assert until(lambda: shown.evaluate("window.__board?.metrics?.charts?.length > 0"))


def test_the_arrow_keys_go_through_all_items_of_a_menu(shown: Any) -> None:
    button = shown.get_by_role("button", name="More of the runs")
    button.focus()
    shown.keyboard.press("ArrowUp")
    menu = shown.get_by_role("menu")
    menu.wait_for()
    texts = [text.strip() for text in menu.locator("[role^=menuitem]").all_inner_texts()]
    assert len(texts) > 2
    seen, off = [], []
    for _ in texts:
        seen.append(shown.evaluate(_FOCUSED).lstrip("✓"))
        off.append(shown.evaluate(_DISABLED))
        shown.keyboard.press("ArrowUp")
    plain = [text.lstrip("✓").strip().replace("\n", "") for text in texts]
    assert seen == plain[::-1]
    assert "true" in off, "one of them is off, and is passed by"
    shown.keyboard.press("Home")
    assert shown.evaluate(_FOCUSED).lstrip("✓") == plain[0]
    shown.keyboard.press("End")
    assert shown.evaluate(_FOCUSED).lstrip("✓") == plain[-1]
    shown.keyboard.press("Tab")
    assert until(lambda: menu.count() == 0)


def test_a_question_mark_opens_the_keys_of_the_page_first(shown: Any) -> None:
    shown.keyboard.press("Alt+2")
    assert until(lambda: shown.evaluate("location.hash").startswith("#/graph"))
    shown.locator("body").press("?")
    keys = shown.get_by_role("dialog", name="Keys")
    keys.wait_for()
    titles = keys.get_by_role("heading", level=3).all_inner_texts()
    assert titles[0] == "Graph" and "Everywhere" in titles and "Trace" in titles
    shown.keyboard.press("Escape")
    assert until(lambda: keys.count() == 0)


def test_updates_do_not_change_a_half_typed_step(
    tmp_path: Path, board_server: Callable[..., Any], page: Any
) -> None:
    writer = EventFileWriter(tmp_path / "run")
    for step in range(100):
        writer.write(simple_event(step, WALL + step, [("loss", 1.0)]))
    writer.flush()
    open_view(page, board_server(tmp_path).url)
    settled(page)
    field = page.get_by_label("Step", exact=True)
    field.click()
    page.keyboard.type("4")
    writer.write(simple_event(100, WALL + 100, [("loss", 1.0)]))
    writer.flush()
    assert until(lambda: field.get_attribute("max") == "100")
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    assert until(lambda: "step=42" in page.evaluate("location.hash"))
    writer.close()


def test_the_palette_leads_a_graph_to_the_page_of_graphs(shown: Any) -> None:
    choose(shown, "graph_def")
    assert until(lambda: shown.evaluate("location.hash").startswith("#/graph"))


def test_the_page_header_shows_the_reading_progress(
    logdir: Path, board_server: Callable[..., Any], page: Any
) -> None:
    url = board_server(logdir).url
    news = {
        "rev": 1, "boot": "x", "runs": 0, "tags": 0, "points": 0, "problems": 0,
        "loading": True, "files": 3, "bytes_done": 25, "bytes_total": 100,
    }  # fmt: skip
    page.route("**/api/v1/events", lambda route: route.fulfill(status=503, json={"error": "full"}))
    page.route("**/api/v1/changes?*", lambda route: route.fulfill(json=news))
    open_view(page, url)
    mark = page.locator(".live-mark")
    assert until(lambda: mark.inner_text() == "reading · 25 %")
    bar = page.get_by_role("progressbar", name="Reading the logs")
    assert bar.get_attribute("value") == "25" and bar.get_attribute("max") == "100"


def test_the_bundle_of_the_package_shows_every_page_and_has_no_test_hooks(
    logdir: Path, board_server: Callable[..., Any], page: Any
) -> None:
    url = board_server(logdir, test_hooks=False).url
    content = {
        "metrics": ".chart canvas",
        "graph": ".graph-canvas",
        "trace": ".trace-page, .notice, .empty",
        "hparams": ".empty",
        "projector": ".empty, .notice",
        "problems": ".all-well",
    }
    for name, selector in content.items():
        page.goto(f"{url}#/{name}")
        page.locator(f"#page :is({selector})").first.wait_for()
    assert page.evaluate("window.__board === undefined")

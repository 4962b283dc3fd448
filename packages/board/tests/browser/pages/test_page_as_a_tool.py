"""What a page tells and undoes: badges, lost servers, Back, the palette, wrong patterns, cards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser.metrics_view import WALL, open_view, settled, until, wait_for_address
from fixtures import event_logs, graphs
from fixtures.event_logs import simple_event
from graph_reader import GraphReader, write_graph

from headrace.formats.event_file import EventFileWriter

_CURVES = """
(id) => window.__board.metrics.charts.find((chart) => chart.id === id)?.curves.length
"""


def write(folder: Path, **tags: list[float]) -> None:
    with EventFileWriter(folder) as writer:
        for tag, values in tags.items():
            for step, value in enumerate(values):
                writer.write(simple_event(step, WALL + step, [(tag, value)]))


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write(folder / "sweep" / "a", loss=[3.0, 2.0, 1.0], accuracy=[0.1, 0.2, 0.3])
    write(folder / "sweep" / "b", loss=[3.0, 2.5, 2.0])
    write(folder / "other", **{"eval/score": [1.0, 2.0], "train/speed": [5.0, 6.0]})
    write_graph(folder / "graph", graphs.small())
    return folder


@pytest.fixture
def shown(logdir: Path, board_server: Callable[..., Any], page: Any) -> Any:
    open_view(page, board_server(logdir).url)
    settled(page)
    return page


def address(page: Any) -> str:
    wait_for_address(page)
    return page.evaluate("location.hash")


def cards(page: Any) -> list[str]:
    return [card for section in settled(page)["sections"] for card in section["cards"]]


def test_the_badge_counts_warnings_and_no_notes(
    tmp_path: Path, board_server: Callable[..., Any], page: Any
) -> None:
    with EventFileWriter(tmp_path / "late") as writer:  # a clock that goes back is a note
        for step in range(20):
            writer.write(simple_event(step, WALL - 1000 * step, [("loss", 1.0)]))
    open_view(page, board_server(tmp_path).url)
    settled(page)
    tab = page.get_by_role("link", name="Problems")
    assert tab.locator(".count").count() == 0
    tab.click()
    assert until(lambda: page.locator("tr[data-kind=clock_jump]").count() == 1)
    write(tmp_path / "bad", loss=[1.0, float("nan")])
    assert until(lambda: tab.locator(".count").all_inner_texts() == ["1"])


def test_a_lost_server_is_shown_on_the_page_with_the_command_that_starts_it(
    tmp_path: Path, board_server: Callable[..., Any], page: Any
) -> None:
    write(tmp_path / "run", loss=[1.0])
    board = board_server(tmp_path)
    open_view(page, board.url)
    settled(page)
    board.stop()
    banner = page.get_by_role("alert")
    banner.wait_for()
    assert "The board does not respond since" in banner.inner_text()
    assert f"headrace-board --logdir LOGDIR --port {board.port}" in banner.inner_text()
    assert banner.bounding_box()["width"] == page.evaluate("innerWidth")
    board_server(tmp_path, port=board.port)
    assert until(lambda: banner.count() == 0)


def test_back_undoes_a_filter_as_a_whole(shown: Any) -> None:
    all_cards = cards(shown)
    shown.get_by_label("Filter tags").click()
    shown.keyboard.type("loss", delay=30)
    assert until(lambda: cards(shown) == ["loss"])
    assert "q=loss" in address(shown)
    shown.go_back()
    assert until(lambda: cards(shown) == all_cards)
    shown.go_forward()
    assert until(lambda: cards(shown) == ["loss"])


def test_back_undoes_a_filter_of_runs_as_a_whole(shown: Any) -> None:
    names = shown.locator(".row-name")
    assert until(lambda: names.count() >= 4)
    listed = names.all_inner_texts()
    shown.get_by_label("Filter runs", exact=True).click()
    shown.keyboard.type("other", delay=30)
    assert until(lambda: names.all_inner_texts() == ["other"])
    assert "other" in address(shown)
    shown.go_back()
    assert until(lambda: names.all_inner_texts() == listed)


def test_back_makes_a_card_of_full_width_small_again(shown: Any) -> None:
    card = shown.get_by_role("article", name="loss")
    small = card.bounding_box()["width"]
    card.hover()
    card.get_by_role("button", name="Full width").click()
    assert until(lambda: card.bounding_box()["width"] > 2 * small)
    address(shown)
    shown.go_back()
    assert until(lambda: card.bounding_box()["width"] == small)
    assert shown.evaluate("location.hash").startswith("#/metrics"), "it is still the same page"


def test_back_opens_a_folder_that_was_closed(shown: Any) -> None:
    shown.get_by_role("button", name="eval").click()
    assert "shut=eval" in address(shown)
    shown.go_back()
    assert until(lambda: "shut" not in shown.evaluate("location.hash"))
    assert shown.evaluate("location.hash").startswith("#/metrics"), "it is still the same page"
    assert until(lambda: "eval/score" in cards(shown))
    assert shown.get_by_role("button", name="eval").get_attribute("aria-expanded") == "true"


def test_closing_all_folders_takes_a_few_letters_of_the_address(shown: Any) -> None:
    def choose(text: str) -> None:
        shown.get_by_role("button", name="view", exact=True).click()
        shown.get_by_role("menuitem", name=text).click()

    drawn = shown.get_by_role("article")
    choose("Close all folders")
    assert until(lambda: drawn.count() == 0)
    assert until(lambda: "shut=" in address(shown))
    assert len(shown.evaluate("location.hash")) < 40
    shown.get_by_role("button", name="eval").click()
    assert until(lambda: drawn.count() == 1 and "eval" in address(shown))
    shown.reload()
    assert until(lambda: drawn.count() == 1)
    assert "score" in drawn.inner_text()
    choose("Open all folders")
    assert until(lambda: drawn.count() == len(cards(shown)) and "shut" not in address(shown))


def test_back_undoes_opening_a_group_and_going_to_what_was_found(
    logdir: Path, board_server: Callable[..., Any], page: Any
) -> None:
    reader = GraphReader(page, board_server(logdir).url)
    first = reader.names(reader.open("graph"))
    address(page)
    toggled = reader.toggle("loop")
    opened, selected = reader.names(toggled), toggled["selected"]
    address(page)
    assert opened != first
    box = page.get_by_role("searchbox", name="Find ops and groups")
    box.fill("while/add|add")
    page.locator(".g-search-found li").first.wait_for()
    box.press("Enter")
    found = reader.settled(lambda state: state["selected"] != selected)
    address(page)
    page.go_back()
    state = reader.settled(lambda state: state["selected"] == selected)
    assert reader.names(state) == opened
    page.go_back()
    assert reader.names(reader.settled(lambda s: reader.names(s) == first)) == first
    page.go_forward()
    page.go_forward()
    state = reader.settled(lambda state: state["selected"] == found["selected"])
    assert reader.names(state) == reader.names(found)


def test_the_palette_opens_with_pages_what_was_used_last_and_actions(shown: Any) -> None:
    kinds = shown.locator(".palette-kind")

    def opened() -> list[str]:
        shown.keyboard.press("Control+k")
        shown.locator(".palette input:focus").wait_for()
        kinds.first.wait_for()
        return kinds.all_inner_texts()

    first = opened()
    assert first[:6] == ["page"] * 6 and {*first[6:]} == {"action"}
    shown.keyboard.type("accuracy")
    assert until(lambda: "tag" in kinds.all_inner_texts()), "tags and runs come with letters"
    shown.keyboard.press("Enter")
    assert until(lambda: shown.locator(".palette").count() == 0)
    again = opened()
    assert again[:7] == ["page"] * 6 + ["recent"]
    assert shown.locator(".palette-text").nth(6).inner_text() == "accuracy"


def test_a_wrong_pattern_says_what_is_wrong_below_its_field(shown: Any) -> None:
    for label, pattern in (("Filter tags", "loss("), ("Filter runs", "a[")):
        field = shown.get_by_label(label, exact=True)
        field.fill(pattern)
        message = shown.locator(".field-error, .query-error")
        message.wait_for()
        assert "missing" in message.inner_text()
        box, under = field.bounding_box(), message.bounding_box()
        assert under["y"] >= box["y"] + box["height"] - 2
        assert under["y"] < box["y"] + box["height"] + 20
        field.fill("")
        assert until(lambda: message.count() == 0)  # noqa: B023


def test_a_wrong_pattern_of_the_graph_says_what_is_wrong_below_its_field(
    logdir: Path, board_server: Callable[..., Any], page: Any
) -> None:
    GraphReader(page, board_server(logdir).url).open("graph")
    field = page.get_by_role("searchbox", name="Find ops and groups")
    field.fill("conv(")
    message = page.locator(".g-search-found [role=alert]")
    message.wait_for()
    assert field.get_attribute("aria-invalid") == "true"
    assert message.bounding_box()["y"] > field.bounding_box()["y"]


def test_view_is_a_menu_and_export_only_exports(shown: Any) -> None:
    shown.get_by_role("button", name="view", exact=True).click()
    shown.get_by_role("menu").wait_for()
    items = shown.get_by_role("menu").locator("[role^=menuitem]").all_inner_texts()
    assert any("Large cards" in text for text in items)
    assert not any("CSV" in text for text in items)
    shown.keyboard.press("Escape")
    shown.get_by_role("button", name="export", exact=True).click()
    shown.get_by_role("menu", name="Export").wait_for()
    items = shown.get_by_role("menu").locator("[role^=menuitem]").all_inner_texts()
    assert any("CSV" in text for text in items)
    assert not any("cards" in text for text in items)


def test_cards_without_data_of_the_chosen_runs_are_hidden_and_counted(shown: Any) -> None:
    assert sorted(cards(shown)) == ["accuracy", "eval/score", "loss", "train/speed"]
    shown.get_by_label("sweep/a", exact=True).click()
    assert until(lambda: "accuracy" not in cards(shown))
    note = shown.locator(".grid-note")
    assert "1 card without data of the chosen runs hidden" in note.inner_text()
    note.get_by_role("button", name="Show").click()
    assert until(lambda: "accuracy" in cards(shown))
    assert "None of the chosen runs has this tag." in shown.locator(".grid").inner_text()
    shown.get_by_label("All listed runs").click()
    assert until(lambda: note.count() == 0)


def test_without_a_chosen_run_the_page_offers_all(shown: Any) -> None:
    shown.get_by_label("All listed runs").click()
    shown.get_by_role("heading", name="The chosen runs have no data here").wait_for()
    shown.get_by_role("button", name="Show every run").click()
    assert until(lambda: len(cards(shown)) == 4)


def test_short_folders_share_a_row(shown: Any) -> None:
    # three columns: two cards at the top level, and one in each folder
    top, first, second = (
        shown.get_by_role("button", name=name).bounding_box()
        for name in ("top level", "eval", "train")
    )
    assert top["y"] == first["y"] and first["x"] > top["x"] + 300
    assert second["y"] > first["y"] + 200 and second["x"] == top["x"]


def test_a_chart_of_few_curves_has_a_legend_and_a_lone_curve_is_solid(shown: Any) -> None:
    legends = {
        card.get_attribute("aria-label"): card.locator(".chart-legend li").all_inner_texts()
        for card in shown.get_by_role("article").all()
    }
    assert legends["loss"] == ["a", "b"]
    assert legends["accuracy"] == ["sweep/a"]
    lone = shown.get_by_role("article", name="accuracy").locator(".chart-legend line")
    assert lone.get_attribute("stroke-dasharray") is None
    plot = shown.get_by_role("article", name="loss").locator(".chart").bounding_box()
    legend = shown.get_by_role("article", name="loss").locator(".chart-legend").bounding_box()
    assert plot["y"] + plot["height"] <= legend["y"] + 0.5


def test_a_lone_curve_is_solid_also_where_its_run_is_dashed(
    tmp_path: Path, board_server: Callable[..., Any], page: Any
) -> None:
    for i in range(22):  # twenty runs have colours of their own, further ones a dash
        write(tmp_path / f"run{i:02d}", **{f"only_run{i:02d}": [1.0, 2.0]})
    open_view(page, board_server(tmp_path).url)
    settled(page)
    dashed = page.locator(".run-row:has(.swatch-button [stroke-dasharray]) .row-name")
    assert until(lambda: dashed.count() == 2)
    for name in dashed.all_inner_texts():
        page.get_by_label("Filter tags").fill(f"only_{name}")
        assert until(lambda: cards(page) == [f"only_{name}"])  # noqa: B023
        legend = page.get_by_role("article", name=f"only_{name}").locator(".chart-legend")
        assert legend.all_inner_texts() == [name]
        assert legend.locator("line").get_attribute("stroke-dasharray") is None


def test_eight_curves_have_a_legend_and_nine_have_none(
    tmp_path: Path, board_server: Callable[..., Any], page: Any
) -> None:
    for i in range(9):
        write(tmp_path / f"run{i}", nine=[1.0, float(i)], **({"eight": [1.0, 2.0]} if i else {}))
    open_view(page, board_server(tmp_path).url)
    settled(page)
    assert until(lambda: page.evaluate(_CURVES, "nine") == 9)
    assert until(lambda: page.evaluate(_CURVES, "eight") == 8)
    names = page.locator(".chart-legend").all_inner_texts()
    assert [text.split() for text in names] == [[f"run{i}" for i in range(1, 9)]]


def test_superseded_points_are_explained_on_the_card(
    tmp_path: Path, board_server: Callable[..., Any], page: Any
) -> None:
    event_logs.write_restarted(tmp_path / "run")
    open_view(page, board_server(tmp_path).url)
    settled(page)
    info = page.get_by_role("article", name="loss").locator(".tile-info")
    assert info.inner_text() == "120 of 160; 40 superseded by a restart"
    assert "restarts from a checkpoint" in info.get_attribute("title")


def test_the_legend_of_a_graph_folds_to_a_line_and_stays_folded(
    logdir: Path, board_server: Callable[..., Any], page: Any
) -> None:
    reader = GraphReader(page, board_server(logdir).url)
    reader.open("graph")
    legend = page.locator(".g-legend")
    assert legend.count() == 1
    fold = page.get_by_role("button", name="Legend")
    fold.click()
    assert until(lambda: legend.count() == 0)
    assert page.locator(".g-left-corner").bounding_box()["height"] < 30
    page.reload()
    reader.settled()
    assert legend.count() == 0 and fold.get_attribute("aria-expanded") == "false"


@pytest.mark.parametrize("size", [(1366, 768), (900, 700), (1600, 1000)])
def test_fit_leaves_the_legend_and_the_map_their_room(
    logdir: Path, board_server: Callable[..., Any], page: Any, size: tuple[int, int]
) -> None:
    before = page.viewport_size
    page.set_viewport_size({"width": size[0], "height": size[1]})
    try:
        reader = GraphReader(page, board_server(logdir).url)
        state = reader.open("graph")
        for group in ("", "loop", "net"):
            if group and group in reader.names():
                reader.toggle(group)
            if group:  # the first picture is fitted by itself
                page.get_by_role("button", name="Fit").click()
            state = reader.settled()
            corners = [page.locator(c).bounding_box() for c in (".g-legend", ".g-minimap")]
            for x, y, w, h in (i["rect"] for i in state["items"] if i["kind"] != "open"):
                for corner in corners:
                    apart = (
                        x + w <= corner["x"]
                        or x >= corner["x"] + corner["width"]
                        or y + h <= corner["y"]
                        or y >= corner["y"] + corner["height"]
                    )
                    assert apart, (group, (x, y, w, h), corner)
    finally:
        page.set_viewport_size(before)


def test_the_pointer_shows_name_op_and_shape_of_a_node(
    logdir: Path, board_server: Callable[..., Any], page: Any
) -> None:
    reader = GraphReader(page, board_server(logdir).url)
    state = reader.open("graph")
    op = next(i for i in state["items"] if i["kind"] == "op")
    x, y, w, h = op["rect"]
    page.mouse.move(x + w / 2, y + h / 2)
    canvas = page.locator(".graph-canvas")
    assert until(lambda: (canvas.get_attribute("title") or "").startswith(op["name"]))
    assert (op["name"], canvas.get_attribute("title")) == (
        "x",
        "x\nPlaceholder\noutput float [?, 784]",
    )

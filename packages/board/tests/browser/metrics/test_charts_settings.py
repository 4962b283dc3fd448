"""Settings of single cards, tables of ranges, and everything that is saved."""

from __future__ import annotations

import csv
import io
import math
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from browser.metrics_view import (
    WALL,
    chart,
    open_view,
    settled,
    until,
    wait_for_address,
    write_run,
)

POINTS = 20_000


def wave(step: int, number: int) -> float:
    return math.sin(step / 700 + number) + (5.0 if step == 4321 + number else 0.0)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """a/1, a/2 and b/1 with 20,000 points of wave, and 100 of down, which falls below 0."""
    folder: Path = tmp_path_factory.mktemp("settings")
    for number, name in enumerate(("a/1", "a/2", "b/1")):
        rows = [
            (
                step,
                WALL + step,
                [("wave", wave(step, number))]
                + ([("down", 10.0 - step), ("never", -1.0 - step)] if step < 100 else []),
            )
            for step in range(POINTS)
        ]
        write_run(folder / name, rows)
    return folder


def open_menu(page: Any, tag: str) -> Any:
    card = page.locator("article.tile", has=page.get_by_role("heading", name=re.compile(f"^{tag}")))
    card.hover()
    card.get_by_role("button", name="Menu of the card").click()
    return card


def test_a_card_has_scale_range_outliers_and_smoothing_of_its_own(
    logdir: Path, board_server: Any, page: Any
) -> None:
    open_view(page, board_server(logdir).url, "q=wave|down")
    settled(page)
    open_menu(page, "wave")
    page.get_by_role("menuitem", name="Axes and smoothing").click()
    form = page.get_by_role("dialog", name="Axes of wave")
    form.get_by_label("y axis").select_option("symlog")
    form.get_by_label("y from").fill("-2")
    form.get_by_label("y to").fill("3")
    form.get_by_label("smoothing").fill("0.5")
    page.keyboard.press("Tab")
    assert form.count() == 1  # Tab goes on within the form
    page.keyboard.press("Escape")
    for _ in range(2):
        shown = until(lambda: (c := chart(page, "wave"))["curves"][0]["raw"] and c)
        assert shown["view"]["yScale"] == "symlog"
        assert shown["view"]["y"] == [-2, 3]
        other = chart(page, "down")
        assert other["view"]["yScale"] == "linear" and other["curves"][0]["raw"] is None
        wait_for_address(page)
        page.reload()
    open_menu(page, "wave")
    page.get_by_role("menuitem", name="Axes and smoothing").click()
    page.get_by_role("button", name="use the page’s settings").click()
    assert until(lambda: chart(page, "wave")["view"]["yScale"] == "linear")
    assert until(lambda: "card" not in page.evaluate("location.hash"))


def test_a_logarithmic_axis_reports_values_that_it_cannot_show(
    logdir: Path, board_server: Any, page: Any
) -> None:
    open_view(page, board_server(logdir).url, "q=down|never&y=log&rq=b/1")
    settled(page)
    badges = page.locator(".badge")
    assert until(lambda: badges.all_inner_texts() == ["≤ 0: 90", "≤ 0: 100"])
    message = page.locator(".tile-message")
    assert "No value is above 0" in message.inner_text()
    message.get_by_role("button").click()
    assert chart(page, "never")["view"]["yScale"] == "linear"
    assert chart(page, "down")["view"]["yScale"] == "log"


def test_the_table_of_a_range_has_every_point_and_sorts(
    logdir: Path, board_server: Any, page: Any
) -> None:
    open_view(page, board_server(logdir).url, "q=wave&tab=wave&from=4000&to=5000")
    settled(page)
    rows = page.locator(".range-table tbody tr")
    assert until(lambda: rows.count() == 3)

    def titles() -> list[list[str]]:
        return [
            [row.locator("th").inner_text().strip()]
            + row.locator("td").evaluate_all("l => l.map((c) => c.title.split(' ')[0])")
            for row in rows.all()
        ]

    for number, (name, *shown) in enumerate(titles()):
        values = [wave(step, number) for step in range(4000, 5001)]
        assert name == ("a/1", "a/2", "b/1")[number]
        expected = [values[0], values[-1], values[-1] - values[0], min(values), max(values)]
        assert [float(v) for v in shown] == pytest.approx(expected, abs=1e-5)
    table = page.locator(".range-table")
    table.get_by_role("button", name="change").click()
    changes = [float(row[3]) for row in titles()]
    assert changes == sorted(changes, reverse=True)
    table.get_by_role("button", name="change").click()
    changes = [float(row[3]) for row in titles()]
    assert changes == sorted(changes)
    assert table.locator("th[aria-sort=ascending]").inner_text().startswith("change")


def test_exports_are_of_the_selected_steps_and_name_only_what_is_not_all(
    logdir: Path, board_server: Any, page: Any, tmp_path: Path
) -> None:
    open_view(page, board_server(logdir).url, "from=10&to=12")
    settled(page)

    def download(item: str) -> tuple[dict[str, list[str]], list[dict[str, str]]]:
        link = page.get_by_role("menuitem", name=item)
        parameters = parse_qs(urlsplit(link.get_attribute("href")).query)
        with page.expect_download() as started:
            link.click()
        started.value.save_as(tmp_path / "saved")
        text = (tmp_path / "saved").read_text()
        return parameters, list(csv.DictReader(io.StringIO(text)))

    page.get_by_role("button", name="export").click()
    parameters, rows = download("CSV, steps 10 to 12")
    assert parameters == {"lo": ["10"], "hi": ["12"]}
    assert len(rows) == 3 * 3 * 3
    assert {row["step"] for row in rows} == {"10", "11", "12"}
    page.get_by_label("Filter runs").fill("a/")
    assert until(lambda: page.locator(".run-row").count() == 3)
    open_menu(page, "down")
    parameters, rows = download("CSV, all points")
    assert set(parameters) == {"tags", "runs"} and len(parameters["runs"][0].split(",")) == 2
    assert len(rows) == 200


def saved(page: Any, item: str, target: Path) -> str:
    with page.expect_download() as started:
        page.get_by_role("menuitem", name=item).click()
    started.value.save_as(target)
    return target.read_text()


def test_pictures_have_more_points_than_the_screen(
    logdir: Path, board_server: Any, page: Any, tmp_path: Path
) -> None:
    open_view(page, board_server(logdir).url, "q=wave&rq=b/1")
    assert len(chart(page, "wave")["curves"][0]["x"]) < POINTS
    open_menu(page, "wave")
    picture = ElementTree.fromstring(saved(page, "SVG", tmp_path / "wave.svg"))
    (path,) = [e for e in picture.iter() if e.get("class") == "curve"]
    assert (path.get("d") or "").count("L") == POINTS - 1
    open_menu(page, "wave")
    assert saved(page, "LaTeX", tmp_path / "wave.tex").count("\n4321 ") == 1


def test_latex_has_bands_raw_data_scales_and_the_right_axis(
    logdir: Path, board_server: Any, page: Any, tmp_path: Path
) -> None:
    view = "q=down&g=folder&gb=minmax&s=0.5&y=symlog&over=down==never"
    open_view(page, board_server(logdir).url, view)
    assert len(chart(page, "down")["curves"]) == 4
    open_menu(page, "down")
    latex = saved(page, "LaTeX", tmp_path / "down.tex")
    left, right = latex.split("\\begin{axis}")[1:]
    assert "axis y line*=right" in right and "axis y line*=right" not in left
    for axis in (left, right):
        assert axis.count("fill opacity=0.16") == 2
        assert axis.count("\\addlegendentry") == 2
        assert "yticklabels=" in axis
    assert "dash pattern=on 5pt off 3pt" in right
    # A symmetric logarithm: the values are placed, 10 as the largest near its top.
    assert "ymode" not in latex
    open_menu(page, "down")
    picture = ElementTree.fromstring(saved(page, "SVG", tmp_path / "down.svg"))
    dashes = [e for e in picture.iter() if e.get("stroke-dasharray") == "5 3"]
    assert len(dashes) == 4  # two lines, and the two of them in the legend


def test_runs_have_the_colour_of_their_group_and_are_all_drawn(
    logdir: Path, board_server: Any, page: Any
) -> None:
    open_view(page, board_server(logdir).url, "q=down&g=folder&gc=each")
    curves = {c["label"]: c["colour"] for c in chart(page, "down")["curves"]}
    assert set(curves) == {"a/1", "a/2", "b/1"}
    assert curves["a/1"] == curves["a/2"] != curves["b/1"]
    assert page.get_by_role("list", name="Groups").inner_text().split() == ["a", "2", "b", "1"]


def test_tags_of_readers_are_a_filter_and_a_column(
    logdir: Path, board_server: Any, page: Any
) -> None:
    open_view(page, board_server(logdir).url, "q=down&cols=tags")
    settled(page)
    page.locator(".run-row .row-name", has_text="2").click()
    page.get_by_label("Add a tag").fill("best one")
    page.get_by_label("Add a tag").press("Enter")
    assert until(lambda: page.locator(".run-cell", has_text="best one").count() == 1)
    page.get_by_label("Filter runs").fill("tag:best")
    assert until(lambda: len(chart(page, "down")["curves"]) == 1)
    assert chart(page, "down")["curves"][0]["label"] == "a/2"


def test_any_column_is_found_by_name_and_colours_are_reached_by_tab(
    logdir: Path, board_server: Any, page: Any
) -> None:
    open_view(page, board_server(logdir).url, "q=down&rq=b/1")
    settled(page)
    page.get_by_role("button", name="Columns").click()
    page.get_by_label("Find a column").fill("wave ma")
    page.get_by_label("wave, max").check()
    page.keyboard.press("Escape")
    assert until(lambda: page.locator(".run-cell").first.inner_text().startswith("5."))
    page.get_by_label("Colour of b/1").click()
    # The layer takes the focus after it was painted.
    assert until(lambda: page.locator(":focus").get_attribute("aria-label") == "colour 1")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    colour = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--run-2')")
    assert until(lambda: chart(page, "down")["curves"][0]["colour"] == colour.strip())


def test_runs_beyond_the_limit_of_a_chart_are_counted(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    for number in range(510):
        write_run(tmp_path / f"r{number}", [(0, WALL, [("v", 1.0)]), (1, WALL + 1, [("v", 2.0)])])
    open_view(page, board_server(tmp_path).url)
    assert len(chart(page, "v")["curves"]) == 500
    assert page.locator(".chart-note").inner_text() == "first 500 of 510 runs"
    open_menu(page, "v")
    href = page.get_by_role("menuitem", name="CSV, all points").get_attribute("href")
    assert parse_qs(urlsplit(href).query) == {}

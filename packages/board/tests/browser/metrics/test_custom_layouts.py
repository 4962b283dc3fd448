"""Layouts of charts: created, changed, grouped and saved."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path
from typing import Any

import pytest
from browser.metrics_view import WALL, chart, open_view, settled, until, write_run


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of mid, low and high; no layout."""
    folder: Path = tmp_path_factory.mktemp("layouts")
    for number, name in enumerate(("seed_1", "seed_2")):
        rows = [
            (s, WALL + s, [("mid", float(s + number)), ("low", s - 1.0), ("high", s + 2.0)])
            for s in range(50)
        ]
        write_run(folder / name, rows)
    return folder


def new_layout(page: Any) -> Any:
    settled(page)
    page.get_by_role("button", name="view", exact=True).click()
    page.get_by_role("menuitem", name="New layout of charts").click()
    page.get_by_label("Filter tags").fill("layout")
    form = page.locator(".layout-editor")
    form.wait_for()
    return form


def test_a_layout_is_made_from_nothing_obeys_groups_is_saved_and_goes_away(
    logdir: Path, board_server: Any, page: Any, tmp_path: Path
) -> None:
    saved = tmp_path / "state.json"
    url = board_server(logdir, "--state", str(saved)).url
    open_view(page, url)
    form = new_layout(page)
    form.get_by_label("Title of the chart").fill("all of mid")
    form.get_by_label("Patterns of tags").fill("mid|nothing")
    form.get_by_role("button", name="Add a chart").click()
    form.get_by_label("Kind of the chart").nth(1).select_option("margin")
    form.get_by_label("Tags of value, lower, upper").fill("mid, low, high")
    form.get_by_role("button", name="Save").click()
    assert len(chart(page, "custom:layout/0/0")["curves"]) == 2
    bounds = chart(page, "custom:layout/0/1")["curves"][0]
    assert bounds["lo"] == [s - 1.0 for s in range(50)]
    assert bounds["hi"] == [s + 2.0 for s in range(50)]

    page.get_by_label("Group runs").select_option("all")
    one = until(lambda: len(c := chart(page, "custom:layout/0/0")["curves"]) == 1 and c[0])
    assert one["label"] == "all runs (2)" and one["y"] == [s + 0.5 for s in range(50)]
    assert one["lo"][0] < one["y"][0] < one["hi"][0]
    bounds = chart(page, "custom:layout/0/1")["curves"][0]
    assert bounds["hi"] == [s + 2.0 for s in range(50)]

    page.get_by_role("button", name="Menu of all of mid").click()
    with page.expect_download() as started:
        page.get_by_role("menuitem", name="CSV, all points").click()
    started.value.save_as(tmp_path / "mid.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "mid.csv").read_text())))
    assert len(rows) == 100 and {row["tag"] for row in rows} == {"mid"}

    assert until(lambda: saved.exists() and "all of mid" in saved.read_text())
    page.reload()
    assert len(chart(page, "custom:layout/0/0")["curves"]) == 1
    page.locator("article.tile").hover()
    page.get_by_role("button", name="Menu of the card").click()
    page.get_by_role("menuitem", name="Remove this layout").click()
    assert until(lambda: page.locator("article.tile").count() == 0)


def test_the_legend_of_a_chart_stays_in_its_chart(
    logdir: Path, board_server: Any, page: Any, tmp_path: Path
) -> None:
    open_view(page, board_server(logdir, "--state", str(tmp_path / "state.json")).url)
    form = new_layout(page)
    form.get_by_label("Patterns of tags").fill("mid|low|high")
    form.get_by_role("button", name="Save").click()
    assert len(chart(page, "custom:layout/0/0")["curves"]) == 6
    legend = page.locator(".custom-chart .chart-legend.lines-2")
    legend.wait_for()
    plot = page.locator(".custom-chart .scalar-plot")
    legend_end, plot_end = (
        box["y"] + box["height"] for box in (legend.bounding_box(), plot.bounding_box())
    )
    assert legend_end <= plot_end


def test_a_card_whose_code_comes_late_grows_with_its_content(
    logdir: Path, board_server: Any, page: Any, tmp_path: Path
) -> None:
    def after_a_while(route: Any) -> None:
        time.sleep(1)
        route.continue_()

    page.route("**/assets/custom_card*.js", after_a_while)
    open_view(page, board_server(logdir, "--state", str(tmp_path / "state.json")).url)
    form = new_layout(page)
    for number in range(7):
        form.get_by_label("Patterns of tags").nth(number).fill("mid")
        form.get_by_role("button", name="Add a chart").click()
    form.get_by_role("button", name="Save").click()
    page.reload()  # the card is as tall as a placeholder first
    content = page.locator(".custom-card")
    content.wait_for()
    card = page.get_by_role("article").filter(has=content)

    def ends(part: Any) -> float:
        box = part.bounding_box()
        return box["y"] + box["height"]

    assert until(lambda: 500 < content.bounding_box()["height"] and ends(content) <= ends(card), 9)


def test_what_is_taken_away_takes_its_own_text_with_it(
    logdir: Path, board_server: Any, page: Any
) -> None:
    open_view(page, board_server(logdir).url)
    form = new_layout(page)
    form.get_by_role("button", name="Add a chart").click()
    form.get_by_role("button", name="Add a chart").click()
    texts = form.get_by_label("Patterns of tags")
    for i, pattern in enumerate(("mid", "low", "high")):
        texts.nth(i).fill(pattern)
    form.locator(".layout-chart").nth(0).get_by_role("button", name="remove").click()
    assert until(lambda: texts.count() == 2)
    assert [box.input_value() for box in texts.all()] == ["low", "high"]
    texts.nth(1).fill("mid|(")
    assert "matches nothing" in form.locator(".query-error").inner_text()
    texts.nth(1).fill("mid|high")
    form.get_by_role("button", name="Save").click()
    assert {c["tag"] for c in chart(page, "custom:layout/0/0")["curves"]} == {"low"}
    assert {c["tag"] for c in chart(page, "custom:layout/0/1")["curves"]} == {"mid", "high"}

"""The HParams page: sorting, conditions, brushes, and what they choose."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from browser.metrics_view import until
from fixtures import media_logs


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    media_logs.write_sweep(folder)
    return folder


SESSIONS = media_logs.sweep()


def state(page: Any) -> dict[str, Any]:
    return page.evaluate("window.__board?.hparams ?? null")


def rows(page: Any) -> list[str]:
    found = state(page)
    return found["rows"] if found else []


def names(met: list[bool]) -> list[str]:
    return [f"session_{i:02d}" for i, yes in enumerate(met) if yes]


def test_the_table_has_every_session_with_its_values(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/hparams")
    assert until(lambda: len(rows(page)) == len(SESSIONS))
    assert [c["id"] for c in state(page)["columns"]] == [
        "p:dropout", "p:optimizer", "p:rate", "p:units", "m:accuracy", "m:loss",
    ]  # fmt: skip
    row = page.locator('tr[data-run="session_03"]')
    hparams, accuracy, _ = SESSIONS[3]
    titles = [cell.get_attribute("title") for cell in row.locator("td.number").all()]
    assert float(titles[0]) == pytest.approx(hparams["rate"])
    assert float(titles[2]) == pytest.approx(accuracy, rel=1e-6)
    assert hparams["optimizer"] in row.inner_text()


def test_sorting_by_a_column_both_ways(logdir: Path, board_server: Any, page: Any) -> None:
    page.goto(board_server(logdir).url + "#/hparams")
    assert until(lambda: rows(page))
    order = sorted(range(len(SESSIONS)), key=lambda i: SESSIONS[i][0]["rate"])
    head = page.get_by_role("columnheader", name="rate")
    head.get_by_role("button").click()
    assert until(lambda: rows(page) == [f"session_{i:02d}" for i in order])
    head.get_by_role("button").click()
    assert until(lambda: rows(page) == [f"session_{i:02d}" for i in order[::-1]])
    assert head.get_attribute("aria-sort") == "descending"
    page.wait_for_timeout(300)
    page.reload()
    assert until(lambda: rows(page) == [f"session_{i:02d}" for i in order[::-1]])


def test_conditions_narrow_the_table_and_choose_runs_everywhere(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/hparams")
    assert until(lambda: rows(page))
    for column, said in (("rate", "0.001..0.05"), ("optimizer", "adam|momentum")):
        field = page.get_by_label(f"Condition on {column}")
        field.fill(said)
        field.press("Enter")
    met = names([0.001 <= h["rate"] <= 0.05 and h["optimizer"] != "sgd" for h, _, _ in SESSIONS])
    assert until(lambda: sorted(rows(page)) == met)
    page.wait_for_timeout(300)
    page.get_by_role("link", name="Metrics").click()
    drawn = until(
        lambda: page.evaluate(
            "(window.__board?.metrics?.charts ?? []).filter(c => c.id.includes('accuracy'))"
            ".map(c => c.curves.map(k => k.label))[0]"
        )
    )
    assert until(lambda: drawn and sorted(drawn) == met), drawn


def test_brushing_an_axis_is_a_condition_that_outlives_a_reload(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/hparams")
    assert until(lambda: rows(page))
    canvas = page.locator(".parallel canvas")
    box = until(canvas.bounding_box)
    # Axes stand at even distances; rate is the third of six, and log.
    title = page.locator(".axis-title").nth(2).bounding_box()
    x = title["x"] + title["width"] / 2
    page.mouse.move(x, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(x, box["y"] + 120, steps=4)
    page.mouse.up()
    said = until(lambda: state(page)["filters"].get("p:rate"))
    low, high = (float(end) for end in said.split(".."))
    least, most = (f(h["rate"] for h, _, _ in SESSIONS) for f in (min, max))
    tall = box["height"] - 44 - 16 - 12
    for value, y in ((low, 120), (high, 60)):
        place = 1 - (y - 44) / tall
        assert math.log(value / least) / math.log(most / least) == pytest.approx(place, abs=0.02)
    met = names([low <= h["rate"] <= high for h, _, _ in SESSIONS])
    assert sorted(rows(page)) == met and 0 < len(met) < len(SESSIONS)
    page.wait_for_timeout(300)
    page.reload()
    assert until(lambda: sorted(rows(page)) == met)
    page.get_by_role("button", name="clear conditions").click()
    assert until(lambda: len(rows(page)) == len(SESSIONS))


def test_importance_names_what_the_metric_hangs_on(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/hparams?hpmetric=m:loss")
    panel = page.get_by_role("complementary", name="Importance")
    panel.wait_for()
    assert until(lambda: panel.locator("li").count() >= 2)
    first = panel.locator("li").first.inner_text()
    assert "rate" in first and "falls" in first


def test_a_run_keeps_its_note_and_tags_in_the_state_file(
    logdir: Path, tmp_path: Path, board_server: Any, page: Any
) -> None:
    board = board_server(logdir, "--state", str(tmp_path / "state.json"))
    page.goto(board.url + "#/hparams")
    assert until(lambda: rows(page))
    page.locator('tr[data-run="session_01"] .run-button').click()
    page.get_by_label("Add a tag").fill("keep <b>this</b>")
    page.get_by_label("Add a tag").press("Enter")
    note = page.get_by_label("Note on session_01")
    note.fill("the best so far")
    note.blur()
    assert until(lambda: "best so far" in _read(tmp_path / "state.json"))
    page.evaluate("localStorage.clear()")
    page.reload()
    page.locator('tr[data-run="session_01"] .run-button').click()
    assert until(lambda: page.get_by_label("Note on session_01").input_value() == "the best so far")
    assert page.locator(".run-tag").inner_text().startswith("keep <b>this</b>")


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""

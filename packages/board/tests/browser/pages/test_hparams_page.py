"""The HParams page: sorting, conditions and brushes, and the runs that they select."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from browser.metrics_view import address, until, wait_for_address
from fixtures import media_logs

from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event


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
    wait_for_address(page)
    page.reload()
    assert until(lambda: rows(page) == [f"session_{i:02d}" for i in order[::-1]])


def test_conditions_narrow_the_table_and_choose_runs_everywhere(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/hparams")
    assert until(lambda: rows(page))
    for column, shown in (("rate", "0.001..0.05"), ("optimizer", "adam|momentum")):
        field = page.get_by_label(f"Condition on {column}")
        field.fill(shown)
        field.press("Enter")
    met = names([0.001 <= h["rate"] <= 0.05 and h["optimizer"] != "sgd" for h, _, _ in SESSIONS])
    assert until(lambda: sorted(rows(page)) == met)
    wait_for_address(page)
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
    shown = until(lambda: state(page)["filters"].get("p:rate"))
    low, high = (float(end) for end in shown.split(".."))
    least, most = (f(h["rate"] for h, _, _ in SESSIONS) for f in (min, max))
    tall = box["height"] - 44 - 16 - 12
    for value, y in ((low, 120), (high, 60)):
        place = 1 - (y - 44) / tall
        assert math.log(value / least) / math.log(most / least) == pytest.approx(place, abs=0.02)
    met = names([low <= h["rate"] <= high for h, _, _ in SESSIONS])
    assert sorted(rows(page)) == met and 0 < len(met) < len(SESSIONS)
    wait_for_address(page)
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


def test_sessions_that_come_later_and_metrics_that_grow_are_followed(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    media_logs.write_session(tmp_path / "first", {"rate": 0.1}, 0.5, 1.0)
    page.goto(board_server(tmp_path).url + "#/hparams")
    assert until(lambda: rows(page) == ["first"])
    field = page.get_by_label("Condition on rate")
    field.press_sequentially("..0")
    media_logs.write_session(tmp_path / "second", {"rate": 0.2}, 0.75, 1.0)
    assert until(lambda: sorted(rows(page)) == ["first", "second"])
    assert field.input_value() == "..0", "what is half typed is not wiped"
    field.press_sequentially(".15")
    field.press("Enter")
    assert until(lambda: rows(page) == ["first"])
    with EventFileWriter(tmp_path / "first") as writer:
        event = Event(wall_time=media_logs.WALL + 90, step=90)
        event.summary.value.add(tag="accuracy", simple_value=0.875)
        writer.write(event)
    row = page.locator('tr[data-run="first"]')
    assert until(lambda: "0.875" in row.inner_text())


def test_a_failed_request_is_repeated(logdir: Path, board_server: Any, page: Any) -> None:
    broken = {"error": "the disk is away"}
    page.route("**/api/v1/hparams", lambda route: route.fulfill(status=503, json=broken))
    page.goto(board_server(logdir).url + "#/hparams")
    page.get_by_text("the disk is away").wait_for()
    page.unroute("**/api/v1/hparams")
    assert until(lambda: len(rows(page)) == len(SESSIONS))


def test_without_conditions_the_runs_are_those_chosen_by_hand(
    logdir: Path, board_server: Any, page: Any
) -> None:
    by_hand = "only:session_01,session_02"
    page.goto(board_server(logdir).url + f"#/hparams?runs={by_hand}")
    assert until(lambda: rows(page))

    def chosen() -> str:
        return page.evaluate("new URLSearchParams(location.hash.split('?')[1]).get('runs') ?? ''")

    before = chosen()
    field = page.get_by_label("Condition on rate")
    field.fill("0.001..0.05")
    field.press("Enter")
    assert until(lambda: chosen() != before)
    page.reload()
    assert until(lambda: rows(page))
    page.get_by_role("button", name="clear conditions").click()
    assert until(lambda: len(rows(page)) == len(SESSIONS))
    assert until(lambda: chosen().replace("~", "").startswith("only:session_01"))
    assert "hpbefore" not in address(page)


def test_axes_are_moved_by_hand_and_by_keys(logdir: Path, board_server: Any, page: Any) -> None:
    page.goto(board_server(logdir).url + "#/hparams")
    assert until(lambda: rows(page))

    def axes() -> list[str]:
        titles = page.locator(".axis-title").all()
        placed = [(one.bounding_box()["x"], one.inner_text().split()[0]) for one in titles]
        return [title for _, title in sorted(placed)]

    assert axes() == ["dropout", "optimizer", "rate", "units", "accuracy", "loss"]
    rate = page.locator(".axis-title", has_text="rate").bounding_box()
    units = page.locator(".axis-title", has_text="units").bounding_box()
    page.mouse.move(rate["x"] + rate["width"] / 2, rate["y"] + 10)
    page.mouse.down()
    page.mouse.move(units["x"] + units["width"] / 2, units["y"] + 10, steps=5)
    page.mouse.up()
    assert until(lambda: axes() == ["dropout", "optimizer", "units", "rate", "accuracy", "loss"])
    page.locator(".axis-title", has_text="loss").focus()
    page.keyboard.press("Alt+ArrowLeft")
    moved = ["dropout", "optimizer", "units", "rate", "loss", "accuracy"]
    assert until(lambda: axes() == moved)
    assert until(lambda: "m:loss,m:accuracy" in address(page))
    page.reload()
    assert until(lambda: rows(page) and axes() == moved)


@pytest.mark.parametrize("view", ["parallel", "scatter"])
def test_the_picture_is_saved_as_svg(logdir: Path, board_server: Any, page: Any, view: str) -> None:
    page.goto(board_server(logdir).url + f"#/hparams?hpview={view}")
    assert until(lambda: rows(page))
    page.get_by_role("button", name="save").click()
    with page.expect_download() as waiting:
        page.get_by_role("menuitem", name="Picture svg").click()
    svg = Path(waiting.value.path()).read_text()
    shapes = ElementTree.fromstring(svg)
    drawn = [one.get("d") for one in shapes.iter("{http://www.w3.org/2000/svg}path")]
    assert len(drawn) >= len(SESSIONS) and all(drawn)
    words = {one.text for one in shapes.iter("{http://www.w3.org/2000/svg}text")}
    assert any(word and word.startswith("rate") for word in words)


def test_a_note_that_is_being_typed_stays_while_the_log_grows(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    media_logs.write_session(tmp_path / "run", {"rate": 0.1}, 0.5, 1.0)
    page.goto(board_server(tmp_path).url + "#/hparams")
    assert until(lambda: rows(page))
    page.locator('tr[data-run="run"] .run-button').click()
    note = page.get_by_label("Note on run")
    note.press_sequentially("half a tho")
    media_logs.write_session(tmp_path / "other", {"rate": 0.2}, 0.5, 1.0)
    with EventFileWriter(tmp_path / "run") as writer:
        event = Event(wall_time=media_logs.WALL + 90, step=90)
        event.summary.value.add(tag="accuracy", simple_value=0.875)
        writer.write(event)
    assert until(lambda: len(rows(page)) == 2)
    details = page.get_by_role("complementary", name="Details")
    assert until(lambda: "0.875" in details.inner_text())
    assert note.input_value() == "half a tho"
    note.press_sequentially("ught")
    page.get_by_role("button", name="Close the details").click()
    page.locator('tr[data-run="run"] .run-button').click()
    assert until(lambda: note.input_value() == "half a thought")


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""

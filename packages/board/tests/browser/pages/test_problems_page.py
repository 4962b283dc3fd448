"""The Problems page lists losses with their places, and values that are not finite."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from browser.metrics_view import until, wait_for_address
from fixtures import corrupted_logs, media_logs

from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event

WALL = 1_700_000_000.0


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corrupted")
    records = corrupted_logs.records_of_900()
    corrupted_logs.write_records(folder / "payload", corrupted_logs.flip_payload_byte(records))
    corrupted_logs.write_records(folder / "length", corrupted_logs.flip_length_byte(records))
    with EventFileWriter(folder / "nan") as writer:
        for step in range(100):
            back = 500 if step > 60 else 0
            event = Event(wall_time=WALL + step - back, step=step)
            loss = float("nan") if step > 40 else 1.0
            event.summary.value.add(tag="train/loss", simple_value=loss)
            norm = float("inf") if step == 38 else 2.0
            event.summary.value.add(tag="grad/norm", simple_value=norm)
            writer.write(event)
    return folder


def shown(page: Any) -> list[dict[str, Any]]:
    found = page.evaluate("window.__board?.problems ?? null")
    return found["shown"] if found else []


def test_each_kind_of_corruption_is_a_line_with_its_loss(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/problems")
    kinds = {"bad_payload", "bad_length", "nan", "infinite", "clock_jump"}
    assert until(lambda: {p["kind"] for p in shown(page)} >= kinds)
    payload = page.locator('tr[data-kind="bad_payload"]')
    found = next(p for p in shown(page) if p["kind"] == "bad_payload")
    records = corrupted_logs.records_of_900()
    assert found["offset"] == sum(map(len, records[:450]))
    assert found["bytes"] == len(records[450]) and found["count"] == 1
    assert str(found["offset"]) in payload.inner_text()
    assert f"{found['bytes']} B" in payload.inner_text()
    serious = [problem for problem in shown(page) if problem["severity"] != "note"]
    assert page.get_by_role("link", name="Problems").inner_text().split()[-1] == str(len(serious))
    assert len(serious) < len(shown(page)), "notes are in the list and not in the count"


def test_severity_and_words_narrow_the_list(logdir: Path, board_server: Any, page: Any) -> None:
    page.goto(board_server(logdir).url + "#/problems")
    assert until(lambda: shown(page))
    page.get_by_role("radio", name="error").click()
    assert until(lambda: {p["severity"] for p in shown(page)} == {"error"})
    page.get_by_label("Search the problems").fill("the data of a record")
    assert until(lambda: {p["kind"] for p in shown(page)} == {"bad_payload"})
    wait_for_address(page)
    page.reload()
    assert until(lambda: [p["kind"] for p in shown(page)] == ["bad_payload"])


def test_the_watch_list_jumps_to_the_first_bad_step(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/problems")
    watched = until(lambda: (page.evaluate("window.__board?.problems") or {}).get("watched"))
    assert [(w["tag"], w["kind"], w["step"], w["count"]) for w in watched] == [
        ("grad/norm", "infinite", 38, 1),
        ("train/loss", "nan", 41, 59),
    ]
    page.get_by_role("complementary", name="NaN").get_by_text("train/loss").click()
    assert until(
        lambda: (
            "#/metrics" in page.evaluate("location.hash")
            and "step=41" in page.evaluate("location.hash")
        )
    )
    page.get_by_role("article", name="train/loss").wait_for()
    assert page.get_by_role("article").count() == 1


def test_intact_logs_have_an_empty_problems_page(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    media_logs.write_pictures(tmp_path / "run", 5)
    page.goto(board_server(tmp_path).url + "#/problems")
    page.get_by_role("heading", name="Nothing is wrong with these logs").wait_for()
    page.get_by_text("all checksums are valid").wait_for()


def test_a_run_leads_to_its_problems_and_what_they_cost(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    records = corrupted_logs.records_of_900()
    corrupted_logs.write_records(tmp_path / "worse", corrupted_logs.flip_length_byte(records))
    corrupted_logs.write_records(tmp_path / "trial", corrupted_logs.flip_payload_byte(records))
    media_logs.write_session(tmp_path / "trial", {"rate": 0.1}, 0.5, 1.0)
    page.goto(board_server(tmp_path).url + "#/hparams")
    page.locator('tr[data-run="trial"] .run-button').click()
    page.get_by_role("button", name=re.compile(r"^\d+ problems?$")).click()

    def kinds() -> set[str]:
        return {p["kind"] for p in shown(page)} & {"bad_payload", "bad_length"}

    assert until(lambda: kinds() == {"bad_payload"})
    page.get_by_role("button", name="Show the problems of all runs").click()
    assert until(lambda: kinds() == {"bad_payload", "bad_length"})
    losses = page.get_by_role("complementary", name="Lost by run")
    found = {p["kind"]: p["bytes"] for p in shown(page)}
    assert f"{found['bad_payload']} B" in losses.inner_text()
    losses.get_by_role("button", name="worse").click()
    assert until(lambda: kinds() == {"bad_length"})


def test_no_all_clear_while_logs_are_still_being_read(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    media_logs.write_pictures(tmp_path / "run", 5)
    for call in ("events", "changes"):  # the news that reading has ended
        page.route(f"**/api/v1/{call}*", lambda route: route.abort())
    board = board_server(tmp_path)
    page.goto(board.url + "#/problems")
    page.get_by_text("Nothing is wrong so far; the logs are still being read").wait_for()
    page.goto(board.url + "#/hparams")
    page.get_by_text("No hyperparameters so far; the logs are still being read").wait_for()

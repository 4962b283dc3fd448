"""The page follows the logs: points, runs and writers that come while it is open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from browser.metrics_view import WALL, chart, open_view, settled, until
from fixtures.event_logs import simple_event

from headrace.formats.event_file import EventFileWriter

_LAST = """
() => {
  const c = window.__board?.metrics?.charts.find((c) => c.id === 'loss');
  if (!c || c.painted < 1) return null;
  return Math.max(...c.curves.map((k) => k.x.at(-1)));
}
"""
_NAMES = """
() => {
  const c = window.__board?.metrics?.charts.find((c) => c.id === 'loss');
  return c ? c.curves.map((k) => k.label) : [];
}
"""


def test_what_is_appended_is_painted_without_a_reload(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    writer = EventFileWriter(tmp_path / "run")
    for step in range(50):
        writer.write(simple_event(step, WALL + step, [("loss", 1 / (step + 1))]))
    writer.flush()
    open_view(page, board_server(tmp_path).url)
    settled(page)
    for step in range(50, 70):
        writer.write(simple_event(step, WALL + step, [("loss", 1 / (step + 1))]))
        writer.flush()
        assert until(lambda step=step: page.evaluate(_LAST) == step, 10, 0.01), (
            f"step {step} never came"
        )
    writer.close()
    assert page.locator(".live-mark.live").count() == 1


def test_a_new_run_and_a_second_writer_appear(tmp_path: Path, board_server: Any, page: Any) -> None:
    first = EventFileWriter(tmp_path / "first")
    first.write(simple_event(1, WALL, [("loss", 1.0)]))
    first.write(simple_event(2, WALL + 1, [("loss", 1.0)]))
    first.flush()
    open_view(page, board_server(tmp_path).url)
    settled(page)
    second = EventFileWriter(tmp_path / "second" / "part")
    second.write(simple_event(1, WALL, [("loss", 2.0)]))
    second.flush()
    assert until(lambda: sorted(page.evaluate(_NAMES)) == ["first", "second/part"], 10)
    assert page.get_by_role("treeitem").count() == 3
    beside = EventFileWriter(tmp_path / "first", ".beside")
    beside.write(simple_event(3, WALL + 2, [("loss", 3.0), ("other", 1.0)]))
    beside.flush()
    assert until(lambda: page.evaluate(_LAST) == 3, 10)
    assert until(lambda: chart(page, "other"))
    for writer in (first, second, beside):
        writer.close()


def test_the_empty_page_becomes_a_full_one(tmp_path: Path, board_server: Any, page: Any) -> None:
    open_view(page, board_server(tmp_path).url)
    page.locator(".notice").wait_for()
    with EventFileWriter(tmp_path / "run") as writer:
        writer.write(simple_event(1, WALL, [("loss", 1.0)]))
    assert until(lambda: page.locator("article.tile").count() == 1)


def test_a_renewal_fetches_only_what_changed(tmp_path: Path, board_server: Any, page: Any) -> None:
    writers = [EventFileWriter(tmp_path / f"run{i}") for i in range(5)]
    for writer in writers:
        for step in range(10):
            writer.write(simple_event(step, WALL + step, [("loss", 1.0), ("acc", 0.5)]))
        writer.flush()
    open_view(page, board_server(tmp_path).url)
    settled(page)
    bodies: list[dict[str, Any]] = []
    page.on(
        "request",
        lambda r: bodies.append(r.post_data_json) if r.url.endswith("/api/v1/scalars") else None,
    )
    writers[2].write(simple_event(10, WALL + 10, [("loss", 2.0)]))
    writers[2].flush()
    assert until(lambda: page.evaluate(_LAST) == 10, 10)
    assert [[len(q["runs"]) for q in body["queries"]] for body in bodies] == [[1]]
    assert len(page.evaluate(_NAMES)) == 5
    for writer in writers:
        writer.close()


def test_a_board_that_stops_is_said_to_be_gone(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    with EventFileWriter(tmp_path / "run") as writer:
        writer.write(simple_event(1, WALL, [("loss", 1.0)]))
    board = board_server(tmp_path)
    open_view(page, board.url)
    settled(page)
    board.process.kill()
    assert until(lambda: page.locator(".live-mark").inner_text() == "no connection", 10)
    assert page.locator("article.tile").count() == 1

"""An open page follows the logs: new points, runs and writers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from browser.metrics_view import WALL, chart, open_view, settled, until
from fixtures.column_replies import decode
from fixtures.event_logs import simple_event

from headrace.formats.event_file import EventFileWriter

_LAST = """
() => {
  const c = window.__board?.metrics?.charts.find((c) => c.id === 'loss');
  if (!c || c.painted < 1) return null;
  return Math.max(...c.curves.map((k) => k.x.at(-1)));
}
"""
_HIDE = """
(hidden) => {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event('visibilitychange'));
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
    assert until(lambda: sorted(page.evaluate(_NAMES)) == ["first", "second/part"])
    assert page.get_by_role("treeitem").count() == 3
    beside = EventFileWriter(tmp_path / "first", ".beside")
    beside.write(simple_event(3, WALL + 2, [("loss", 3.0), ("other", 1.0)]))
    beside.flush()
    assert until(lambda: page.evaluate(_LAST) == 3)
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
    assert until(lambda: page.evaluate(_LAST) == 10)
    assert [[len(q["runs"]) for q in body["queries"]] for body in bodies] == [[1]]
    assert len(page.evaluate(_NAMES)) == 5
    for writer in writers:
        writer.close()


def test_a_stopped_board_is_reported_as_disconnected(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    with EventFileWriter(tmp_path / "run") as writer:
        writer.write(simple_event(1, WALL, [("loss", 1.0)]))
    board = board_server(tmp_path)
    open_view(page, board.url)
    settled(page)
    board.kill()
    assert until(lambda: page.locator(".live-mark").inner_text() == "no connection")
    assert page.locator("article.tile").count() == 1


def test_seven_pages_of_a_browser_all_follow_and_all_fetch(
    tmp_path: Path, board_server: Any, browser: Any
) -> None:
    writer = EventFileWriter(tmp_path / "run")
    writer.write(simple_event(0, WALL, [("loss", 1.0)]))
    writer.flush()
    url = board_server(tmp_path).url
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    pages = [context.new_page() for _ in range(7)]
    for page in pages:
        open_view(page, url)
    for page in pages:
        assert until(lambda page=page: page.evaluate(_LAST) == 0), "a page never came"
    for step in (1, 2, 3):
        writer.write(simple_event(step, WALL + step, [("loss", 1.0)]))
        writer.flush()
        for page in pages:
            assert until(lambda page=page, step=step: page.evaluate(_LAST) == step), step
    for page in pages:
        assert page.evaluate("fetch('api/v1/health').then((r) => r.status)") == 200
    assert [page.evaluate("window.__board.leads") for page in pages].count(True) == 1
    # The page that follows for all goes: another takes its place.
    (leader,) = [page for page in pages if page.evaluate("window.__board.leads")]
    leader.close()
    pages.remove(leader)
    assert until(lambda: any(page.evaluate("window.__board.leads") for page in pages))
    writer.write(simple_event(4, WALL + 4, [("loss", 1.0)]))
    writer.flush()
    for page in pages:
        assert until(lambda page=page: page.evaluate(_LAST) == 4)
    context.close()
    writer.close()


def test_a_hidden_page_lets_go_and_comes_back(tmp_path: Path, board_server: Any, page: Any) -> None:
    writer = EventFileWriter(tmp_path / "run")
    writer.write(simple_event(0, WALL, [("loss", 1.0)]))
    writer.flush()
    open_view(page, board_server(tmp_path).url)
    settled(page)
    page.evaluate(_HIDE, True)
    assert until(lambda: not page.evaluate("window.__board.leads"))
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    writer.write(simple_event(1, WALL + 1, [("loss", 1.0)]))
    writer.flush()
    page.wait_for_timeout(1500)  # longer than the polling interval of a visible page
    assert requests == []
    page.evaluate(_HIDE, False)
    assert until(lambda: page.evaluate(_LAST) == 1)
    writer.close()


def test_a_change_fetches_the_series_that_changed_and_no_others(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    writers = [EventFileWriter(tmp_path / f"run{i}") for i in range(4)]
    for writer in writers:
        writer.write(simple_event(0, WALL, [("loss", 1.0), ("acc", 0.5)]))
        writer.flush()
    open_view(page, board_server(tmp_path).url)
    settled(page)
    replies: list[Any] = []
    page.on(
        "response", lambda reply: replies.append(reply) if "/tags?since=" in reply.url else None
    )
    writers[2].write(simple_event(1, WALL + 1, [("loss", 2.0)]))
    writers[2].flush()
    assert until(lambda: page.evaluate(_LAST) == 1)
    bodies = [decode(reply.body()) for reply in replies]
    assert sum(len(columns["n"]) for _, columns in bodies) == 1
    assert sum(len(header["names"]) for header, _ in bodies) == 0
    for writer in writers:
        writer.close()


def test_a_restarted_server_shows_its_own_runs(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    for name in ("b", "c"):
        with EventFileWriter(tmp_path / name) as writer:
            writer.write(simple_event(1, WALL, [("loss", 1.0)]))
            writer.write(simple_event(2, WALL, [("loss", 1.0)]))
    board = board_server(tmp_path)
    open_view(page, board.url)
    settled(page)
    boot = page.evaluate("window.__board.boot")
    board.stop()
    assert until(lambda: page.locator(".live-mark").inner_text() == "no connection")
    with EventFileWriter(tmp_path / "a") as writer:  # so that the others have other ids
        writer.write(simple_event(9, WALL, [("loss", 1.0), ("new", 1.0)]))
    again = board_server(tmp_path, port=board.port)
    assert again.url == board.url
    assert until(lambda: page.evaluate("window.__board.boot") not in (boot, ""))
    assert until(lambda: sorted(page.evaluate(_NAMES)) == ["a", "b", "c"])
    assert until(lambda: page.evaluate(_LAST) == 9)
    assert until(lambda: chart(page, "new"))
    ends = {curve["label"]: curve["x"][-1] for curve in chart(page, "loss")["curves"]}
    assert ends == {"a": 9, "b": 2, "c": 2}

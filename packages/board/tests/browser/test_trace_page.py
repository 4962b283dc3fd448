"""The Trace page (A22, A23): lanes, long waits, selections that other pages share, keys, search."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from fixtures.traces import planted_trace, two_tasks, write_log

from headrace.formats.proto import graph_pb2

STEPS = (3, 7)


@pytest.fixture(scope="module")
def planted() -> Any:
    return planted_trace(40_000)


@pytest.fixture
def url(board_server: Any, tmp_path: Path, planted: Any) -> str:
    other = planted_trace(40_000, seed=1)
    write_log(tmp_path / "run", {3: planted.metadata, 7: other.metadata}, losses=10)
    graph = graph_pb2.GraphDef()
    for name, op, inputs in (
        ("a/MatMul", "MatMul", []),
        ("a/Relu", "Relu", ["a/MatMul"]),
        ("c/Add", "Add", ["a/Relu"]),
    ):
        graph.node.add(name=name, op=op, input=inputs)
    write_log(tmp_path / "small", {5: two_tasks().SerializeToString()}, graph)
    return board_server(tmp_path).url


def until(page: Any, expression: str, seconds: float = 15) -> Any:
    """Waits for an expression to be true; the page's policy forbids Playwright's own way."""
    end = time.monotonic() + seconds
    while True:
        found = page.evaluate(expression)
        if found:
            return found
        assert time.monotonic() < end, expression
        time.sleep(0.02)


def trace(page: Any) -> dict[str, Any]:
    return page.evaluate("window.__board.trace")


def open_trace(page: Any, url: str, rest: str = "") -> dict[str, Any]:
    page.goto(f"{url}#/trace{rest}")
    until(page, "window.__board?.trace?.analysed && window.__board.trace.drawn.sharp")
    return trace(page)


def spread(view: dict[str, float]) -> float:
    return view["t1"] - view["t0"]


def test_the_planted_stall_has_an_arrow_and_is_on_the_critical_path(
    page: Any, url: str, planted: Any
) -> None:
    shown = open_trace(page, url, "?trun=run&step=3&tcrit=1")
    (stall,) = shown["stalls"]
    assert stall["wait_ns"] == 5_000_000
    assert stall["to"]["node"] == planted.stall_name
    assert stall["from"]["node"] == planted.stall_sender
    assert stall["to"]["slice"] in shown["criticalSlices"]
    (item,) = [i for i in shown["items"] if i["slice"] == stall["to"]["slice"]]
    assert item["critical"] == 1
    # The arrow is there: pixels in the colour of errors, where the wait ends.
    red = page.evaluate(
        """([x, y]) => {
          const canvas = document.querySelector('.trace-canvas');
          const box = canvas.getBoundingClientRect();
          const data = canvas.getContext('2d')
            .getImageData(x - box.left - 40, y - box.top - 60, 80, 70).data;
          let n = 0;
          for (let i = 0; i < data.length; i += 4)
            if (data[i] > 150 && data[i + 1] < 70 && data[i + 2] < 70) n++;
          return n;
        }""",
        [item["x"] + item["width"], item["y"] + item["height"] / 2],
    )
    assert red > 20


def test_every_slice_of_every_lane_is_drawn_or_counted(page: Any, url: str, planted: Any) -> None:
    shown = open_trace(page, url, "?trun=run&step=3")
    by_lane: dict[int, int] = {}
    for item in shown["items"]:
        by_lane[item["lane"]] = by_lane.get(item["lane"], 0) + item["count"]
    assert by_lane == {lane: len(starts) for lane, starts in enumerate(planted.starts)}
    titles = [row["title"] for row in shown["rows"]]
    assert titles[:2] == ["worker 0 · CPU:0", "worker-0"]
    assert titles[5:7] == ["worker 1 · CPU:0", "worker-0"]
    assert list(shown["skew"].values()) == [0, -3_700_000]
    for name in ("worker 0 CPU:0 worker-0", "worker 1 CPU:0 worker-3"):
        until(page, f"!!document.querySelector('[data-lane=\"{name}\"]')")


def test_the_wheel_zooms_about_the_cursor_and_brings_finer_slices(page: Any, url: str) -> None:
    before = open_trace(page, url, "?trun=run&step=3")["view"]
    box = page.locator(".trace-canvas").bounding_box()
    x = round(box["x"] + box["width"] * 0.3)
    page.mouse.move(x, box["y"] + 40)
    share = (x - box["x"]) / box["width"]
    under = before["t0"] + share * spread(before)
    for _ in range(12):
        page.mouse.wheel(0, -240)
    narrow = "(t => t.view.t1 - t.view.t0 < 1e6 && t.drawn.sharp)(window.__board.trace)"
    until(page, narrow)
    after = trace(page)
    assert after["view"]["t0"] < under < after["view"]["t1"]
    assert abs((under - after["view"]["t0"]) / spread(after["view"]) - share) < 0.01
    assert any(item["count"] == 1 and item["width"] > 4 for item in after["items"])


def test_a_click_selects_a_slice_and_its_node_everywhere(page: Any, url: str) -> None:
    shown = open_trace(page, url, "?trun=small")
    item = next(i for i in shown["items"] if i["name"] == "a/MatMul")
    page.mouse.click(item["x"] + item["width"] / 2, item["y"] + item["height"] / 2)
    until(page, "window.__board.trace.selected?.node === 'a/MatMul'")
    panel = page.locator(".trace-panel")
    panel.get_by_text("1 000 ns").first.wait_for()
    assert "float32 [1024]" in panel.inner_text()
    page.get_by_role("button", name="Show in graph").click()
    until(page, "location.hash.startsWith('#/graph') && location.hash.includes('node=a/MatMul')")
    page.get_by_role("link", name="Trace").click()
    until(page, "window.__board.trace.marked === 1")


def test_a_node_selected_elsewhere_is_marked_on_the_lanes(page: Any, url: str) -> None:
    shown = open_trace(page, url, "?trun=small&node=c/Add")
    until(page, "window.__board.trace.marked === 1")
    assert trace(page)["selected"]["node"] == "c/Add"
    assert shown["chosen"]["step"] == 5


def test_the_step_cursor_chooses_the_trace_and_the_trace_sets_it(page: Any, url: str) -> None:
    assert open_trace(page, url, "?trun=run&step=4")["chosen"]["step"] == 3
    page.evaluate("location.hash = '#/trace?trun=run&step=9'")
    until(page, "window.__board.trace.chosen.step === 7 && window.__board.trace.drawn.sharp")
    page.get_by_role("button", name="Step before").click()
    until(page, "window.__board.trace.chosen.step === 3")
    until(page, "location.hash.includes('step=3')")


def test_an_area_has_the_totals_of_what_lies_in_it(page: Any, url: str) -> None:
    shown = open_trace(page, url, "?trun=run&step=3")
    lanes = [row for row in shown["rows"] if row["kind"] == "lane"]
    box = page.locator(".trace-canvas").bounding_box()
    top = box["y"] + lanes[0]["y"] + 4
    bottom = box["y"] + lanes[1]["y"] + 4
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 300, top)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, bottom, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    area = until(page, "window.__board.trace.area")
    assert area["lanes"] == [0, 1]
    page.get_by_role("tab", name="Area", selected=True).wait_for()
    page.locator(".trace-panel").get_by_text("By device").wait_for()
    reply = page.evaluate(
        """async (a) => (await fetch(`api/v1/trace/${a.trace}/totals?t0=${a.t0}&t1=${a.t1}`
          + `&lanes=${a.lanes}`)).json()""",
        area,
    )
    said = page.locator(".trace-panel").inner_text()
    assert f"{reply['totals']['slices']:,} slices" in said
    assert reply["totals"]["by_op"][0]["op"] in said


def test_keys_zoom_pan_fit_mark_and_walk_from_slice_to_slice(page: Any, url: str) -> None:
    whole = open_trace(page, url, "?trun=small")["view"]
    page.locator(".trace-canvas").focus()
    page.keyboard.press("w")
    until(page, f"window.__board.trace.view.t1 - window.__board.trace.view.t0 < {spread(whole)}")
    zoomed = trace(page)["view"]
    page.keyboard.press("d")
    until(page, f"window.__board.trace.view.t0 > {zoomed['t0']}")
    page.keyboard.press("f")
    until(page, f"Math.abs(window.__board.trace.view.t1 - {whole['t1']}) < 1")
    page.keyboard.press("ArrowDown")
    first = until(page, "window.__board.trace.selected")
    page.keyboard.press("ArrowRight")
    until(page, f"window.__board.trace.selected.slice === {first['slice'] + 1}")
    page.keyboard.press("ArrowDown")
    until(page, f"window.__board.trace.selected.lane > {first['lane']}")
    page.keyboard.press("c")
    until(page, "window.__board.trace.critical")
    page.keyboard.press("Escape")
    until(page, "window.__board.trace.selected === null")


def test_a_pattern_finds_slices_and_enter_goes_to_the_next(page: Any, url: str) -> None:
    open_trace(page, url, "?trun=run&step=3")
    page.keyboard.press("/")
    page.keyboard.type(r"^send_edge_\d_0$")
    until(page, "window.__board.trace.found?.total > 0")
    page.keyboard.press("Enter")
    until(page, "window.__board.trace.selected?.node === 'send_edge_0_0'")
    page.keyboard.press("Enter")
    until(page, "window.__board.trace.selected?.node === 'send_edge_1_0'")


def test_a_pattern_without_end_does_not_hang_the_page(page: Any, url: str) -> None:
    open_trace(page, url, "?trun=run&step=3")
    page.keyboard.press("/")
    page.keyboard.insert_text(r"(\w+\/?)+!$")
    until(page, "window.__board.trace.found?.wrong === 'time'", 5)
    assert page.evaluate("1 + 1") == 2


def test_steps_are_stacked_and_compared(page: Any, url: str) -> None:
    open_trace(page, url, "?trun=run&step=3&tcmp=7&tside=compare")
    until(page, "window.__board.trace.sections.length === 2")
    assert [s["title"] for s in trace(page)["sections"]] == ["step 3", "step 7"]
    page.locator(".trace-compare").first.wait_for()
    assert "whole step" in page.locator(".trace-compare").first.inner_text()


def test_groups_close_and_the_address_keeps_the_view(page: Any, url: str) -> None:
    before = open_trace(page, url, "?trun=run&step=3")
    page.get_by_role("button", name="worker 0 · CPU:0").click()
    until(page, f"window.__board.trace.rows.length === {len(before['rows']) - 4}")
    page.locator(".trace-canvas").focus()
    page.keyboard.press("w")
    page.keyboard.press("m")
    until(page, "location.hash.includes('tv=') && location.hash.includes('tclosed=')")
    was = trace(page)
    page.reload()
    until(page, "window.__board?.trace?.analysed && window.__board.trace.drawn.sharp")
    until(page, f"window.__board.trace.rows.length === {len(was['rows'])}")
    now = trace(page)
    assert abs(now["view"]["t0"] - was["view"]["t0"]) < 1
    assert abs(now["view"]["t1"] - was["view"]["t1"]) < 1


def test_the_export_is_a_trace_that_others_read(page: Any, url: str) -> None:
    shown = open_trace(page, url, "?trun=small")
    page.get_by_role("button", name="More").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Save as Chrome / Perfetto JSON").click()
    events = json.loads(Path(download.value.path()).read_text())["traceEvents"]
    drawn = sum(item["count"] for item in shown["items"])
    assert sum(e["ph"] == "X" for e in events) == drawn == 8


def test_names_from_a_log_are_shown_as_text(page: Any, board_server: Any, tmp_path: Path) -> None:
    hostile = '<img src=x onerror="window.hacked=1">\u202eevil'
    metadata = two_tasks()
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            node.node_name = hostile + node.node_name
            node.timeline_label = node.node_name + " = MatMul(x)"
    write_log(tmp_path / "run", {1: metadata.SerializeToString()})
    open_trace(page, board_server(tmp_path).url)
    page.locator(".trace-canvas").focus()
    page.keyboard.press("ArrowDown")
    page.locator(".trace-node").wait_for()
    assert "\\u202e" in page.locator(".trace-node").inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0

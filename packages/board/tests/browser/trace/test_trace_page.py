"""The Trace page: tracks, stalls, shared selections, keys, search."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from browser import metrics_view
from browser.page_requests import HeldRequests
from fixtures.traces import metadata_of, node_stats, planted_trace, two_tasks, write_log

from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto import event_pb2, graph_pb2

STEPS = (3, 7)
# The trace is drawn and summed up.
READY = "(t => t?.analysed && t.drawn.sharp && t.stalls !== null)(window.__board?.trace)"


@pytest.fixture(scope="module")
def planted() -> Any:
    return planted_trace(40_000)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory, planted: Any) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    other = planted_trace(40_000, seed=1)
    write_log(folder / "run", {3: planted.metadata, 7: other.metadata}, losses=10)
    graph = graph_pb2.GraphDef()
    for name, op, inputs in (
        ("a/MatMul", "MatMul", []),
        ("a/Relu", "Relu", ["a/MatMul"]),
        ("c/Add", "Add", ["a/Relu"]),
    ):
        graph.node.add(name=name, op=op, input=inputs)
    write_log(folder / "small", {5: two_tasks().SerializeToString()}, graph)
    return folder


@pytest.fixture
def url(board_server: Any, logdir: Path) -> str:
    return board_server(logdir).url


def until(page: Any, expression: str, seconds: float = 60) -> Any:
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
    until(page, READY)
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


def test_long_waits_are_folded_below_the_time_by_op(page: Any, url: str) -> None:
    open_trace(page, url, "?trun=run&step=3")
    panel = page.locator(".trace-panel")
    assert panel.locator("h3").first.inner_text() == "Time by op"
    fold = panel.locator("details", has_text="Long waits")
    assert fold.count() == 1 and fold.get_attribute("open") is None
    wait = fold.locator("li").first
    assert not wait.is_visible()
    fold.locator("summary").click()
    wait.wait_for()
    assert wait.locator(".trace-wait").inner_text() == "5.00 ms"


def test_every_slice_of_every_track_is_drawn_or_counted(page: Any, url: str, planted: Any) -> None:
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
        page.get_by_role("list", name="Tracks").get_by_text(name, exact=False).first.wait_for(
            state="attached"
        )


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
    until(page, "window.__board.trace.selected?.node === 'c/Add'")
    assert shown["chosen"]["step"] == 5


def test_the_step_cursor_chooses_the_trace_and_the_trace_sets_it(page: Any, url: str) -> None:
    assert open_trace(page, url, "?trun=run&step=4")["chosen"]["step"] == 3
    page.evaluate("location.hash = '#/trace?trun=run&step=9'")
    until(page, "window.__board.trace.chosen.step === 7 && window.__board.trace.drawn.sharp")
    page.get_by_role("button", name="Previous step").click()
    until(page, "window.__board.trace.chosen.step === 3")
    until(page, "location.hash.includes('step=3')")


def test_an_area_has_the_totals_of_what_lies_in_it(page: Any, url: str) -> None:
    shown = open_trace(page, url, "?trun=run&step=3")
    tracks = [row for row in shown["rows"] if row["kind"] == "track"]
    box = page.locator(".trace-canvas").bounding_box()
    top = box["y"] + tracks[0]["y"] + 4
    bottom = box["y"] + tracks[1]["y"] + 4
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
    text = page.locator(".trace-panel").inner_text()
    assert f"{reply['totals']['slices']:,} slices" in text
    assert reply["totals"]["by_op"][0]["op"] in text


def test_keys_zoom_pan_fit_mark_and_walk_from_slice_to_slice(page: Any, url: str) -> None:
    whole = open_trace(page, url, "?trun=small")["view"]
    page.locator(".trace-canvas").focus()
    page.keyboard.press("w")
    until(page, f"window.__board.trace.view.t1 - window.__board.trace.view.t0 < {spread(whole)}")
    zoomed = trace(page)["view"]
    page.keyboard.press("d")
    until(page, f"window.__board.trace.view.t0 > {zoomed['t0']}")
    panned = trace(page)["view"]
    page.keyboard.press("a")
    until(page, f"window.__board.trace.view.t0 < {panned['t0']}")
    page.keyboard.press("s")
    until(page, f"window.__board.trace.view.t1 - window.__board.trace.view.t0 > {spread(zoomed)}")
    page.keyboard.press("f")
    until(page, f"Math.abs(window.__board.trace.view.t1 - {whole['t1']}) < 1")
    page.keyboard.press("ArrowDown")
    first = until(page, "window.__board.trace.selected")
    page.keyboard.press("ArrowRight")
    until(page, f"window.__board.trace.selected.slice === {first['slice'] + 1}")
    page.keyboard.press("ArrowDown")
    until(page, f"window.__board.trace.selected.lane > {first['lane']}")
    now = trace(page)["selected"]
    page.keyboard.press("m")
    ends = f"t0: {now['start']}, t1: {now['start'] + now['dur']}"
    same = "(m, w) => m && m.t0 === w.t0 && m.t1 === w.t1"
    until(page, f"({same})(window.__board.trace.mark, {{{ends}}})")
    page.keyboard.press("m")
    until(page, "window.__board.trace.mark === null")
    page.keyboard.press("c")
    until(page, "window.__board.trace.critical")
    page.keyboard.press("Escape")
    until(page, "window.__board.trace.selected === null")


def test_m_marks_the_time_under_the_pointer_and_the_address_keeps_it(page: Any, url: str) -> None:
    shown = open_trace(page, url, "?trun=small")
    box = page.locator(".trace-canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] - 5)
    page.keyboard.press("m")
    mark = until(page, "window.__board.trace.mark")
    time_there = shown["view"]["t0"] + spread(shown["view"]) / 4
    assert mark["t0"] == mark["t1"]
    assert abs(mark["t0"] - time_there) < spread(shown["view"]) / 500
    until(page, f"location.hash.includes('tm={round(mark['t0'])}')")
    page.reload()
    until(page, f"window.__board?.trace?.mark?.t0 === {mark['t0']}")


def test_a_pattern_finds_slices_and_enter_goes_to_the_next(page: Any, url: str) -> None:
    open_trace(page, url, "?trun=run&step=3")
    page.keyboard.press("/")
    page.keyboard.type(r"^send_edge_\d_0$")
    until(page, r"window.__board.trace.found?.pattern.endsWith('_0$')")
    until(page, "window.__board.trace.found?.total > 0")
    page.keyboard.press("Enter")
    until(page, "window.__board.trace.selected?.node === 'send_edge_0_0'")
    page.keyboard.press("Enter")
    until(page, "window.__board.trace.selected?.node === 'send_edge_1_0'")


def test_steps_are_stacked_and_compared(page: Any, url: str) -> None:
    open_trace(page, url, "?trun=run&step=3&tcmp=7&tside=compare")
    until(page, "window.__board.trace.sections.length === 2")
    assert [s["title"] for s in trace(page)["sections"]] == ["step 3", "step 7"]
    page.locator(".trace-compare").first.wait_for()
    assert "whole step" in page.locator(".trace-compare").first.inner_text()


def test_two_traces_of_one_step_are_compared(page: Any, board_server: Any, tmp_path: Path) -> None:
    with EventFileWriter(tmp_path / "run") as writer:
        for tag in ("train", "eval"):
            event = event_pb2.Event(wall_time=2.0, step=4)
            event.tagged_run_metadata.tag = tag
            event.tagged_run_metadata.run_metadata = two_tasks().SerializeToString()
            writer.write(event)
    open_trace(page, board_server(tmp_path).url)
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("menuitemcheckbox").or_(page.get_by_role("menuitem")).first.click()
    until(page, "window.__board.trace.sections.length === 2")
    assert {s["title"] for s in trace(page)["sections"]} == {"step 4 train", "step 4 eval"}
    until(page, "location.hash.includes('tcmp=')")
    page.reload()
    until(page, "window.__board?.trace?.sections?.length === 2")
    page.locator(".trace-compare").first.wait_for()


def test_more_than_six_steps_are_not_stacked_and_the_toolbar_explains_it(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    write_log(tmp_path / "run", {step: two_tasks().SerializeToString() for step in range(8)})
    open_trace(page, board_server(tmp_path).url, "?step=0&tcmp=1,2,3,4,5,6")
    until(page, "window.__board.trace.sections.length === 6")
    assert "remove one to add one of 2 more" in page.locator(".trace-limit").inner_text()


def test_groups_close_and_the_address_keeps_the_view(page: Any, url: str) -> None:
    # Tracks are counted, not rows: curves of memory may arrive meanwhile.
    tracks = "window.__board.trace.rows.filter((row) => row.kind === 'track').length"
    open_trace(page, url, "?trun=run&step=3")
    before = page.evaluate(tracks)
    page.get_by_role("button", name="worker 0 · CPU:0").click()
    until(page, f"{tracks} === {before - 4}")
    page.locator(".trace-canvas").focus()
    page.keyboard.press("w")
    page.keyboard.press("m")
    until(page, "location.hash.includes('tv=') && location.hash.includes('tclosed=')")
    was = trace(page)
    page.reload()
    until(page, READY)
    until(page, f"{tracks} === {before - 4}")
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


def test_a_closed_group_of_many_lanes_shows_all_of_them(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    lanes = 300
    nodes = [node_stats(f"n{i}/MatMul", 10 * i, 4000, thread=i) for i in range(lanes)]
    write_log(tmp_path / "run", {1: metadata_of(w0_CPU_0=nodes).SerializeToString()})
    open_trace(page, board_server(tmp_path).url)
    page.locator(".trace-group").click()
    until(page, "window.__board.trace.rows.length === 1")
    until(page, f"new Set(window.__board.trace.items.map((i) => i.lane)).size === {lanes}")


def test_lanes_are_pinned_hidden_and_filtered_and_the_address_keeps_that(
    page: Any, url: str
) -> None:
    open_trace(page, url, "?trun=run&step=3")
    titles = (
        "window.__board.trace.rows.filter((r) => r.kind === 'track').map((r) => r.title).join()"
    )
    names = ",".join(f"worker-{i}" for i in range(4))
    until(page, f"{titles} === '{names},{names}'")
    second = page.locator(".trace-row", has_text="worker-2").nth(1)
    second.hover()
    second.get_by_role("button", name="Pin").click()
    pinned = "worker 1 · CPU:0 worker-2"
    until(page, f"{titles} === '{pinned},{names},worker-0,worker-1,worker-3'")
    first = page.locator(".trace-row.inside", has_text="worker-0").first
    first.hover()
    first.get_by_role("button", name="Hide").click()
    rest = "worker-1,worker-2,worker-3"
    until(page, f"{titles} === '{pinned},{rest},worker-0,worker-1,worker-3'")
    page.get_by_label("Show only tracks").fill("worker 1")
    until(page, f"{titles} === '{pinned},worker-0,worker-1,worker-3'")
    until(page, "/tpin=.*thide=.*tlanes=/.test(location.hash)")
    page.reload()
    until(
        page, f"window.__board?.trace?.rows && {titles} === '{pinned},worker-0,worker-1,worker-3'"
    )
    page.get_by_label("Show only tracks").fill("")
    page.get_by_role("button", name="Show 1 hidden").click()
    until(page, f"{titles} === '{pinned},{names},worker-0,worker-1,worker-3'")


def test_a_pinned_lane_stays_on_top_when_the_others_are_scrolled(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    nodes = [node_stats(f"n{i}/MatMul", 0, 4000, thread=i) for i in range(80)]
    write_log(tmp_path / "run", {1: metadata_of(w0_CPU_0=nodes).SerializeToString()})
    open_trace(page, board_server(tmp_path).url)
    row = page.locator(".trace-row.inside").nth(5)
    row.hover()
    row.get_by_role("button", name="Pin").click()
    until(page, "window.__board.trace.rows[0].pinned")
    lane = trace(page)["rows"][0]["lanes"][0]
    page.evaluate("document.querySelector('.trace-scroll').scrollTop = 600")
    box = page.locator(".trace-canvas").bounding_box()
    until(page, "document.querySelector('.trace-scroll').scrollTop === 600")
    item = until(page, f"window.__board.trace.items.find((i) => i.lane === {lane})")
    assert item["y"] == box["y"]
    page.mouse.click(item["x"] + item["width"] / 2, item["y"] + item["height"] / 2)
    until(page, f"window.__board.trace.selected?.lane === {lane}")


def test_a_double_click_on_merged_slices_shows_them_apart(page: Any, url: str) -> None:
    shown = open_trace(page, url, "?trun=run&step=3")
    item = max(shown["items"], key=lambda i: i["count"])
    assert item["count"] > 1
    page.mouse.dblclick(item["x"] + item["width"] / 2, item["y"] + item["height"] / 2)
    until(
        page,
        f"window.__board.trace.view.t1 - window.__board.trace.view.t0"
        f" < {spread(shown['view']) / 50}",
    )


def test_of_two_slices_that_are_chosen_the_last_stays_selected(page: Any, url: str) -> None:
    shown = open_trace(page, url, "?trun=small")
    first, last = (
        next(i for i in shown["items"] if i["name"] == name) for name in ("a/MatMul", "b/Conv2D")
    )
    held = HeldRequests(page, f"**/api/v1/trace/*/slice?slice={first['slice']}")
    for item in (first, last):
        page.mouse.click(item["x"] + item["width"] / 2, item["y"] + item["height"] / 2)
    until(page, "window.__board.trace.selected?.node === 'b/Conv2D'")
    held.release()
    assert trace(page)["selected"]["node"] == "b/Conv2D"


def test_what_is_outlined_under_the_pointer_is_the_same_slice_after_a_zoom(
    page: Any, url: str
) -> None:
    shown = open_trace(page, url, "?trun=small")
    item = next(i for i in shown["items"] if i["name"] == "b/Conv2D")
    page.mouse.move(item["x"] + item["width"] / 2, item["y"] + item["height"] / 2)
    until(page, f"window.__board.trace.hovered?.slice === {item['slice']}")
    for _ in range(4):
        page.mouse.wheel(0, -240)
    view = "(t => t.view.t1 - t.view.t0)(window.__board.trace)"
    until(page, f"{view} < {spread(shown['view']) / 3} && window.__board.trace.drawn.sharp")
    assert trace(page)["hovered"]["slice"] == item["slice"]
    assert trace(page)["hovered"]["name"] == "b/Conv2D"


def test_shift_and_arrows_select_an_area_that_the_address_keeps(page: Any, url: str) -> None:
    shown = open_trace(page, url, "?trun=small")
    starts = {i["name"]: i for i in shown["items"]}
    first = starts["a/MatMul"]
    page.mouse.click(first["x"] + first["width"] / 2, first["y"] + first["height"] / 2)
    until(page, "window.__board.trace.selected?.node === 'a/MatMul'")
    page.locator(".trace-canvas").focus()
    page.keyboard.press("Shift+ArrowRight")
    until(page, "window.__board.trace.area?.t1 === 1100")
    page.keyboard.press("Shift+ArrowRight")
    until(page, "window.__board.trace.area?.t1 === 1500")
    page.keyboard.press("Shift+ArrowDown")
    area = until(page, "window.__board.trace.area?.lanes.length === 2 && window.__board.trace.area")
    assert (area["t0"], area["t1"], area["lanes"]) == (0, 1500, [0, 1])
    until(page, "/tar=0\\.0~1500\\.0(,|%2C)1/.test(location.hash) && /tsl=/.test(location.hash)")
    page.reload()
    until(page, "window.__board?.trace?.area?.t1 === 1500 && window.__board.trace.selected")
    assert trace(page)["selected"]["node"] == "a/MatMul"
    assert trace(page)["area"]["lanes"] == [0, 1]


@pytest.mark.parametrize("view", ["", "&tv=-200000~400000"])
def test_every_slice_is_painted_where_it_is_found(page: Any, url: str, view: str) -> None:
    """Wide ones with their names, and those of a pixel."""
    shown = open_trace(page, url, f"?trun=small&tarr=0{view}")
    assert max(i["width"] for i in shown["items"]) < 40 or not view
    places = [[i["x"] + min(1, i["width"] / 2), i["y"] + 5] for i in shown["items"]]
    painted = page.evaluate(
        """(places) => {
          const canvas = document.querySelector('.trace-canvas');
          const box = canvas.getBoundingClientRect();
          const on = canvas.getContext('2d');
          const at = (x, y) => on.getImageData(x - box.left, y - box.top, 1, 1).data.join();
          const beside = at(box.left + 2, places[0][1]);
          return [beside, ...places.map(([x, y]) => at(Math.floor(x), Math.floor(y)))];
        }""",
        places,
    )
    assert len(painted) == 1 + len(shown["items"]) > 4
    assert painted[0] not in painted[1:]


def test_a_step_that_is_short_in_a_long_window_is_requested_once(page: Any, url: str) -> None:
    requests: list[str] = []
    page.on(
        "request", lambda request: requests.append(request.url) if "?t0=" in request.url else None
    )
    open_trace(page, url, "?trun=small&tv=-200000~400000")
    assert metrics_view.until(lambda: requests, page=page)
    page.wait_for_timeout(700)  # 5 times the rest after which the page fetches what lies around
    assert 1 <= len(requests) <= 4, requests

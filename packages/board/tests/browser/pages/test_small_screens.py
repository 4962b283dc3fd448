"""Every page on a telephone's screen, and toolbars in one line on a laptop's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from browser.axe_rules import serious_violations
from browser.lasting_page import SIZE as WIDE
from browser.metrics_view import settled, until
from browser.pages.test_access import READY, open_page
from fixtures import corrupted_logs, graphs, media_logs, traces
from fixtures.embeddings import write_pytorch_projector

from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event

SMALL = {"width": 390, "height": 844}
LAPTOP = {"width": 1366, "height": 768}

# Texts and controls that another element covers where a finger would touch them.
_COVERED = """
() => [...document.querySelectorAll('#board :is(button, input, select, a, h1, h2, h3)')]
.filter((e) => {
  const r = e.getBoundingClientRect();
  const [x, y] = [r.left + r.width / 2, r.top + r.height / 2];
  if (r.width < 2 || x < 0 || y < 0 || x > innerWidth || y > innerHeight) return false;
  if (e.closest('.hidden-for-the-eye, .skip')) return false;
  for (let up = e.parentElement; up; up = up.parentElement) {
    const s = getComputedStyle(up);
    const b = up.getBoundingClientRect();
    if (s.visibility === 'hidden' || s.opacity === '0') return false;
    const outside = x < b.left || x > b.right || y < b.top || y > b.bottom;
    if (s.overflow !== 'visible' && outside) return false;
  }
  const top = document.elementFromPoint(x, y);
  return top && top !== e && !e.contains(top) && !top.contains(e);
}).map((e) => `${e.tagName} ${e.ariaLabel ?? e.textContent.slice(0, 30)}`)
"""
# What is not in the window and cannot be scrolled into it.
CUT = """
() => [...document.querySelectorAll('#board :is(button, input, select, a, h1, h2, h3, p)')]
.filter((e) => {
  const r = e.getBoundingClientRect();
  if (r.width < 2 || r.right <= innerWidth + 1 || e.closest('.hidden-for-the-eye')) return false;
  for (let up = e.parentElement; up; up = up.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(up).overflowX)) return false;
  }
  return true;
}).map((e) => `${e.tagName} ${e.ariaLabel ?? e.textContent.slice(0, 30)}`)
"""


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    media_logs.write_demo(folder / "demo")
    with EventFileWriter(folder / "graph") as writer:
        writer.write(Event(wall_time=1.0, graph_def=graphs.small().SerializeToString()))
    traces.write_log(folder / "trace", {3: traces.two_tasks().SerializeToString()}, losses=5)
    media_logs.write_sweep(folder / "sweep", 4)
    write_pytorch_projector(folder / "points", rows=60, dims=4)
    return folder


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long_names")
    for i in range(2):
        run = folder / "experiments" / f"2026-11-28_resnet50_cosine_schedule_batch_1024_seed_{i}"
        trace = traces.two_tasks().SerializeToString()
        traces.write_log(run, {3: trace, 7: trace}, graphs.small(), losses=5)
        with EventFileWriter(run) as writer:
            event = Event(wall_time=1.0, step=1)
            event.summary.value.add(tag="validation/top_5_accuracy_of_" + "class_" * 12)
            event.summary.value[0].simple_value = 0.5
            writer.write(event)
    return folder


@pytest.fixture
def small(page: Any) -> Iterator[Any]:
    page.set_viewport_size(SMALL)
    yield page
    page.set_viewport_size(WIDE)


@pytest.mark.parametrize("name", [name for name in READY if name != "problems"])
def test_a_page_fits_a_small_screen(
    small: Any, board_server: Callable[..., Any], logdir: Path, name: str
) -> None:
    open_page(small, board_server(logdir).url, name)
    until(lambda: small.evaluate(_COVERED) == [], 3)  # menus and pictures come to rest
    widths = "[document.documentElement.scrollWidth, innerWidth]"
    until(lambda: small.evaluate(widths) == [SMALL["width"]] * 2, 3)  # so does the resized page
    assert small.evaluate(widths) == [SMALL["width"]] * 2
    assert small.evaluate("document.body.scrollWidth") == SMALL["width"]
    assert small.evaluate(CUT) == []
    assert small.evaluate(_COVERED) == []


@pytest.mark.parametrize("width", [800, 1024])
@pytest.mark.parametrize("name", [name for name in READY if name != "problems"])
def test_nothing_is_cut_off_in_half_a_window(
    page: Any, board_server: Callable[..., Any], logdir: Path, name: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 768})
    try:
        open_page(page, board_server(logdir).url, name)
        until(lambda: page.evaluate(CUT) == [], 3)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(CUT) == []
    finally:
        page.set_viewport_size(WIDE)


@pytest.mark.parametrize("name", READY)
def test_a_page_without_data_fits_a_small_screen(
    small: Any, board_server: Callable[..., Any], tmp_path: Path, name: str
) -> None:
    small.goto(f"{board_server(tmp_path).url}#/{name}")
    small.locator("#page :is(h2, p)").first.wait_for()
    assert until(lambda: small.evaluate("document.documentElement.scrollWidth") == SMALL["width"])
    assert small.evaluate(CUT) == [] and small.evaluate(_COVERED) == []


@pytest.mark.parametrize("name", ["metrics", "graph", "trace"])
def test_a_page_of_long_names_fits_a_small_screen(
    small: Any, board_server: Callable[..., Any], long_names: Path, name: str
) -> None:
    open_page(small, board_server(long_names).url, name)
    assert until(lambda: small.evaluate("document.documentElement.scrollWidth") == SMALL["width"])
    assert small.evaluate(CUT) == []
    assert until(lambda: small.evaluate(_COVERED) == [], 3), small.evaluate(_COVERED)


@pytest.mark.parametrize("path, heading", [("", "its token"), ("nothing?t=sesame", "no such page")])
def test_an_error_page_fits_a_small_screen(
    small: Any, board_server: Callable[..., Any], tmp_path: Path, path: str, heading: str
) -> None:
    url = board_server(tmp_path, "--token", "sesame").url.split("?")[0]
    small.goto(url + path)
    assert heading in small.locator("h1").inner_text()
    assert small.evaluate("document.documentElement.scrollWidth") == SMALL["width"]


def test_the_problems_page_fits_a_small_screen(
    small: Any, board_server: Callable[..., Any], logdir: Path
) -> None:
    small.goto(board_server(logdir).url + "#/problems")
    small.locator("#page :is(.problems-list, .all-well)").wait_for()
    assert small.evaluate("document.documentElement.scrollWidth") == SMALL["width"]
    assert small.evaluate(CUT) == []


def test_problems_are_paragraphs_on_a_small_screen(
    small: Any, board_server: Callable[..., Any], tmp_path: Path
) -> None:
    records = corrupted_logs.records_of_900()
    corrupted_logs.write_records(tmp_path / "run", corrupted_logs.flip_payload_byte(records))
    open_page(small, board_server(tmp_path).url, "problems")
    assert small.evaluate("document.documentElement.scrollWidth") == SMALL["width"]
    page = small.locator(".problems-page")
    assert page.evaluate("(e) => e.scrollWidth <= e.clientWidth"), "nothing lies beside the window"
    assert small.evaluate(CUT) == [] and small.evaluate(_COVERED) == []
    what = small.locator(".problems-list tbody th").first.bounding_box()
    assert what and what["width"] > 300, "the text has the width of the window"
    number = small.locator(".problems-list tbody td.number:not(:empty)").first.bounding_box()
    assert number and number["y"] >= what["y"] + what["height"], "numbers stand below it"


def test_hyperparameters_are_below_each_other_on_a_small_screen(
    small: Any, board_server: Callable[..., Any], logdir: Path
) -> None:
    open_page(small, board_server(logdir).url, "hparams")
    names = (".hparams-picture", ".importance", ".session-list")
    boxes = [small.locator(name).bounding_box() for name in names]
    for name, box in zip(names, boxes, strict=True):
        assert box and box["width"] > 350, f"{name} has the width of the window"
    for above, below in pairwise(boxes):
        assert above and below and above["y"] + above["height"] <= below["y"]
    last = small.locator(".session-list tbody tr").last
    small.mouse.move(SMALL["width"] / 2, boxes[1]["y"] + 20)
    small.mouse.wheel(0, 5000)
    room = small.locator("#page").bounding_box()
    assert until(lambda: last.bounding_box()["y"] < room["y"] + room["height"]), "it scrolls"


def test_runs_and_details_are_drawers_on_a_small_screen(
    small: Any, board_server: Callable[..., Any], logdir: Path
) -> None:
    open_page(small, board_server(logdir).url, "metrics")
    runs = small.get_by_role("dialog", name="Runs")
    assert runs.count() == 0 and small.get_by_role("tree", name="Runs").count() == 0
    small.get_by_role("button", name="Runs", exact=True).click()
    runs.wait_for()
    assert serious_violations(small) == []
    runs.get_by_role("treeitem", name="trace").get_by_role("checkbox").first.click()
    small.keyboard.press("Escape")
    assert until(lambda: runs.count() == 0)
    assert until(lambda: "runs=not" in small.evaluate("location.hash"))
    card = small.get_by_role("article").first
    card.get_by_role("button", name="Menu of the card").click()
    small.get_by_role("menuitem", name="Details").click()
    details = small.get_by_role("dialog", name="Details")
    details.wait_for()
    small.mouse.click(20, 500)  # beside it
    assert until(lambda: details.count() == 0)


@pytest.mark.parametrize(
    "name, role, tool",
    [
        ("metrics", "slider", "Smoothing"),
        ("graph", "combobox", "Colour"),
        ("trace", "combobox", "Colour"),
        ("hparams", "combobox", "Value of a metric"),
    ],
)
def test_tools_are_a_sheet_on_a_small_screen(
    small: Any, board_server: Callable[..., Any], logdir: Path, name: str, role: Any, tool: str
) -> None:
    open_page(small, board_server(logdir).url, name)
    assert small.get_by_role(role, name=tool).count() == 0
    small.get_by_role("button", name="Tools", exact=True).click()
    sheet = small.get_by_role("dialog", name="Tools of")
    sheet.wait_for()
    assert serious_violations(small) == []
    assert sheet.get_by_role(role, name=tool).is_visible()
    box = sheet.bounding_box()
    assert box and box["x"] == 0 and box["width"] == SMALL["width"]
    assert round(box["y"] + box["height"]) == SMALL["height"]
    sheet.get_by_role("button", name="Close").click()
    assert until(lambda: sheet.count() == 0)


def test_the_details_of_a_graph_are_a_drawer_on_a_small_screen(
    small: Any, board_server: Callable[..., Any], logdir: Path
) -> None:
    open_page(small, board_server(logdir).url, "graph")
    inspector = small.get_by_role("complementary", name="Inspector")
    assert inspector.count() == 0
    small.get_by_role("button", name="Details").click()
    inspector.wait_for()
    small.keyboard.press("Escape")
    assert until(lambda: inspector.count() == 0)


@pytest.mark.parametrize("name", ["metrics", "graph", "trace", "hparams"])
def test_a_toolbar_is_one_line_on_a_laptop(
    page: Any, board_server: Callable[..., Any], logdir: Path, name: str
) -> None:
    page.set_viewport_size(LAPTOP)
    try:
        open_page(page, board_server(logdir).url, name)
        bar = page.locator("#page [role=toolbar]").first
        assert bar.bounding_box()["height"] <= 46
    finally:
        page.set_viewport_size(WIDE)


@pytest.mark.parametrize("name", ["metrics", "graph", "trace"])
def test_long_names_leave_a_toolbar_in_one_line(
    page: Any, board_server: Callable[..., Any], long_names: Path, name: str
) -> None:
    page.set_viewport_size(LAPTOP)
    try:
        open_page(page, board_server(long_names).url, name)
        bar = page.locator("#page [role=toolbar]").first
        if name == "graph":
            bar.get_by_text("Compare with").wait_for()
        assert bar.bounding_box()["height"] <= 46
        assert page.evaluate(CUT) == []
    finally:
        page.set_viewport_size(WIDE)


def test_the_details_beside_the_hparams_cover_none_of_their_tools(
    page: Any, board_server: Callable[..., Any], logdir: Path
) -> None:
    page.set_viewport_size(LAPTOP)
    try:
        open_page(page, board_server(logdir).url, "hparams")
        page.get_by_role("tree", name="Runs").focus()
        page.keyboard.press("End")
        page.keyboard.press("i")
        details = page.get_by_role("complementary", name="Details")
        details.wait_for()
        left = details.bounding_box()["x"]
        tools = page.locator("#page [role=toolbar] :is(button, select)")
        assert tools.count() > 3
        for box in [tool.bounding_box() for tool in tools.all()]:
            assert box["x"] + box["width"] <= left
    finally:
        page.set_viewport_size(WIDE)


def test_a_wide_window_has_its_panels_again(
    small: Any, board_server: Callable[..., Any], logdir: Path
) -> None:
    open_page(small, board_server(logdir).url, "metrics")
    assert small.get_by_role("tree", name="Runs").count() == 0
    small.set_viewport_size(WIDE)
    small.get_by_role("tree", name="Runs").wait_for()
    assert small.get_by_label("Smoothing", exact=True).is_visible()
    settled(small)

"""Selections are shared between pages: steps between cards, slices and nodes of the graph."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.metrics_view import address, settled, wait_for_address
from browser.page_requests import wait_for_rest
from fixtures import traces
from PIL import Image

from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.proto.graph_pb2 import GraphDef

SPIKE = 60
STEPS = range(0, 101, 10)
HISTOGRAM = "document.querySelector('.histogram-card canvas').toDataURL()"


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A loss with a spike at step 60; a picture, a histogram and a trace every ten steps."""
    folder = tmp_path_factory.mktemp("runs")
    graph = GraphDef()
    for name in ("a/MatMul", "a/Relu", "b/Conv2D", "c/Add"):
        graph.node.add(name=name, op=name.split("/")[1])
    traces.write_log(
        folder / "run",
        {step: traces.two_tasks().SerializeToString() for step in STEPS},
        graph=graph,
    )
    with EventFileWriter(folder / "run", suffix=".v2") as writer:
        for step in range(101):
            event = Event(wall_time=10.0 + step, step=step)
            loss = 9.0 if step == SPIKE else 1.0 / (1 + step)
            event.summary.value.add(tag="loss", simple_value=loss)
            if step in STEPS:
                png = io.BytesIO()
                Image.fromarray(np.full((4, 4), step, np.uint8)).save(png, "PNG")
                image = event.summary.value.add(tag="picture").image
                image.height = image.width = 4
                image.colorspace, image.encoded_image_string = 1, png.getvalue()
                histogram = event.summary.value.add(tag="weights").histo
                histogram.min, histogram.max, histogram.num = 0.0, 2.0, 2
                histogram.bucket_limit.extend([1.0, 2.0])
                histogram.bucket.extend([1.0, 1.0])
            writer.write(event)
    return folder


def test_a_click_on_a_spike_moves_pictures_histograms_and_traces_to_its_step(
    page: Any, board_server: Callable[..., Any], logdir: Path
) -> None:
    page.goto(board_server(logdir).url + "#/metrics")
    page.wait_for_function("() => window.__board?.metrics?.idle && __board.images?.length > 0")
    settled(page)
    chart = page.evaluate("__board.metrics.charts.find((c) => c.curves[0].tag === 'loss')")
    plot, (lo, hi) = chart["plot"], chart["view"]["x"]
    page.wait_for_function("() => __board.histograms[0].facets[0]?.layers[0]?.steps.length === 11")
    wait_for_rest(page, HISTOGRAM)
    plain = page.evaluate(HISTOGRAM)
    canvas = page.locator("[aria-roledescription=chart]").first.bounding_box()
    x = canvas["x"] + plot["left"] + plot["width"] * (SPIKE - lo) / (hi - lo)
    page.mouse.move(x, canvas["y"] + plot["top"] + 4)
    page.mouse.click(x, canvas["y"] + plot["top"] + 4)
    page.wait_for_function(f"() => __board.images[0].step === {SPIKE}")
    # The ridge of the step stands out, which is all that a histogram card changes by it.
    page.wait_for_function(f"(before) => {HISTOGRAM} !== before", arg=plain)
    wait_for_address(page)
    assert "step=60" in address(page)
    page.get_by_role("link", name="Trace").click()
    page.wait_for_function(f"() => window.__board?.trace?.chosen?.step === {SPIKE}")


def open_pages(page: Any, url: str, address: str) -> None:
    page.goto(url + address)
    page.wait_for_function("() => window.__board?.trace?.drawn?.sharp")


def click_slice(page: Any, name: str) -> None:
    item = page.evaluate(f"__board.trace.items.find((item) => item.name === '{name}')")
    page.mouse.click(item["x"] + item["width"] / 2, item["y"] + item["height"] / 2)
    page.wait_for_function(f"() => __board.trace.selected?.node === '{name}'")


SELECTED = """() => {
  const graph = window.__board?.graph;
  return graph?.ready && graph.items.find((item) => item.id === graph.selected)?.name;
}"""


def selected_in_graph(page: Any, name: str) -> None:
    page.wait_for_function(f"() => ({SELECTED})() === '{name}'")


def click_node(page: Any, name: str) -> None:
    """Clicks a node of the graph in the middle of its box."""
    find = f"__board.graph.items.find((item) => item.name === '{name}')"
    page.wait_for_function(f"() => window.__board?.graph?.ready && {find}")
    page.wait_for_function("() => !__board.graphTimes.moving")
    x, y, w, h = page.evaluate(find)["rect"]
    page.mouse.click(x + w / 2, y + h / 2)
    selected_in_graph(page, name)


def test_a_click_on_a_slice_selects_its_node_on_the_graph_page(
    page: Any, board_server: Callable[..., Any], logdir: Path
) -> None:
    open_pages(page, board_server(logdir).url, "#/trace")
    click_slice(page, "b/Conv2D")
    page.get_by_role("link", name="Graph").click()
    selected_in_graph(page, "b/Conv2D")


def test_a_click_on_a_node_shows_its_slices_of_all_steps(
    page: Any, board_server: Callable[..., Any], logdir: Path
) -> None:
    page.goto(board_server(logdir).url + "#/graph")
    click_node(page, "b")
    page.get_by_role("button", name="slices on the Trace page").click()
    page.wait_for_function("() => window.__board?.trace?.markedOf?.node === 'b'")
    # All that lies below the scope, as the trace has it: recv, Conv2D, send.
    assert page.evaluate("__board.trace.marked") == 3
    page.get_by_role("tab", name="Slice", selected=True).wait_for()
    panel = page.locator(".trace-panel")
    panel.get_by_text("3 slices of b").wait_for()
    panel.get_by_text("In all traced steps").wait_for()
    steps = panel.locator(".trace-link").all_inner_texts()
    assert steps == [f"step {step}" for step in STEPS]


def test_a_node_that_did_not_run_has_no_slice(
    page: Any, board_server: Callable[..., Any], logdir: Path
) -> None:
    open_pages(page, board_server(logdir).url, "#/trace?node=d/Never")
    page.get_by_role("tab", name="Slice", selected=True).wait_for()
    page.locator(".trace-panel").get_by_text("This step has no slice of d/Never").wait_for()
    assert page.evaluate("__board.trace.marked") == 0


def test_a_series_of_the_graph_marks_the_slices_of_its_members(
    page: Any, board_server: Callable[..., Any], logdir: Path
) -> None:
    nodes = [traces.node_stats(f"net/layer_{i}/MatMul", 100 * i, 90) for i in range(6)]
    traces.write_log(
        logdir / "stacked", {4: traces.metadata_of(w0_CPU_0=nodes).SerializeToString()}
    )
    try:
        open_pages(
            page,
            board_server(logdir, alone=True).url,
            "#/trace?trun=stacked&node=net/layer_%5B1-2,4%5D",
        )
        page.wait_for_function("() => __board.trace.marked === 3")
        page.wait_for_function("() => __board.trace.selected?.node === 'net/layer_1/MatMul'")
    finally:
        for file in (logdir / "stacked").iterdir():
            file.unlink()
        (logdir / "stacked").rmdir()


def test_each_run_has_its_own_graph_and_its_own_slices(
    page: Any, board_server: Callable[..., Any], tmp_path: Path
) -> None:
    for run, ops in (("first", ("a/MatMul", "a/Relu")), ("second", ("b/Conv2D", "c/Add"))):
        graph = GraphDef()
        for name in ops:
            graph.node.add(name=name, op=name.split("/")[1])
        log = {5: traces.two_tasks().SerializeToString()}
        traces.write_log(tmp_path / run, log, graph=graph)
    open_pages(page, board_server(tmp_path).url, "#/trace?trun=second")
    click_slice(page, "c/Add")
    page.get_by_role("button", name="Show in graph").click()
    selected_in_graph(page, "c/Add")
    names = page.evaluate("__board.graph.items.map((item) => item.name)")
    assert "a/MatMul" not in names and "a" not in names
    page.get_by_role("button", name="slices on the Trace page").click()
    page.wait_for_function("() => window.__board?.trace?.selected?.node === 'c/Add'")
    page.get_by_role("tab", name="Slice", selected=True).wait_for()
    assert page.evaluate("__board.trace.chosen.run") == page.evaluate(
        "fetch('api/v1/runs').then((r) => r.json())"
        ".then((d) => d.runs.find((run) => run.name === 'second').id)"
    )

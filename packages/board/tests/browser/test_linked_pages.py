"""Pages select for one another (A23): a spike moves all cards, a slice is a node of the graph."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures import traces
from PIL import Image

from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.proto.graph_pb2 import GraphDef

SPIKE = 60
STEPS = range(0, 101, 10)


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
    page.wait_for_timeout(500)
    chart = page.evaluate("__board.metrics.charts.find((c) => c.curves[0].tag === 'loss')")
    plot, (lo, hi) = chart["plot"], chart["view"]["x"]
    canvas = page.locator("[aria-roledescription=chart]").first.bounding_box()
    x = canvas["x"] + plot["left"] + plot["width"] * (SPIKE - lo) / (hi - lo)
    page.mouse.move(x, canvas["y"] + plot["top"] + 4)
    page.mouse.click(x, canvas["y"] + plot["top"] + 4)
    page.wait_for_function(f"() => __board.images[0].step === {SPIKE}")
    assert "step=60" in page.evaluate("(new Promise(r => setTimeout(() => r(location.hash), 400)))")
    page.get_by_role("link", name="Trace").click()
    page.wait_for_function(f"() => window.__board?.trace?.chosen?.step === {SPIKE}")


def test_a_slice_selects_its_node_and_a_node_its_slices(
    page: Any, board_server: Callable[..., Any], logdir: Path
) -> None:
    page.goto(board_server(logdir).url + "#/trace?node=b/Conv2D")
    page.wait_for_function("() => window.__board?.trace?.marked > 0")
    page.get_by_role("link", name="Graph").click()
    page.wait_for_function("() => window.__board?.graph?.ready")
    page.wait_for_function(
        """() => {
          const { items, selected } = __board.graph;
          return items.find((item) => item.id === selected)?.name === 'b/Conv2D';
        }"""
    )
    page.get_by_role("link", name="Trace").click()
    page.wait_for_function("() => window.__board?.trace?.marked > 0")
    page.goto(page.url.split("#")[0] + "#/trace")
    page.reload()
    page.wait_for_function("() => window.__board?.trace?.items?.length > 0")
    assert page.evaluate("__board.trace.marked") == 0

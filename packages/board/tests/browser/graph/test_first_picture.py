"""What a reader sees first: never black, never blank, the dominant group open, damage aside."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from browser.metrics_view import wait_for_address
from browser.page_requests import wait_for_rest
from fixtures import graphs, known_networks
from fixtures.graphs_writer import GraphWriter
from graph_reader import GraphReader, write_graph

from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.summary_pb2 import Summary

PIXELS = """
() => {
  const canvas = document.querySelector('.graph-canvas')
  const shot = document.createElement('canvas')
  shot.width = canvas.width; shot.height = canvas.height
  const context = shot.getContext('2d')
  context.drawImage(canvas, 0, 0)
  const data = context.getImageData(0, 0, shot.width, shot.height).data
  const seen = new Set()
  for (let i = 0; i < data.length; i += 4 * 997) seen.add(data.slice(i, i + 3).join())
  return [...seen]
}
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("first_pictures")
    write_graph(root / "small", graphs.small())
    write_graph(root / "twins", graphs.twins())
    for name in ("slim_inception_v3", "torch_resnet50"):
        write_graph(root / name, GraphDef.FromString(known_networks.data_of(name)))
    value = Summary.Value(tag="keras")
    value.metadata.plugin_data.plugin_name = "graph_keras_model"
    value.tensor.dtype = 7
    value.tensor.string_val.append(known_networks.data_of("keras_inception_v3"))
    with EventFileWriter(root / "keras") as writer:
        writer.write(Event(wall_time=1.0, summary=Summary(value=[value])))
    return root


@pytest.fixture
def reader(page: Any, board_server: Any, logs: Path) -> GraphReader:
    return GraphReader(page, board_server(logs).url)


def in_view(reader: GraphReader, state: dict[str, Any]) -> int:
    """Returns how many items lie wholly within the canvas."""
    bounds = reader.page.locator(".graph-canvas").bounding_box()
    right, bottom = bounds["x"] + bounds["width"], bounds["y"] + bounds["height"]
    return sum(
        bounds["x"] <= x and bounds["y"] <= y and x + w <= right and y + h <= bottom
        for x, y, w, h in (item["rect"] for item in state["items"])
    )


@pytest.mark.parametrize(("scheme", "ground"), [("light", "255,255,255"), ("dark", None)])
def test_the_canvas_has_the_colour_of_the_page_before_the_first_picture(
    reader: GraphReader, scheme: str, ground: str | None
) -> None:
    reader.page.emulate_media(color_scheme=scheme)
    held: list[Any] = []
    reader.page.route(re.compile(r"/assets/layout.*\.js"), lambda route: held.append(route))
    reader.page.goto(f"{reader.url}#/graph?graph=small")
    reader.page.locator(".graph-canvas").wait_for()
    reader.page.wait_for_function("() => document.querySelector('.graph-canvas').width > 400")
    reader.page.wait_for_timeout(100)
    (colour,) = reader.page.evaluate(PIXELS)
    assert colour != "0,0,0" and colour == (ground or colour)
    # A theme that is chosen meanwhile shows at once.
    other = "dark" if scheme == "light" else "light"
    reader.page.emulate_media(color_scheme=other)
    reader.page.wait_for_timeout(200)
    assert reader.page.evaluate(PIXELS) not in ([colour], ["0,0,0"])
    for route in held:
        route.continue_()
    reader.page.unroute_all(behavior="wait")
    reader.settled(lambda s: s["graph"] == "small")
    reader.page.emulate_media(color_scheme="light")


def test_an_address_without_a_camera_shows_the_whole_view(reader: GraphReader) -> None:
    first = reader.open("twins")
    for name in ("original", "long", "renamed"):
        reader.toggle(name)
    reader.page.mouse.move(400, 400)
    for _ in range(6):
        reader.page.mouse.wheel(0, -400)
    moved = reader.settled(lambda s: s["camera"]["k"] > first["camera"]["k"])
    wait_for_address(reader.page)
    reader.page.evaluate("location.hash = '#/graph?graph=twins'")
    state = reader.settled(lambda s: s["camera"] != moved["camera"])
    assert in_view(reader, state) == len(state["items"]) == len(first["items"])
    # The same without another view: only the camera is left out.
    reader.page.mouse.move(400, 400)
    reader.page.mouse.wheel(0, -1200)
    moved = reader.settled(lambda s: s["camera"]["k"] > first["camera"]["k"])
    wait_for_address(reader.page)
    reader.page.evaluate("location.hash = '#/graph?graph=twins'")
    state = reader.settled(lambda s: s["camera"] != moved["camera"])
    assert in_view(reader, state) == len(state["items"])


def test_a_comparison_shows_the_graph(reader: GraphReader) -> None:
    first = reader.open("twins")
    for name in ("original", "long", "renamed"):
        reader.toggle(name)
    reader.page.mouse.move(400, 400)
    for _ in range(6):
        reader.page.mouse.wheel(0, -400)
    reader.settled(lambda s: s["camera"]["k"] > first["camera"]["k"])
    wait_for_address(reader.page)
    reader.page.evaluate("location.hash = '#/graph?graph=twins'")
    reader.settled(lambda s: s["items"] and all(i["kind"] != "open" for i in s["items"]))
    box = reader.page.get_by_role("combobox", name="Compare with")
    value = box.locator("option").evaluate_all(
        "options => options.find(o => o.textContent.startsWith('small')).value"
    )
    box.select_option(value)
    state = reader.settled(lambda s: s["colour"] == "diff")
    assert in_view(reader, state) > len(state["items"]) / 2
    assert len(reader.page.evaluate(PIXELS)) > 3


def test_enter_in_the_search_goes_to_the_op_of_that_name(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    g = GraphWriter()
    x = g.op("Placeholder", (), [4], "x")
    with g.scope("gradients"), g.scope("layer_2"), g.scope("MatMul_grad"):
        for number in range(3):
            x = g.op("Mul", [x, x], [4], f"Mul_{number}")
    with g.scope("layer_2"):
        g.op("MatMul", [x, x], [4], "MatMul")
    write_graph(tmp_path / "names", g.graph_def)
    reader = GraphReader(page, board_server(tmp_path).url)
    reader.open("names")
    box = page.get_by_role("searchbox")
    box.fill("layer_2/MatMul")
    page.locator(".g-search-found").wait_for()
    box.press("Enter")
    state = reader.settled(lambda s: s["selected"] is not None)
    (chosen,) = [item for item in state["items"] if item["id"] == state["selected"]]
    assert chosen["name"] == "layer_2/MatMul"


def test_the_dominant_group_is_open_and_can_be_closed_for_good(reader: GraphReader) -> None:
    state = reader.open("slim_inception_v3")
    opened = {item["name"] for item in state["items"] if item["kind"] == "open"}
    assert opened == {"InceptionV3", "InceptionV3/InceptionV3"}
    assert {"Mixed_5[b-d]", "Mixed_6[b-e]", "Mixed_7[b-c]"} <= {i["label"] for i in state["items"]}
    wait_for_address(reader.page)
    assert "gview" not in reader.page.evaluate("location.hash")
    reader.page.get_by_role("button", name="Collapse all").click()
    state = reader.settled(lambda s: all(i["kind"] != "open" for i in s["items"]))
    wait_for_address(reader.page)
    reader.page.reload()
    state = reader.settled()
    assert all(item["kind"] != "open" for item in state["items"])


def test_short_stacks_in_the_dominant_group_are_open(reader: GraphReader) -> None:
    state = reader.open("torch_resnet50")
    labels = [item["label"] for item in state["items"]]
    assert [label for label in labels if label.startswith("Bottleneck[1")] == [
        f"Bottleneck[1-{last}]" for last in (2, 3, 5, 2)
    ]


def test_the_graph_page_of_a_keras_log_shows_the_layers_and_finds_modules_again(
    reader: GraphReader,
) -> None:
    reader.page.goto(f"{reader.url}#/graph")
    state = reader.settled(lambda s: s["graph"] == "keras (Keras model)")
    labels = {item["label"] for item in state["items"]}
    assert {"mixed[0-2]", "mixed3", "mixed[4-7]", "mixed8", "mixed[9-10]"} <= labels
    reader.toggle("mixed3 (module)")
    reader.select("mixed3 (module)")
    wait_for_address(reader.page)
    selected = reader.settled()["selected"]
    reader.page.reload()
    state = reader.settled(lambda s: s["selected"] == selected)
    (module,) = [item for item in state["items"] if item["id"] == selected]
    assert module["name"] == "mixed3 (module)" and module["kind"] == "open"
    assert "mixed3" in reader.names(state)  # the layer within has its own name
    box = reader.page.get_by_role("searchbox")
    box.fill("mixed3")
    reader.page.locator(".g-search-found").wait_for()
    box.press("Enter")
    state = reader.settled(lambda s: s["selected"] != selected)
    (layer,) = [item for item in state["items"] if item["id"] == state["selected"]]
    assert (layer["name"], layer["kind"]) == ("mixed3", "op")


def test_legend_and_card_count_each_convolution_once(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    """Keras wraps each of the 94 convolutions in a scope of the same structure."""
    write_graph(
        tmp_path / "ops", GraphDef.FromString(known_networks.data_of("keras_inception_v3_ops"))
    )
    reader = GraphReader(page, board_server(tmp_path).url)
    reader.open("ops")
    box = page.get_by_role("searchbox")
    for name in ("inception_v3_1/conv2d_93_1/convolution", "inception_v3_1/conv2d_93_1"):
        box.fill(f"^{name}$")
        page.locator(".g-search-found").wait_for()
        box.press("Enter")
        state = reader.settled(lambda s: s["selected"] is not None)
        (chosen,) = [item for item in state["items"] if item["id"] == state["selected"]]
        assert chosen["name"] == name and chosen["kind"] != "op"
        card = page.locator(".graph-inspector")
        card.get_by_text("94 groups are exactly alike").wait_for()
        assert card.get_by_role("heading", name="Structure").inner_text() == "Structure 94"
    row = page.locator(".g-legend-row", has_text="convolution")
    assert row.all_inner_texts() == ["convolution\n×94"]


def test_what_pytorch_leaves_out_of_a_graph_is_a_note_on_it(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    write_graph(tmp_path / "net", GraphDef.FromString(known_networks.data_of("torch_resnet50")))
    reader = GraphReader(page, board_server(tmp_path).url)
    reader.open("net")
    notes = page.locator(".graph-inspector section", has_text="PyTorch's graph writer leaves out")
    notes.wait_for()
    assert notes.get_by_role("heading").inner_text() == "Notes"
    headings = page.locator(".graph-inspector").get_by_role("heading").all_inner_texts()
    assert "Problems" not in headings
    problems = page.evaluate("fetch('api/v1/problems').then((reply) => reply.json())")
    assert problems["problems"] == []


def test_a_damaged_first_graph_does_not_hide_the_others(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    with EventFileWriter(tmp_path / "a") as writer:
        writer.write(Event(wall_time=1.0, graph_def=b"\x0a\xff\xff"))
    write_graph(tmp_path / "b", graphs.small())
    reader = GraphReader(page, board_server(tmp_path).url)
    page.goto(f"{reader.url}#/graph")
    state = reader.settled(lambda s: s["graph"] == "b")
    assert in_view(reader, state) > 3
    alert = page.get_by_role("alert")
    assert re.search(r"^a could not be read: .*corrupted", alert.inner_text())


def test_the_graph_page_of_a_keras_log_without_a_model_says_how_to_get_one(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    with EventFileWriter(tmp_path / "train") as writer:
        value = Summary.Value(tag="epoch_loss", simple_value=1.0)
        writer.write(Event(wall_time=1.0, step=1, summary=Summary(value=[value])))
    page.goto(f"{board_server(tmp_path).url}#/graph")
    page.get_by_text("Keras wrote no model to these logs").wait_for()
    assert "tf.summary.graph(graph)" in page.locator(".graph-body").inner_text()


def test_the_toolbar_of_several_graphs_is_one_line_on_a_laptop(reader: GraphReader) -> None:
    before = reader.page.viewport_size
    reader.page.set_viewport_size({"width": 1366, "height": 768})
    try:
        reader.page.goto(f"{reader.url}#/graph?graph=slim_inception_v3")
        bar = reader.page.locator("#page [role=toolbar]").first
        bar.get_by_text("Compare with").wait_for()
        assert bar.bounding_box()["height"] <= 46
    finally:
        reader.page.set_viewport_size(before)


def test_a_model_of_keras_is_no_card(reader: GraphReader) -> None:
    reader.page.goto(f"{reader.url}#/metrics")
    reader.page.get_by_text("5 of 5 runs").wait_for()
    wait_for_rest(reader.page)
    assert reader.page.get_by_text("graph_keras_model").count() == 0

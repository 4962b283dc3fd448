"""Files on the Graph page: graphs that are opened, and drawings that are saved."""

from __future__ import annotations

import re
import struct
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from browser.page_requests import wait_for_rest
from fixtures import graphs
from graph_reader import GraphReader, write_graph


@pytest.fixture
def reader(page: Any, board_server: Any, tmp_path: Path) -> GraphReader:
    write_graph(tmp_path / "logs" / "small", graphs.small())
    return GraphReader(page, board_server(tmp_path / "logs").url)


def saved(reader: GraphReader, kind: str, folder: Path) -> Path:
    if not reader.page.locator(".g-popover-panel").count():
        reader.page.get_by_role("button", name="Export").click()
    with reader.page.expect_download() as download:
        reader.page.locator(".g-popover-panel").get_by_text(kind, exact=True).click()
    path = folder / kind
    download.value.save_as(path)
    return path


def test_an_uploaded_file_is_shown_and_opened_again_it_is_the_same(
    reader: GraphReader, tmp_path: Path
) -> None:
    reader.open("small")
    file = tmp_path / "frozen.pb"
    file.write_bytes(graphs.twins().SerializeToString())
    upload = reader.page.get_by_label("Graph file")
    upload.set_input_files(str(file))
    state = reader.settled(lambda s: "frozen" in s["graph"])
    assert "original" in reader.names(state)
    reader.toggle("original")
    choice = reader.page.get_by_role("combobox", name="Graph", exact=True)
    listed = choice.locator("option").count()
    with reader.page.expect_response(lambda reply: reply.request.method == "POST"):
        upload.set_input_files(str(file))
    wait_for_rest(reader.page)
    again = reader.settled(lambda s: "frozen" in s["graph"])
    assert (again["key"], choice.locator("option").count()) == (state["key"], listed)
    assert reader.item("original", again)["kind"] == "open"
    # Another file of that name is another graph.
    file.write_bytes(graphs.small().SerializeToString())
    upload.set_input_files(str(file))
    other = reader.settled(lambda s: s["key"] != state["key"] and "loop" in reader.names(s))
    assert "frozen" in other["graph"]
    assert choice.locator("option").count() == listed + 1

    bad = tmp_path / "bad.pb"
    bad.write_bytes(b"\xff" * 100)
    upload.set_input_files(str(bad))
    reader.page.get_by_role("alert").get_by_text("bad.pb").wait_for()
    assert reader.settled()["key"] == other["key"]


def test_the_svg_has_one_box_for_each_shown_vertex_with_its_name(
    reader: GraphReader, tmp_path: Path
) -> None:
    reader.open("small")
    state = reader.toggle("loop")
    picture = ElementTree.parse(saved(reader, "SVG", tmp_path)).getroot()
    words = [e.text for e in picture.iter() if e.tag.endswith("text")]
    for item in state["items"]:
        assert item["label"] in words, item["name"]
    # The box of an item: where it is, as wide as it is, filled with its colour.
    start = re.compile(r"M(\S+) (\S+?)h(\S+?)a(\S+)")
    boxes = []
    for e in picture.iter():
        found = start.match(e.get("d", "")) if e.tag.endswith("path") else None
        if found and e.get("fill") != "none":
            x, y, w, r = map(float, found.groups())
            boxes.append((x - r, y, w + 2 * r, e.get("fill")))
    closed = [i for i in state["items"] if i["kind"] != "open" and not i["notch"]]
    assert len(closed) > 10
    for item in closed:
        x, y, w, _ = item["box"]
        widths = (w, w - 8) if item["kind"] == "series" else (w,)  # without the sheets behind
        same = [
            fill
            for bx, by, bw, fill in boxes
            if max(abs(bx - x), abs(by - y), min(abs(bw - one) for one in widths)) < 0.1
        ]
        assert same == [item["fill"]], item["name"]


def test_the_png_is_of_the_size_of_the_picture(reader: GraphReader, tmp_path: Path) -> None:
    reader.open("small")
    svg = ElementTree.parse(saved(reader, "SVG", tmp_path)).getroot()
    data = saved(reader, "PNG", tmp_path).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert abs(width - 2 * float(svg.get("width", "0"))) < 2
    assert abs(height - 2 * float(svg.get("height", "0"))) < 2


def test_the_dot_file_has_the_boxes_and_edges_of_the_picture(
    reader: GraphReader, tmp_path: Path
) -> None:
    reader.open("small")
    reader.toggle("loop")
    reader.page.get_by_role("button", name="Hide ops").click()
    reader.page.get_by_role("checkbox", name="Placeholder").check()
    state = reader.settled(lambda s: "labels" not in reader.names(s))
    reader.page.keyboard.press("Escape")
    text = saved(reader, "DOT", tmp_path).read_text()
    nodes = dict(re.findall(r"^ *(n\d+) \[label=\"([^\"\\]*)", text, re.MULTILINE))
    closed = [i for i in state["items"] if i["kind"] != "open"]
    assert sorted(nodes.values()) == sorted(i["label"] for i in closed)
    assert re.findall(r"subgraph cluster_\d+ {\s*label=\"([^\"]*)", text) == ["loop"]
    edges = {
        (nodes[a], nodes[b]) for a, b in re.findall(r"^ *(n\d+) -> (n\d+)", text, re.MULTILINE)
    }
    assert ("layer_[0-3]", "Enter") in edges
    assert ("Enter", "Merge") in edges and ("NextIteration", "Merge") in edges
    assert ("Exit", "loss") in edges
    auxiliary = {i["label"] for i in closed if i["area"] == "auxiliary"}
    assert auxiliary and not auxiliary & {end for edge in edges for end in edge}

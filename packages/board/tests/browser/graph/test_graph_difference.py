"""Comparison of two graphs on the Graph page: colours, counts, list of differences."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from browser.page_requests import HeldRequests
from fixtures import graphs
from graph_reader import GraphReader, write_graph
from test_graph_address import choose


def later() -> Any:
    """`small` with a scope added, one changed within a series, one renamed, and an op gone."""
    result = graphs.small()
    nodes = {node.name: node for node in result.node}
    nodes["layer_2/Relu"].device = "/device:CPU:1"  # its structure stays that of the series
    for node in result.node:
        node.name = re.sub(r"^loss/", "cost/", node.name)
        inputs = [re.sub(r"^(\^?)loss/", r"\1cost/", name) for name in node.input]
        del node.input[:]
        node.input.extend(name for name in inputs if name != "^train/one")
    kept = [node for node in result.node if node.name not in ("train/count", "train/one")]
    del result.node[:]
    result.node.extend(kept)
    result.node.add(name="added/one", op="NoOp").input.append("^x")
    result.node.add(name="added/two", op="NoOp").input.append("^added/one")
    return result


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("compared")
    write_graph(root / "small", graphs.small())
    write_graph(root / "small_later", later())
    write_graph(root / "twins", graphs.twins())
    return root


@pytest.fixture
def reader(page: Any, board_server: Any, compared: Path) -> GraphReader:
    return GraphReader(page, board_server(compared).url)


def compare(reader: GraphReader) -> Any:
    reader.open("small_later")
    reader.page.get_by_role("combobox", name="Compare with").select_option(label="small")
    panel = reader.page.get_by_role("region", name="Difference", exact=True)
    panel.get_by_role("list", name="Added").wait_for()
    return panel


def test_two_graphs_are_compared_by_colour_also_within_series(reader: GraphReader) -> None:
    compare(reader)
    state = reader.settled(lambda s: s["colour"] == "diff")
    fill = {name: reader.item(name, state)["fill"] for name in reader.names(state)}
    same = fill["labels"]
    assert len({same, fill["added"], fill["layer_[0-3]"], fill["cost"], fill["train"]}) == 5
    reader.page.get_by_role("region", name="Difference", exact=True).get_by_role(
        "button", name="layer_2/Relu"
    ).click()
    state = reader.settled(lambda s: "layer_2/Relu" in reader.names(s))
    fill = {name: reader.item(name, state)["fill"] for name in reader.names(state)}
    assert fill["layer_2/Relu"] != same
    assert fill["layer_[0-3]"] == fill["layer_2/MatMul"] == same  # what is left of the series


def test_the_list_has_added_changed_moved_and_removed_nodes(reader: GraphReader) -> None:
    panel = compare(reader)

    def names(title: str) -> list[str]:
        found = panel.get_by_role("list", name=title, exact=True).locator(".g-node-link-name")
        return list(found.all_text_contents())

    assert names("Added") == ["added/one", "added/two"]
    assert set(names("Removed")) == {"train/count", "train/one"}
    assert "layer_2/Relu" in names("Changed")
    changed = panel.get_by_role("list", name="Changed").get_by_role("listitem")
    assert "device: any -> /device:CPU:1" in changed.filter(has_text="layer_2/Relu").inner_text()
    assert names("Moved") == ["cost"]
    assert "was loss" in panel.get_by_role("list", name="Moved", exact=True).inner_text()
    legend = reader.page.get_by_label("Colours: difference")
    assert "added2" in "".join(legend.all_text_contents())
    assert "removed from here2" in "".join(legend.all_text_contents())

    panel.get_by_role("button", name="layer_2/Relu").click()
    state = reader.settled(lambda s: "layer_2/Relu" in reader.names(s))
    assert reader.item("layer_2/Relu", state)["id"] == state["selected"]
    card = reader.page.get_by_label("Inspector").locator(".g-facts").first
    assert "/device:CPU:1" in card.inner_text()
    # What is gone is shown where it was.
    panel.get_by_role("button", name="train/count").click()
    state = reader.settled(lambda s: s["graph"] == "small" and "train/count" in reader.names(s))
    assert reader.item("train/count", state)["id"] == state["selected"]


def test_an_address_compares_as_soon_as_the_other_graph_is_there(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    write_graph(tmp_path / "small_later", later())
    reader = GraphReader(page, board_server(tmp_path).url)
    reader.open("small_later", "&colour=diff&other=graph%2F0%2Fsmall")
    legend = page.get_by_label("Colours: difference")
    legend.get_by_text("There is no graph").wait_for()
    write_graph(tmp_path / "small", graphs.small())
    legend.get_by_text("added").wait_for()


def test_another_graph_is_not_painted_with_the_difference_of_the_one_before(
    reader: GraphReader,
) -> None:
    compare(reader)
    held = HeldRequests(reader.page, "**/graph/diff*")
    choose(reader, "twins")
    state = reader.settled(lambda s: s["graph"] == "twins")
    reader.page.get_by_label("Colours: difference").get_by_text("Comparing…").wait_for()
    assert len({item["fill"] for item in state["items"]}) == 1
    held.release()

"""The Graph page: structure, series nodes, search, address, keys, files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from browser.metrics_view import wait_for_address
from browser.page_requests import round_trip
from fixtures import graphs
from graph_reader import GraphReader, write_graph


@pytest.fixture(scope="session")
def graph_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("graphs")
    for name in ("small", "twins", "g36"):
        write_graph(root / name, getattr(graphs, name)())
    return root


@pytest.fixture
def reader(page: Any, board_server: Any, graph_logs: Path) -> GraphReader:
    return GraphReader(page, board_server(graph_logs).url)


def test_equal_structure_has_one_colour_and_other_structure_another(reader: GraphReader) -> None:
    state = reader.open("twins")
    fill = {item["label"]: item["fill"] for item in state["items"]}
    notch = {item["label"]: item["notch"] for item in state["items"]}
    assert state["colour"] == "structure"
    assert fill["original"] == fill["equal"] == fill["renamed"] == fill["reordered"]
    assert fill["rewired"] != fill["original"]
    assert fill["long"] == fill["long_equal"] == fill["long_near"]
    assert notch["long_near"] and not notch["long"] and not notch["long_equal"]


def test_a_near_twin_lists_how_it_differs_and_leads_there(reader: GraphReader) -> None:
    reader.open("twins")
    reader.select("long_near")
    button = reader.page.get_by_role("button", name=re.compile(r"\d+ ops? differs? from"))
    button.click()
    reader.page.get_by_text("ops are the same in both").wait_for()
    only_here = reader.page.get_by_role("list", name="Only here")
    assert only_here.get_by_role("listitem").all_text_contents() == ["Neg"]
    assert reader.page.get_by_role("list", name=re.compile("^Only in|^Changed")).count() == 0
    only_here.get_by_role("button").click()
    state = reader.settled(lambda s: "long_near/Neg" in reader.names(s))
    assert reader.item("long_near/Neg", state)["id"] == state["selected"]


def mixed(reader: GraphReader) -> list[str]:
    """What the tree for those who do not see the canvas says of the Mixed scopes."""
    labels = reader.page.locator("[role=treeitem]").evaluate_all(
        "items => items.map(i => i.getAttribute('aria-label'))"
    )
    return [label for label in labels if label.startswith("Mixed_")]


def test_repeated_scopes_are_one_series_that_opens_one_by_one_or_whole(reader: GraphReader) -> None:
    state = reader.open("g36")
    series = reader.item("Mixed_[0-10]", state)
    assert (series["kind"], series["members"]) == ("series", 11)
    assert series["notch"], "the members are not all alike"
    assert mixed(reader) == ["Mixed_[0-10], series of 11"]
    reader.select("Mixed_[0-10]")
    reader.page.get_by_role("button", name="Show one").click()
    state = reader.settled(lambda s: "Mixed_0" in reader.names(s))
    assert reader.item("Mixed_[0-10]", state)["members"] == 10
    one, rest = sorted(mixed(reader))
    assert re.fullmatch(r"Mixed_0, \d+ ops", one)
    assert rest == "Mixed_[0-10], series of 10"
    reader.page.get_by_role("button", name="Show all").click()
    state = reader.settled(lambda s: "Mixed_10" in reader.names(s))
    shown = [label.split(",")[0] for label in mixed(reader)]
    assert sorted(shown) == sorted(f"Mixed_{i}" for i in range(11))
    reader.page.get_by_role("button", name="Collapse all").click()
    state = reader.settled(lambda s: "Mixed_[0-10]" in reader.names(s))
    assert reader.item("Mixed_[0-10]", state)["members"] == 11
    assert mixed(reader) == ["Mixed_[0-10], series of 11"]


def test_what_is_moved_to_and_from_the_auxiliary_nodes_stays_there_after_a_reload(
    reader: GraphReader,
) -> None:
    state = reader.open("g36")
    auxiliary = {item["label"] for item in state["items"] if item["area"] == "auxiliary"}
    assert {"save", "init", "global_step"} <= auxiliary
    reader.select("global_step")
    reader.page.get_by_role("button", name="Move to the main graph").click()
    reader.settled(lambda s: reader.item("global_step", s)["area"] == "main")
    reader.select("learning_rate")
    reader.page.get_by_role("button", name="Move to the auxiliary nodes").click()
    reader.settled(lambda s: reader.item("learning_rate", s)["area"] == "auxiliary")
    reader.toggle("average_gradients")
    inner = next(
        i["name"]
        for i in reader.settled()["items"]
        if i["name"].startswith("average_gradients/") and i["area"] == "main"
    )
    reader.select(inner)
    reader.page.get_by_role("button", name="Move to the auxiliary nodes").click()
    before = reader.settled(lambda s: reader.item(inner, s)["area"] == "auxiliary")
    assert before["edges"] > 0
    wait_for_address(reader.page)
    reader.page.reload()
    state = reader.settled(lambda s: len(s["items"]) == len(before["items"]))
    assert {i["name"]: i["area"] for i in state["items"]} == {
        i["name"]: i["area"] for i in before["items"]
    }
    assert state["edges"] == before["edges"]
    reader.select(inner)
    reader.page.get_by_role("button", name="Move to the main graph").click()
    reader.settled(lambda s: reader.item(inner, s)["area"] == "main")


def test_no_two_boxes_overlap_and_children_lie_within_their_group(reader: GraphReader) -> None:
    reader.open("small")
    reader.toggle("layer_[0-3]")
    reader.toggle("layer_1")
    state = reader.toggle("loop")
    items = state["items"]
    for i, a in enumerate(items):
        ax, ay, aw, ah = a["box"]
        if a["parent"] >= 0:
            px, py, pw, ph = items[a["parent"]]["box"]
            assert px <= ax and py <= ay and ax + aw <= px + pw and ay + ah <= py + ph, a["name"]
        for b in items[i + 1 :]:
            if a["parent"] != b["parent"]:
                continue
            bx, by, bw, bh = b["box"]
            apart = ax + aw <= bx or bx + bw <= ax or ay + ah <= by or by + bh <= ay
            assert apart, (a["name"], b["name"])


@pytest.mark.parametrize("name", ["average_gradients", "batch_processing", "Logits", "RMSProp"])
def test_what_was_there_keeps_its_order_when_a_group_opens(reader: GraphReader, name: str) -> None:
    before = reader.open("g36")
    after = reader.toggle(name)
    place = {item["id"]: item["box"] for item in after["items"]}
    old = [item for item in before["items"] if item["area"] == "main"]
    compared = 0
    for a in old:
        for b in old:
            (ax, ay, aw, ah), (bx, by, *_) = a["box"], b["box"]
            was, now = place[a["id"]], place[b["id"]]
            if abs(ay - by) < 30 and ax + aw <= bx:
                assert was[0] + was[2] <= now[0], (a["name"], b["name"])
                compared += 1
            elif ay + ah <= by:
                assert was[1] + was[3] <= now[1], (a["name"], b["name"])
                compared += 1
    assert compared > len(old)
    closed = reader.toggle(name)
    assert [i["box"] for i in closed["items"]] == [i["box"] for i in before["items"]]


def test_a_search_opens_the_way_to_a_deep_op_and_centres_it(reader: GraphReader) -> None:
    reader.open("g36")
    box = reader.page.get_by_role("searchbox")
    box.fill(r"tower_2/Mixed_7/Branch_1/.*/moments/mean$")
    reader.page.locator(".g-search-found .g-node-link").first.wait_for()
    box.press("Enter")
    state = reader.settled(
        lambda s: any(i["name"].startswith("tower_2/Mixed_7/B") for i in s["items"])
    )
    chosen = next(i for i in state["items"] if i["id"] == state["selected"])
    assert re.search(r"tower_2/Mixed_7/Branch_1/.*/moments/mean$", chosen["name"])
    x, y, w, h = chosen["rect"]
    bounds = reader.page.locator(".graph-canvas").bounding_box()
    assert abs(x + w / 2 - bounds["x"] - bounds["width"] / 2) < 40
    assert abs(y + h / 2 - bounds["y"] - bounds["height"] / 2) < 40


def test_a_pattern_without_end_is_stopped_and_the_page_goes_on(reader: GraphReader) -> None:
    reader.open("g36")
    box = reader.page.get_by_role("searchbox")
    box.fill("x")
    reader.page.locator(".g-search-found").wait_for()
    box.fill("^(([a-z_0-9/])+.?)+[A-Z]$(a+)+$")
    reader.page.get_by_text("This pattern takes too long; it was stopped.").wait_for()
    box.fill("global_step$")
    reader.page.locator(".g-search-found .g-node-link").first.wait_for()


def test_the_address_brings_the_view_back(reader: GraphReader) -> None:
    reader.open("g36")
    reader.toggle("tower_[0-3]")
    reader.toggle("tower_1")
    reader.select("average_gradients")
    reader.page.get_by_role("combobox", name="Colour").select_option("device")
    reader.page.mouse.move(500, 500)
    camera = reader.settled()["camera"]
    reader.page.mouse.wheel(0, -240)
    before = reader.settled(lambda s: s["camera"] != camera)
    wait_for_address(reader.page)
    address = reader.page.evaluate("location.hash")
    assert len(address) <= 2048
    reader.page.reload()
    after = reader.settled(lambda s: len(s["items"]) == len(before["items"]))
    assert after["colour"] == "device"
    assert after["selected"] == before["selected"]
    assert [i["id"] for i in after["items"]] == [i["id"] for i in before["items"]]
    for a, b in zip(after["items"], before["items"], strict=True):
        assert a["rect"] == pytest.approx(b["rect"], abs=1.5), a["name"]


def test_the_wheel_zooms_about_the_cursor(reader: GraphReader) -> None:
    before = reader.open("g36")["camera"]
    bounds = reader.page.locator(".graph-canvas").bounding_box()
    sx, sy = 400.0, 300.0
    reader.page.mouse.move(bounds["x"] + sx, bounds["y"] + sy)
    reader.page.mouse.wheel(0, -300)
    after = reader.settled(lambda s: s["camera"]["k"] > before["k"])["camera"]
    for axis, at in (("x", sx), ("y", sy)):
        assert before[axis] + at / before["k"] == pytest.approx(
            after[axis] + at / after["k"], abs=0.05
        )


def test_the_keyboard_alone_walks_opens_and_closes(reader: GraphReader) -> None:
    reader.open("small")
    tree = reader.page.get_by_role("tree")
    tree.focus()
    reader.page.keyboard.press("ArrowDown")
    state = reader.settled(lambda s: s["selected"] is not None)
    seen = {state["selected"]}
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "ArrowDown"):
        reader.page.keyboard.press(key)
        seen.add(reader.settled()["selected"])
    assert len(seen) >= 3
    reader.select("loop")
    reader.page.keyboard.press("Enter")
    reader.settled(lambda s: reader.item("loop", s)["kind"] == "open")
    assert reader.page.locator("[role=treeitem][aria-expanded=true]").count() == 1
    reader.page.keyboard.press("ArrowDown")
    inside = reader.settled()
    assert next(i["name"] for i in inside["items"] if i["id"] == inside["selected"]).startswith(
        "loop/"
    )
    reader.page.keyboard.press("Escape")
    reader.page.keyboard.press("Escape")
    reader.settled(lambda s: reader.item("loop", s)["kind"] == "group")
    reader.page.keyboard.press("/")
    assert reader.page.evaluate("document.activeElement.type") == "search"


def test_a_trace_of_inputs_lights_what_an_op_depends_on(reader: GraphReader) -> None:
    reader.open("twins")
    reader.select("renamed")
    reader.page.get_by_role("combobox", name="Trace").select_option("inputs")
    state = reader.settled(lambda s: any(not i["lit"] for i in s["items"]))
    lit = {item["label"] for item in state["items"] if item["lit"]}
    assert lit == {"x", "renamed"}


def test_hidden_kinds_of_op_are_absent_until_shown_again(reader: GraphReader) -> None:
    reader.open("small")
    assert "labels" in reader.names()
    reader.page.get_by_role("button", name="Hide ops").click()
    reader.page.get_by_role("checkbox", name="Placeholder").check()
    state = reader.settled(lambda s: "labels" not in reader.names(s))
    assert "x" not in reader.names(state)
    reader.page.get_by_role("checkbox", name="Placeholder").uncheck()
    reader.settled(lambda s: "labels" in reader.names(s))


def test_an_op_card_shows_attributes_and_leads_to_its_neighbours(reader: GraphReader) -> None:
    reader.open("small")
    reader.toggle("loop")
    reader.select("loop/Merge")
    card = reader.page.get_by_label("Inspector")
    card.get_by_text("Merge").first.wait_for()
    card.get_by_text("Attributes").wait_for()
    card.get_by_role("button", name=re.compile("loop.Enter")).click()
    state = reader.settled(lambda s: s["selected"] is not None)
    chosen = next(i for i in state["items"] if i["id"] == state["selected"])
    assert chosen["name"] == "loop/Enter"


def test_the_selected_node_is_the_one_of_the_other_pages(reader: GraphReader) -> None:
    reader.open("g36", "&node=tower_3/Mixed_2/Branch_0/Conv2d_0a_1x1/Conv2D")
    state = reader.settled(lambda s: s["selected"] is not None)
    chosen = next(i for i in state["items"] if i["id"] == state["selected"])
    assert chosen["name"] == "tower_3/Mixed_2/Branch_0/Conv2d_0a_1x1/Conv2D"
    x, y, _, _ = chosen["rect"]
    assert 0 < x < 1600 and 0 < y < 1000


def test_names_that_are_scripts_stay_text(page: Any, board_server: Any, tmp_path: Path) -> None:
    hostile = graphs.small()
    for i, name in enumerate(
        (
            "<img src=x onerror=alert(1)>",
            "</script><script>alert(1)</script>",
            "a\u202eb\u0000c",
            "${1}{{2}}",
        )
    ):
        hostile.node.add(name=f"evil_{i}/{name}", op="<b>Op</b>", device="/<i>device</i>")
    write_graph(tmp_path / "hostile", hostile)
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    reader = GraphReader(page, board_server(tmp_path).url)
    state = reader.open("hostile")
    for item in [i for i in state["items"] if i["label"].startswith("evil_")]:
        reader.select(item["label"])
    round_trip(page)  # a picture would have failed and opened a dialog by now
    assert page.locator("img[src=x], b:has-text('Op') >> text=/^Op$/").count() == 0
    assert dialogs == []


def test_a_long_attribute_is_cut_until_all_of_it_is_requested(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    graph = graphs.small()
    graph.node[0].attr["note"].s = b"start " + b"word " * 1000 + b"the end"
    write_graph(tmp_path / "long", graph)
    reader = GraphReader(page, board_server(tmp_path).url)
    reader.open("long", f"&node={graph.node[0].name}")
    page.get_by_text("start word").wait_for()
    assert page.get_by_text("the end").count() == 0
    page.get_by_role("button", name="show all").click()
    page.get_by_text("the end").wait_for()
    assert page.get_by_role("button", name="show all").count() == 0

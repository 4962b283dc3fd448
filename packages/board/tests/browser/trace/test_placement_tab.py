"""The Placement tab of the Trace page, and the placement of a node on the Graph page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser.axe_rules import serious_violations
from browser.page_requests import wait_for_rest
from fixtures.placements import large_placed_step, placed_graph, placed_step
from fixtures.traces import two_tasks, write_log
from test_trace_page import until

SIZES = [(1366, 768), (390, 844)]


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("placements")
    write_log(folder / "placed", {5: placed_step().SerializeToString()}, placed_graph())
    write_log(folder / "large", {5: large_placed_step().SerializeToString()})
    write_log(folder / "without", {5: two_tasks().SerializeToString()})
    return folder


@pytest.fixture
def url(board_server: Any, logdir: Path) -> str:
    return board_server(logdir).url


def open_placement(page: Any, url: str, run: str = "placed", rest: str = "") -> Any:
    page.goto(f"{url}#/trace?trun={run}&tside=placement{rest}")
    panel = page.locator(".trace-panel")
    panel.locator(".placement-nodes tbody tr").first.wait_for()
    return panel


def shown_nodes(page: Any) -> list[str]:
    return page.locator(".placement-nodes bdi").all_inner_texts()


def cells(page: Any, node: str) -> list[str]:
    row = page.locator(".placement-nodes > tbody > tr").filter(
        has=page.get_by_role("button", name=node, exact=True)
    )
    return row.locator("td").all_inner_texts()


def until_shown(page: Any, nodes: list[str]) -> None:
    names = "[...document.querySelectorAll('.placement-nodes bdi')].map((b) => b.textContent)"
    until(page, f"{names}.join() === '{','.join(nodes)}'")


def test_the_tab_shows_where_nodes_run_and_why(page: Any, url: str) -> None:
    page.goto(f"{url}#/trace?trun=placed")
    page.get_by_role("tab", name="Placement").click()
    panel = page.locator(".trace-panel")
    panel.get_by_text("expected to take 31.5 µs, 78.3 µs with each node on its first").wait_for()
    panel.get_by_text("at most 3 MiB wait for a reader at one time, not 7 MiB").wait_for()
    panel.get_by_text("1 other device has no nodes.").wait_for()
    page.locator(".placement-transfers").get_by_text("layer/read:0").wait_for()
    page.locator(".placement-nodes tbody tr").first.wait_for()
    assert cells(page, "layer/MatMul") == [
        "MatMul", "w 0 · GPU:0", "ends soonest there", "10.0 µs", "32.0 µs", "×3.2", "64 KiB",
    ]  # fmt: skip
    assert cells(page, "layer/weights")[2:6] == ["requested: /job:w/task:1", "0 ns", "–", "–"]
    assert "no such device for it: soft placement" in cells(page, "images")[2]
    assert page.locator("td.slower").all_inner_texts() == ["×3.2"]
    assert page.locator("td.faster").all_inner_texts() == ["×0.25"]


def test_the_order_the_search_and_the_device_are_in_the_address(page: Any, url: str) -> None:
    open_placement(page, url)
    page.get_by_role("button", name="Measured").click()
    until_shown(
        page, ["layer/MatMul", "images", "layer/Relu", "loss", "layer/read", "layer/weights"]
    )
    page.get_by_label("Find nodes by name or op").fill("LAYER/")
    until_shown(page, ["layer/MatMul", "layer/Relu", "layer/read", "layer/weights"])
    page.locator(".placement-devices").get_by_role("button", name="w 1 · CPU:0").click()
    until_shown(page, ["layer/read", "layer/weights"])
    until(page, "location.hash.includes('tpdev=') && location.hash.includes('tporder=-measured')")
    page.reload()
    page.locator(".placement-nodes tbody tr").first.wait_for()
    until_shown(page, ["layer/read", "layer/weights"])
    page.get_by_role("button", name="on w 1 · CPU:0").click()
    page.get_by_role("button", name="Measured").click()
    until_shown(page, ["layer/read", "layer/Relu", "layer/MatMul", "layer/weights"])
    page.get_by_label("Find nodes by name or op").fill("nothing")
    page.get_by_text("No node matches.").wait_for()


def test_a_row_opens_to_when_the_node_would_end_on_each_device(page: Any, url: str) -> None:
    open_placement(page, url)
    page.get_by_role("button", name="More about layer/MatMul").click()
    ends = page.locator(".placement-ends tr")
    assert [end.split() for end in ends.all_inner_texts()] == [
        ["w", "0", "·", "GPU:0", "15.0", "µs"],
        ["w", "0", "·", "CPU:0", "48.5", "µs"],
    ]
    page.locator(".placement-more").get_by_role("button", name="Its slices").click()
    until(page, "window.__board.trace.selected?.node === 'layer/MatMul'")
    page.get_by_role("tab", name="Slice", selected=True).wait_for()


def test_a_click_leads_to_the_graph_whose_inspector_shows_the_placement(
    page: Any, url: str
) -> None:
    open_placement(page, url)
    page.get_by_role("button", name="layer/MatMul", exact=True).click()
    until(page, "location.hash.startsWith('#/graph') && location.hash.includes('MatMul')")
    facts = page.locator(".g-facts").first
    facts.get_by_text("w 0 · GPU:0 — ends soonest there").wait_for()
    facts.get_by_text("expected 10.0 µs, measured 32.0 µs in step 5").wait_for()
    page.get_by_role("link", name="Trace").click()
    page.get_by_role("tab", name="Placement", selected=True).wait_for()
    page.locator(".placement-nodes tr[aria-current]").get_by_text("layer/MatMul").first.wait_for()
    page.get_by_role("link", name="Graph").click()
    page.get_by_role("button", name="Its slices on the Trace page").click()
    page.get_by_role("tab", name="Slice", selected=True).wait_for()


def test_a_graph_without_placements_shows_the_device_that_its_node_requests(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    graph = placed_graph()
    graph.node[3].device = "/device:GPU:7"
    write_log(tmp_path / "run", {5: two_tasks().SerializeToString()}, graph)
    page.goto(f"{board_server(tmp_path).url}#/graph?node=layer/MatMul")
    page.locator(".g-facts").first.get_by_text("/device:GPU:7").wait_for()
    wait_for_rest(page)
    assert "expected" not in page.locator(".g-facts").first.inner_text()


def test_very_many_nodes_are_shown_a_part_at_a_time(page: Any, url: str) -> None:
    open_placement(page, url, "large", "&tporder=-expected")
    page.get_by_text("1 to 100 of 20,000").wait_for()
    assert len(shown_nodes(page)) == 100 and shown_nodes(page)[0] == "n19999"
    page.get_by_role("button", name="Nodes after").click()
    page.get_by_text("101 to 200 of 20,000").wait_for()
    assert shown_nodes(page)[0] == "n19899"
    page.get_by_label("Find nodes by name or op").fill("n1999")
    page.get_by_text("11 of 20,000").wait_for()
    assert shown_nodes(page)[-1] == "n1999"


def test_a_trace_without_a_placement_says_how_to_get_one(page: Any, url: str) -> None:
    page.goto(f"{url}#/trace?trun=without&tside=placement")
    page.get_by_text("This trace has no placement.").wait_for()
    page.get_by_text("RunOptions(trace_level=FULL_TRACE)").wait_for()
    assert page.locator(".placement").count() == 0
    assert page.locator(".trace-tabs").evaluate("(e) => e.scrollWidth <= e.clientWidth")


def test_requests_that_fail_can_be_sent_again(page: Any, url: str) -> None:
    def reject(route: Any) -> None:
        route.fulfill(status=500, json={"error": "the disk is gone"})

    panel = page.locator(".trace-panel")
    for requests in ("**/placement", "**/placement/nodes*"):
        page.route(requests, reject)
        page.goto("about:blank")
        page.goto(f"{url}#/trace?trun=placed&tside=placement")
        panel.get_by_role("alert").get_by_text("the disk is gone").wait_for()
        page.unroute(requests)
        panel.get_by_role("button", name="Try again").click()
        page.locator(".placement-nodes tbody tr").first.wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_nothing_overlaps_is_cut_off_or_hard_to_access(
    page: Any, url: str, scheme: str, width: int, height: int
) -> None:
    before = page.viewport_size
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": height})
    try:
        panel = open_placement(page, url)
        page.get_by_role("button", name="More about layer/MatMul").click()
        page.locator(".placement-ends").wait_for()
        assert panel.evaluate("(e) => e.scrollWidth <= e.clientWidth")
        boxes = page.locator(".placement-nodes tr:not(.placement-more) > :is(th, td)").evaluate_all(
            "(all) => all.map((e) => e.getBoundingClientRect()).map((r) => [r.x, r.right, r.width])"
        )
        assert all(0 <= left and right <= width for left, right, size in boxes if size)
        name = page.get_by_role("button", name="layer/MatMul", exact=True)
        assert name.evaluate("(e) => e.scrollWidth <= e.clientWidth")
        assert serious_violations(page) == []
        page.get_by_role("tab", name="Step").click()
        timeline, side = (
            page.locator(c).bounding_box() for c in (".trace-timeline", ".trace-side")
        )
        apart = side["x"] >= timeline["x"] + timeline["width"] - 1
        assert apart or side["y"] >= timeline["y"] + timeline["height"] - 1
    finally:
        page.set_viewport_size(before)


def test_names_of_a_report_are_shown_as_text(page: Any, board_server: Any, tmp_path: Path) -> None:
    hostile = '<img src=x onerror="window.hacked=1">\u202eevil'
    metadata = placed_step()
    for node in metadata.placement.node:
        node.name = node.op = node.requested = hostile + node.name
        setattr(node, "with", hostile)
    metadata.placement.transfer[0].tensor = hostile
    write_log(tmp_path / "run", {5: metadata.SerializeToString()})
    panel = open_placement(page, board_server(tmp_path).url, "run")
    page.get_by_role("button", name="More about").nth(4).click()
    page.locator(".placement-choice").wait_for()
    assert "\u202e" not in panel.inner_text()
    assert page.locator("img").count() == 0 and page.evaluate("window.hacked") is None

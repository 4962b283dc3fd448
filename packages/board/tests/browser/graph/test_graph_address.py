"""Graphs and their views in the address: links, Back, failures, delays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from browser.metrics_view import wait_for_address
from browser.page_requests import HeldRequests
from fixtures import graphs
from graph_reader import GraphReader, write_graph


@pytest.fixture(scope="module")
def two_graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("two_graphs")
    for name in ("small", "twins"):
        write_graph(root / name, getattr(graphs, name)())
    return root


@pytest.fixture
def reader(page: Any, board_server: Any, two_graphs: Path) -> GraphReader:
    return GraphReader(page, board_server(two_graphs).url)


def choose(reader: GraphReader, title: str) -> None:
    box = reader.page.get_by_role("combobox", name="Graph", exact=True)
    value = box.locator("option").evaluate_all(
        "(options, title) => options.find(o => o.textContent.split(' · ')[0] === title).value",
        title,
    )
    box.select_option(value)


def address(reader: GraphReader) -> str:
    wait_for_address(reader.page)
    return str(reader.page.evaluate("location.hash"))


def kinds(state: dict[str, Any]) -> dict[str, str]:
    return {item["name"]: item["kind"] for item in state["items"]}


def test_addresses_that_are_pasted_over_one_another_bring_each_graph_its_own_view(
    reader: GraphReader,
) -> None:
    reader.open("small")
    small = reader.toggle("loop")
    address_of_small = address(reader)
    reader.page.goto(reader.url)
    reader.open("twins")
    reader.toggle("renamed")
    twins = reader.toggle("long")
    address_of_twins = address(reader)
    for hash_, expected in ((address_of_small, small), (address_of_twins, twins)) * 2:
        reader.page.evaluate("hash => { location.hash = hash }", hash_)
        state = reader.settled(lambda s, key=expected["key"]: s["key"] == key)
        assert kinds(state) == kinds(expected)
        assert state["camera"] == pytest.approx(expected["camera"], rel=1e-3, abs=0.1)
        assert address(reader) == hash_


def test_back_leads_to_the_graph_before_as_it_was_left(reader: GraphReader) -> None:
    reader.open("small")
    small = reader.toggle("loop")
    left = address(reader)
    choose(reader, "twins")
    twins = reader.settled(lambda s: s["graph"] == "twins")
    assert all(kind != "open" for kind in kinds(twins).values())
    assert address(reader) != left
    reader.page.go_back()
    state = reader.settled(lambda s: s["graph"] == "small")
    assert kinds(state) == kinds(small)
    assert address(reader) == left
    reader.page.go_forward()
    reader.settled(lambda s: s["graph"] == "twins")


def test_a_link_waits_for_a_graph_that_the_logs_do_not_have_yet(
    reader: GraphReader, board_server: Any, tmp_path: Path
) -> None:
    reader.open("small")
    expected = reader.toggle("loop")
    link = address(reader)
    write_graph(tmp_path / "other", graphs.twins())
    later = GraphReader(reader.page, board_server(tmp_path).url)
    later.page.goto(later.url + link)
    later.page.get_by_text(re.compile("is not in these logs")).wait_for()
    assert later.page.evaluate("window.__board.graph ?? null") is None
    assert address(later) == link
    write_graph(tmp_path / "small", graphs.small())
    state = later.settled(lambda s: s["graph"] == "small")
    assert kinds(state) == kinds(expected)
    assert address(later) == link


def test_changing_ones_mind_while_a_graph_is_read_ends_at_the_last_choice(
    reader: GraphReader,
) -> None:
    first = reader.open("small")
    held = HeldRequests(reader.page, re.compile(r"/api/v1/graph/\d+$"))
    choose(reader, "twins")
    reader.page.get_by_text("Reading the graph…").wait_for()
    held.wait()
    held.let_new_ones_go()
    choose(reader, "small")
    state = reader.settled(lambda s: s["graph"] == "small")
    held.release()
    state = reader.settled()
    assert state["graph"] == "small"
    assert reader.names(state) == reader.names(first)
    assert "small" in address(reader)


def test_a_graph_whose_reading_is_left_behind_does_not_come_after(reader: GraphReader) -> None:
    reader.open("small")
    held = HeldRequests(reader.page, re.compile(r"/api/v1/graph/\d+$"))
    choose(reader, "twins")
    held.wait()
    reader.page.get_by_role("link", name="Metrics").click()
    held.release()
    assert reader.page.evaluate("window.__board.graph ?? null") is None
    reader.page.get_by_role("link", name="Graph", exact=True).click()
    state = reader.settled(lambda s: s["graph"] == "twins")
    assert "original" in reader.names(state)


def test_an_unreadable_graph_shows_an_error_and_is_retried(reader: GraphReader) -> None:
    reader.open("small")
    reader.page.route(
        re.compile(r"/api/v1/graph/\d+$"),
        lambda route: route.fulfill(status=422, json={"error": "the record is torn"}),
    )
    choose(reader, "twins")
    alert = reader.page.get_by_role("alert")
    alert.wait_for()
    assert "twins" in alert.inner_text() and "the record is torn" in alert.inner_text()
    assert reader.page.get_by_text("Reading the graph…").count() == 0
    reader.page.unroute_all()
    alert.get_by_role("button", name="Try again").click()
    state = reader.settled(lambda s: s["graph"] == "twins")
    assert "original" in reader.names(state)
    assert reader.page.get_by_role("alert").count() == 0


def test_a_failed_layout_shows_an_error_and_is_retried(reader: GraphReader) -> None:
    broken = "self.onmessage = () => { throw new Error('no room for this') }"
    reader.page.route(
        re.compile(r"/assets/layout.*\.js"),
        lambda route: route.fulfill(content_type="text/javascript", body=broken),
    )
    reader.page.goto(f"{reader.url}#/graph?graph=small")
    alert = reader.page.get_by_role("alert")
    alert.wait_for()
    assert "no room for this" in alert.inner_text()
    reader.page.unroute_all()
    alert.get_by_role("button", name="Try again").click()
    reader.settled(lambda s: s["graph"] == "small")
    assert reader.page.get_by_role("alert").count() == 0

"""Search on the Trace page: complete, never blocking, and kept in the address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fixtures.traces import metadata_of, node_stats, write_log
from test_trace_page import open_trace, trace, until

NODES = 700


def opened(page: Any, board_server: Any, folder: Path, rest: str = "") -> None:
    nodes = [node_stats(f"net/n{i:03d}", 100 * i, 90, f"n = Op(a{i})") for i in range(NODES)]
    nodes += [node_stats("a" * 40 + "b", 100 * NODES, 90)]
    nodes += [node_stats("net/n699", 100 * NODES + 100, 90)]
    write_log(folder / "run", {1: metadata_of(w0_CPU_0=nodes).SerializeToString()})
    open_trace(page, board_server(folder).url, rest)


def test_all_names_that_match_are_found_and_counted(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    opened(page, board_server, tmp_path)
    page.keyboard.press("/")
    page.keyboard.type("^net/n")
    found = until(page, "(f => f?.pattern === '^net/n' && f)(window.__board.trace.found)")
    assert (found["names"], found["total"], found["places"]) == (NODES, NODES + 1, NODES + 1)
    page.locator(".trace-count").get_by_text("701", exact=True).wait_for()
    page.keyboard.press("Shift+Enter")
    until(page, f"window.__board.trace.selected?.start === {100 * NODES + 100}")
    page.locator(".trace-count").get_by_text("701 of 701").wait_for()
    until(page, "location.hash.includes('tq=')")
    page.reload()
    until(page, "window.__board?.trace?.found?.total === 701")


def test_a_pattern_without_end_is_stopped_and_the_next_one_found(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    opened(page, board_server, tmp_path)
    page.keyboard.press("/")
    page.keyboard.insert_text("(a+)+$")
    until(page, "window.__board.trace.found?.wrong === 'time'")
    page.locator(".trace-count").get_by_text("takes too long").wait_for()
    page.get_by_label("Find nodes").fill("n699")
    until(page, "window.__board.trace.found?.total === 2")
    assert trace(page)["found"]["wrong"] is None
    page.keyboard.press("Enter")
    until(page, "window.__board.trace.selected?.node === 'net/n699'")


def test_an_invalid_pattern_is_reported(page: Any, board_server: Any, tmp_path: Path) -> None:
    opened(page, board_server, tmp_path)
    page.keyboard.press("/")
    page.keyboard.type("net(")
    until(page, "window.__board.trace.found?.wrong === 'pattern'")
    page.locator(".trace-count").get_by_text("not a pattern").wait_for()
    page.get_by_role("alert").get_by_text("Unterminated group").wait_for()

"""Compute time and memory of traced steps on the Graph page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from browser.page_requests import HeldRequests
from fixtures import graphs
from fixtures.traces import metadata_of, node_stats, write_log
from graph_reader import GraphReader, write_graph
from test_graph_address import choose


def step(number: int, times: int = 1) -> bytes:
    nodes = [
        node_stats("loss/Mean", 0, 1_000 * number * times, output_bytes=4),
        node_stats("loop/body", 9_000, 5_000_000 * times, output_bytes=4096 * number * times),
        node_stats("loop/Enter", 6_000_000, 20_000),
    ]
    return bytes(metadata_of(w0_CPU_0=nodes).SerializeToString())


def logs(root: Path) -> Path:
    write_log(root / "traced", {n: step(n) for n in (1, 2, 3)}, graphs.small())
    write_log(root / "slow", {n: step(n, 10) for n in (1, 5)}, graphs.small())
    write_graph(root / "untraced", graphs.small())
    return root


def rows(legend: Any) -> list[str]:
    legend.get_by_role("listitem").first.wait_for()
    return list(legend.get_by_role("listitem").all_text_contents())


def test_compute_time_is_of_the_runs_own_steps_with_their_spread(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    reader = GraphReader(page, board_server(logs(tmp_path)).url)
    before = reader.open("traced")
    page.get_by_role("combobox", name="Colour").select_option("time")
    legend = page.get_by_label("Colours: time")
    assert rows(legend) == [
        "loop/body5 ms",
        "loop/Enter20 µs",
        "loss/Mean2 µs1 µs – 3 µs",
    ]
    legend.get_by_text("Medians of 3 steps.").wait_for()
    state = reader.settled(
        lambda s: reader.item("loop", s)["fill"] != reader.item("loop", before)["fill"]
    )
    fills = {name: reader.item(name, state)["fill"] for name in ("loop", "loss", "labels")}
    assert len(set(fills.values())) == 3
    legend.get_by_role("button").last.click()
    state = reader.settled(lambda s: s["selected"] is not None)
    assert reader.item("loss/Mean", state)["id"] == state["selected"]
    page.get_by_label("Inspector").get_by_text("median; 1 µs to 3 µs in 3 steps").wait_for()

    choose(reader, "slow")
    reader.settled(lambda s: s["graph"] == "slow")
    legend.get_by_text("Medians of 2 steps.").wait_for()
    assert rows(legend)[0] == "loop/body50 ms"
    choose(reader, "untraced")
    state = reader.settled(lambda s: s["graph"] == "untraced")
    legend.get_by_text("This run has no traced step").wait_for()
    assert legend.get_by_role("listitem").count() == 0
    assert reader.item("loop", state)["fill"] == reader.item("labels", state)["fill"]


def test_memory_colours_by_memory_and_steps_can_be_left_out(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    reader = GraphReader(page, board_server(logs(tmp_path)).url)
    reader.open("traced", "&colour=memory")
    legend = page.get_by_label("Colours: memory")
    assert rows(legend)[0] == "loop/body8 KiB4 KiB – 12 KiB"
    state = reader.settled()
    assert reader.item("loop", state)["fill"] != reader.item("labels", state)["fill"]
    page.get_by_role("button", name="Steps: 3").click()
    page.get_by_role("checkbox", name="step 1").first.uncheck()
    page.get_by_role("checkbox", name="step 2").first.uncheck()
    legend.get_by_text("One step.").wait_for()
    assert rows(legend)[0] == "loop/body12 KiB"
    page.get_by_role("checkbox", name="step 3").first.uncheck()
    legend.get_by_text("No step is chosen.").wait_for()
    state = reader.settled(
        lambda s: reader.item("loop", s)["fill"] == reader.item("labels", s)["fill"]
    )
    # Steps of another run only where the page requests them.
    page.get_by_role("group", name="slow").get_by_role("checkbox", name="step 5").check()
    legend.get_by_text("One step.").wait_for()
    assert rows(legend)[0] == "loop/body200 KiB"


def test_a_step_traced_while_the_page_is_open_is_counted(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    reader = GraphReader(page, board_server(logs(tmp_path)).url)
    reader.open("traced", "&colour=time")
    legend = page.get_by_label("Colours: time")
    legend.get_by_text("Medians of 3 steps.").wait_for()
    write_log(tmp_path / "traced", {n: step(n) for n in (4, 5)})
    legend.get_by_text("Medians of 5 steps.").wait_for()
    assert rows(legend)[2] == "loss/Mean3 µs1 µs – 5 µs"


def test_late_replies_do_not_replace_newer_ones(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    reader = GraphReader(page, board_server(logs(tmp_path)).url)
    held = HeldRequests(page, "**/costs?*")
    reader.open("traced", "&colour=time")
    legend = page.get_by_label("Colours: time")
    legend.get_by_text("Reading the traced steps…").wait_for()
    held.wait()
    held.let_new_ones_go()
    page.get_by_role("button", name="Steps: 3").click()
    page.get_by_role("checkbox", name="step 2").first.uncheck()
    legend.get_by_text("Medians of 2 steps.").wait_for()
    held.release()
    assert legend.get_by_text("Medians of 2 steps.").count() == 1


def test_a_network_failure_is_reported_as_one(page: Any, board_server: Any, tmp_path: Path) -> None:
    reader = GraphReader(page, board_server(logs(tmp_path)).url)
    page.route("**/costs?*", lambda route: route.abort())
    reader.open("traced", "&colour=time")
    page.get_by_label("Colours: time").get_by_text("could not be read").wait_for()


def test_the_slices_of_an_op_are_those_of_its_own_run_and_lead_back_to_its_graph(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    reader = GraphReader(page, board_server(logs(tmp_path)).url)
    for run in ("traced", "slow"):
        page.goto(reader.url)
        reader.open(run, "&node=loop%2Fbody")
        page.get_by_role("button", name="Its slices on the Trace page").click()
        page.wait_for_url(re.compile(rf"#/trace\?(?=.*trun={run}(&|$))(?=.*node=loop%?2?F?/?body)"))
        page.get_by_role("button", name="Show in graph").click()
        state = reader.settled(lambda s, run=run: s["graph"] == run)
        assert reader.item("loop/body", state)["id"] == state["selected"]

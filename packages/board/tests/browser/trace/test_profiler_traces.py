"""Traces of other programs' profilers on the Trace page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser.trace.test_trace_page import READY, open_trace, until
from fixtures.trace_files import write_trace_files
from fixtures.traces import node_stats, write_log

from headrace.formats.proto import run_pb2


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trace_files(tmp_path_factory.mktemp("trace_files"))


def test_a_trace_of_pytorch_shows_calls_below_their_callers(
    page: Any, board_server: Any, logdir: Path
) -> None:
    shown = open_trace(page, board_server(logdir).url, "?trun=torch")
    titles = [row["title"] for row in shown["rows"] if row["title"] not in ("", "scopes")]
    assert titles == ["python CPU", "main", "main (2)", "main (3)", "thread 2", "python GPU 0"]
    names = {item["name"] for item in shown["items"]}
    assert {"aten::mm", "cudaLaunchKernel", "ProfilerStep#3"} <= names
    panel = page.locator(".trace-panel")
    assert panel.locator("h3").first.inner_text() == "Time by op"
    assert "Critical path" not in panel.inner_text()
    # A profile has none of these.
    for role, name in (("button", "Critical path"), ("button", "Memory"), ("tab", "Placement")):
        assert page.get_by_role(role, name=name, exact=True).count() == 0
    item = next(one for one in shown["items"] if one["name"] == "aten::mm")
    page.mouse.click(item["x"] + item["width"] / 2, item["y"] + item["height"] / 2)
    panel.get_by_text("[[4,8],[8,2]]").wait_for()


def test_the_run_of_a_profile_of_xla_is_chosen_by_name(
    page: Any, board_server: Any, logdir: Path
) -> None:
    open_trace(page, board_server(logdir).url, "?trun=torch")
    page.locator(".trace-pick select").first.select_option(label="keras/train")
    until(page, "window.__board.trace.chosen.title === '2026_11_28/host (XLA)'")
    until(page, READY)
    assert "step=" not in page.url


def test_a_trace_file_that_appears_later_is_listed(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    page.goto(f"{board_server(tmp_path).url}#/trace")
    page.get_by_text("No step has been traced").wait_for()
    write_trace_files(tmp_path / "late")
    until(page, READY)


def test_a_busy_thread_is_no_alarm_and_waits_are_folded(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    metadata = run_pb2.RunMetadata()
    device = metadata.step_stats.dev_stats.add(device="/job:w/replica:0/task:0/device:CPU:0")
    device.node_stats.extend(node_stats(f"n{i}_MatMul", i * 1000, 900) for i in range(10))
    device.node_stats.append(node_stats("late_Add", 10_000, 1_000, scheduled=0))
    write_log(tmp_path / "r", {1: metadata.SerializeToString()})
    shown = open_trace(page, board_server(tmp_path).url)
    assert [stall["kind"] for stall in shown["stalls"]] == ["queue"]
    panel = page.locator(".trace-panel")
    headings = panel.locator("h3").all_inner_texts()
    assert headings[0] == "Time by op"
    assert not any(heading.startswith("Long waits") for heading in headings)
    fold = panel.locator("details", has_text="their thread was busy")
    assert fold.count() == 1 and fold.get_attribute("open") is None
    assert not fold.locator("li").first.is_visible()
    assert fold.locator(".trace-wait").count() == 0
    # Nor is anything drawn in the colour of errors.
    red = page.evaluate(
        """() => [...document.querySelectorAll('canvas')].map((canvas) => {
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          let n = 0;
          for (let i = 0; i < data.length; i += 4)
            if (data[i] > 150 && data[i + 1] < 70 && data[i + 2] < 70) n++;
          return n;
        })"""
    )
    assert len(red) >= 2 and sum(red) == 0, red

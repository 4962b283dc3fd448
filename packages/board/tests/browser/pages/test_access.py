"""Accessibility: axe-core finds nothing serious, and Tab reaches every control."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser.axe_rules import serious_violations
from fixtures import corrupted_logs, graphs, media_logs, traces
from fixtures.embeddings import write_pytorch_projector

from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event

# When a page shows what the log has, and not its frame alone.
READY = {
    "metrics": "b.metrics.idle && b.metrics.charts.some((chart) => chart.painted > 0)",
    "graph": "b.graph.ready",
    "trace": "b.trace.items.length > 0",
    "hparams": "b.hparams.rows.length > 0",
    "projector": "b.projector.points > 0",
    "problems": "b.problems.shown.some((problem) => problem.kind === 'bad_payload')",
}


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of each kind: every summary, a graph, a step trace, an embedding, a corrupted file."""
    folder = tmp_path_factory.mktemp("runs")
    corrupted_logs.every_kind(folder / "kinds")
    with EventFileWriter(folder / "graph") as writer:
        writer.write(Event(wall_time=1.0, graph_def=graphs.small().SerializeToString()))
    traces.write_log(folder / "trace", {3: traces.two_tasks().SerializeToString()}, losses=5)
    records = corrupted_logs.records_of_900()
    corrupted_logs.write_records(folder / "corrupted", corrupted_logs.flip_payload_byte(records))
    media_logs.write_sweep(folder / "sweep", 4)
    write_pytorch_projector(folder / "points", rows=60, dims=4)
    return folder


def open_page(page: Any, url: str, name: str) -> None:
    """Goes to a page and waits until it shows what the log has."""
    view = "?trun=trace&step=3" if name == "trace" else ""  # the other runs' have no slices
    page.goto(f"{url}#/{name}{view}")
    page.wait_for_function(
        f"() => {{ const b = window.__board; return Boolean(b?.{name}) && ({READY[name]}); }}",
        timeout=30_000,
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", READY)
def test_axe_finds_nothing_serious(
    page: Any, board_server: Callable[..., Any], logdir: Path, name: str, theme: str
) -> None:
    page.emulate_media(color_scheme=theme)
    open_page(page, board_server(logdir).url, name)
    assert serious_violations(page) == []


@pytest.mark.parametrize("name", READY)
def test_tab_reaches_every_control_and_shows_where_it_is(
    page: Any, board_server: Callable[..., Any], logdir: Path, name: str
) -> None:
    open_page(page, board_server(logdir).url, name)
    expected = page.evaluate(
        """() => [...document.querySelectorAll('button, a[href], input, select, textarea')]
          .filter((e) => e.checkVisibility() && !e.disabled && e.tabIndex >= 0
            && !(e.type === 'radio')).length"""
    )
    assert expected >= 5
    reached = set()
    for _ in range(400):
        page.keyboard.press("Tab")
        at = page.evaluate(
            """() => {
              const e = document.activeElement;
              if (!e || e === document.body) return null;
              e.dataset.reached ??= String(Math.random());
              // A field in a frame of its own may mark the frame.
              const mark = [e, e.parentElement].map((one) => getComputedStyle(one))
                .some((style) => style.outlineStyle !== 'none' || style.boxShadow !== 'none');
              return [e.dataset.reached, mark, e.outerHTML.slice(0, 120)];
            }"""
        )
        if at is None:
            continue
        identity, marked, html = at
        assert marked, f"no mark of the focus on {html}"
        if identity in reached and len(reached) >= expected:
            break
        reached.add(identity)
    assert len(reached) >= expected

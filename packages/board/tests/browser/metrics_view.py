"""Reads the state of the Metrics page from `window.__board`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fixtures.event_logs import simple_event

from headrace.formats.event_file import EventFileWriter

WALL = 1_700_000_000.0
PATIENCE_S = 60.0
_SUMMARY = """
() => {
  const m = window.__board?.metrics;
  if (!m) return null;
  return {
    idle: m.idle,
    sections: m.sections,
    charts: m.charts.map((c) => ({
      id: c.id, painted: c.painted, view: c.view, xTicks: c.xTicks, yTicks: c.yTicks,
      curves: c.curves.map((k) => ({ label: k.label, tag: k.tag, colour: k.colour, right: k.right,
        n: k.n, drawn: k.drawn, superseded: k.superseded })),
    })),
  };
}
"""
_CHART = """
(id) => {
  const found = window.__board?.metrics?.charts.find((c) => c.id === id);
  if (!found || found.painted < 0) return null;
  const plain = (list) => list && [...list].map((v) =>
    Number.isNaN(v) ? 'NaN' : v === Infinity ? 'Infinity' : v === -Infinity ? '-Infinity' : v);
  return {
    ...found,
    curves: found.curves.map((c) => ({
      ...c, x: plain(c.x), y: plain(c.y), raw: plain(c.raw), lo: plain(c.lo), hi: plain(c.hi),
      flags: c.flags && [...c.flags],
    })),
  };
}
"""


def until(
    question: Callable[[], Any],
    timeout_s: float = PATIENCE_S,
    every_s: float = 0.05,
    page: Any = None,
) -> Any:
    """Returns the first true value; the last one if none comes in time.

    Args:
      page: given where the condition does not read the page: its events are handled meanwhile.
    """
    end = time.monotonic() + timeout_s
    while True:
        value = question()
        if value or time.monotonic() > end:
            return value
        if page:
            page.wait_for_timeout(1000 * every_s)
        else:
            time.sleep(every_s)


def address(page: Any) -> str:
    """The page's address now; `page.url` does not change while Python sleeps."""
    return page.evaluate("location.href")


def wait_for_address(page: Any) -> None:
    """Waits until the address names the present view; it follows a moment after a change."""
    page.wait_for_function(
        "() => window.__board.addressIsCurrent && (window.__board.graphIsAddressed ?? true)"
    )


def settled(page: Any, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
    """Waits until every chart in sight is painted and nothing moves; returns the page's state."""
    seen: list[dict[str, Any]] = []

    def at_rest() -> bool:
        state = page.evaluate(_SUMMARY)
        seen.append(state)
        calm = (
            state is not None
            and state["idle"]
            and all(c["painted"] == len(c["curves"]) for c in state["charts"])
        )
        return bool(calm and len(seen) > 2 and seen[-2] == state and seen[-3] == state)

    assert until(at_rest, timeout_s), "the page did not come to rest"
    return seen[-1]


def chart(page: Any, name: str) -> dict[str, Any]:
    """Waits for a chart and returns it with its columns."""
    settled(page)
    found = until(lambda: page.evaluate(_CHART, name))
    assert found, f"there is no chart {name}"
    return found


def open_view(page: Any, url: str, view: str = "") -> None:
    """Opens the Metrics page afresh with some settings of the address."""
    page.goto("about:blank")
    page.goto(f"{url}#/metrics{'?' + view if view else ''}")


def write_run(folder: Path, rows: list[tuple[int, float, list[tuple[str, float]]]]) -> None:
    """Writes events of (step, wall time, values)."""
    with EventFileWriter(folder) as writer:
        for step, wall, values in rows:
            writer.write(simple_event(step, wall, values))

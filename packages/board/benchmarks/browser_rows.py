"""Measurements in headless Chromium: from navigation to the painted page."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from sides import Board, Side, wait_for

_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
_SIZE = {"width": 1600, "height": 1000}
_RUNS = 100
_CARDS = 6
_ALL_PAINTED = f"""() => {{
  const metrics = window.__board?.metrics;
  return metrics && metrics.idle && metrics.charts.length >= {_CARDS}
    && metrics.charts.every((c) => c.painted && c.curves.length === {_RUNS});
}}"""
_WATCH = """
window.__longest = 0; window.__blocked = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    window.__longest = Math.max(window.__longest, entry.duration);
    window.__blocked += entry.duration;
  }
}).observe({ type: 'longtask', buffered: true });
"""
# TensorBoard's graph lies in nested shadow roots.
_DEEP = """(selector) => {
  const found = [];
  const walk = (root) => {
    found.push(...root.querySelectorAll(selector));
    for (const e of root.querySelectorAll('*')) if (e.shadowRoot) walk(e.shadowRoot);
  };
  walk(document);
  return found.length;
}"""
_CLICK_DEEP = """([selector, text]) => {
  const walk = (root) => {
    for (const e of root.querySelectorAll(selector)) {
      if (e.textContent.trim().includes(text)) { e.click(); return true; }
    }
    for (const e of root.querySelectorAll('*')) if (e.shadowRoot && walk(e.shadowRoot)) return true;
    return false;
  };
  return walk(document);
}"""


@contextmanager
def opened(side: Side) -> Iterator[Page]:
    """Opens a page in a new browser that records long tasks."""
    try:
        side.start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path="/usr/bin/chromium", args=_ARGUMENTS
            )
            page = browser.new_context(viewport=_SIZE).new_page()
            page.add_init_script(_WATCH)
            yield page
            browser.close()
    finally:
        side.stop()


def open_metrics(side: Side, _: Path) -> dict[str, float]:
    """Measures the time until all lines of the first screen are painted, with 100 runs."""
    with opened(side) as page:
        if isinstance(side, Board):
            wait_for(lambda: b'"loading":false' in side.get("api/v1/health"))
            start = time.perf_counter()
            page.goto(side.url + "#/metrics")
            # Copying every point out for a test would be measured too: only counts are requested.
            page.wait_for_function(_ALL_PAINTED, polling=20)
            seconds = time.perf_counter() - start
        else:
            wait_for(lambda: side.get("data/plugin/scalars/tags").count(b"sweep") >= _RUNS)
            time.sleep(5)
            replied: list[float] = []
            page.on(
                "response",
                lambda r: replied.append(time.perf_counter()) if "timeSeries" in r.url else None,
            )
            start = time.perf_counter()
            page.goto(side.url + "#timeseries")
            # The cards on the screen send one request after another until all are done.
            while not replied or time.perf_counter() - replied[-1] < 4:
                page.wait_for_timeout(250)
                if time.perf_counter() - start > 60:
                    raise TimeoutError("TensorBoard requested no series")
            seconds = replied[-1] - start
        return {"all lines painted, s": seconds, **cost(page)}


def open_graph(side: Side, _: Path) -> dict[str, float]:
    """Measures the time from navigation to the first drawing of the graph."""
    with opened(side) as page:
        if isinstance(side, Board):
            wait_for(lambda: b'"nodes"' in side.get("api/v1/graphs"))
            first = "() => (window.__board?.graph?.ready ?? false) === true"
            address = "#/graph"
        else:
            wait_for(lambda: b"run" in side.get("data/plugin/graphs/info"))
            first = f"() => ({_DEEP})('g.node') > 0"
            address = "#graphs"
        start = time.perf_counter()
        page.goto(side.url + address)
        page.wait_for_function(first, timeout=60_000, polling=20)
        seconds = time.perf_counter() - start
        page.wait_for_timeout(1500)
        return {"navigation to first picture, s": seconds, **cost(page)}


def colour_by_structure(side: Side, _: Path) -> dict[str, float]:
    """Measures how long the page is blocked when it colours the graph by structure."""
    with opened(side) as page:
        if isinstance(side, Board):
            page.goto(side.url + "#/graph?colour=device")
            page.wait_for_function("() => (window.__board?.graph?.ready ?? false) === true")
            page.wait_for_timeout(1500)
            page.evaluate("window.__longest = 0")
            start = time.perf_counter()
            page.locator("label:has-text('Colour') select").select_option("structure")
            page.wait_for_function("() => window.__board.graph.colour === 'structure'")
        else:
            wait_for(lambda: b"run" in side.get("data/plugin/graphs/info"))
            page.goto(side.url + "#graphs")
            page.wait_for_function(f"() => ({_DEEP})('g.node') > 0", timeout=60_000)
            page.wait_for_timeout(3000)
            page.evaluate("window.__longest = 0")
            start = time.perf_counter()
            clicked = page.evaluate(
                _CLICK_DEEP, ["tf-radio-button, paper-radio-button, label", "Structure"]
            )
            assert clicked, "TensorBoard has no such button"
            page.wait_for_timeout(100)
        page.evaluate("() => new Promise(requestAnimationFrame)")
        seconds = time.perf_counter() - start
        page.wait_for_timeout(1000)
        return {"switch, ms": seconds * 1000, "longest task, ms": _longest(page)}


def cost(page: Page) -> dict[str, float]:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    metrics = session.send("Performance.getMetrics")["metrics"]
    heap = next(m["value"] for m in metrics if m["name"] == "JSHeapUsedSize")
    return {"longest task, ms": _longest(page), "heap, MB": heap / 1e6}


def _longest(page: Page) -> float:
    # A task of less than 50 ms is none to the browser; one millisecond stands for that.
    return max(1.0, float(page.evaluate("window.__longest")))

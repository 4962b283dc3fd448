"""Prints how fast the Metrics page paints, scrolls and follows. Needs Chromium.

python benchmarks/metrics_page.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from fixtures.event_logs import WALL, simple_event, write_m
from playwright.sync_api import sync_playwright

from headrace.formats.event_file import EventFileWriter

WITH_TEST_HOOKS = Path(__file__).parent.parent / "tests" / "fixtures" / "board_with_test_hooks.py"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WATCH = """
window.__longest = 0;
new PerformanceObserver((list) => {
  for (const e of list.getEntries()) window.__longest = Math.max(window.__longest, e.duration);
}).observe({ type: 'longtask', buffered: true });
"""
PAINTED = """() => {
  const charts = window.__board?.metrics?.charts ?? [];
  return charts.filter((c) => c.painted === 100).length;
}"""
SCROLL = """async () => {
  const pane = document.querySelector('.grid-scroll');
  const frames = []; let blank = 0; let since = 0;
  let last = performance.now();
  while (pane.scrollTop + pane.clientHeight < pane.scrollHeight - 1) {
    pane.scrollTop += 24;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    frames.push(now - last);
    const box = pane.getBoundingClientRect();
    const isBlank = [...pane.querySelectorAll('.tile-wait')].some((e) => {
      const r = e.getBoundingClientRect();
      return r.bottom > box.top && r.top < box.bottom;
    });
    since = isBlank ? since + now - last : 0;
    blank = Math.max(blank, since);
    last = now;
  }
  frames.sort((a, b) => a - b);
  const at = (part) => frames[Math.floor((frames.length - 1) * part)];
  return { frames: frames.length, p50: at(0.5), p95: at(0.95), worst: at(1), blank };
}"""
LAST = """() => {
  const c = window.__board?.metrics?.charts.find((c) => c.id === 'loss');
  return c && c.painted > 0 ? Math.max(...c.curves.map((k) => k.x.at(-1))) : -1;
}"""


def start(logdir: Path) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, str(WITH_TEST_HOOKS), "--logdir", str(logdir), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().rsplit(" on ", 1)[1].strip()


def paint_and_scroll(browser: Any, url: str) -> None:
    for _ in range(3):
        page = browser.new_context(viewport={"width": 1600, "height": 1000}).new_page()
        page.add_init_script(WATCH)
        began = time.perf_counter()
        page.goto(url + "#/metrics")
        while page.evaluate(PAINTED) < 6:
            time.sleep(0.01)
        seconds = time.perf_counter() - began
        page.wait_for_timeout(1500)
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        heap = page.evaluate("performance.memory?.usedJSHeapSize ?? 0") / 1e6
        longest = page.evaluate("window.__longest")
        print(
            f"metrics six cards painted {seconds:.2f} s, longest task {longest:.0f} ms,"
            f" heap {heap:.0f} MB"
        )
        found = page.evaluate(SCROLL)
        print(
            f"scrolling {found['frames']} frames, p50 {found['p50']:.1f}, p95 {found['p95']:.1f},"
            f" worst {found['worst']:.0f} ms; longest blank card {found['blank']:.0f} ms"
        )
        page.context.close()


def follow(browser: Any, folder: Path) -> None:
    writer = EventFileWriter(folder / "run")
    for step in range(50):
        writer.write(simple_event(step, WALL + step, [("loss", 1.0 / (step + 1))]))
    writer.flush()
    process, url = start(folder)
    try:
        page = browser.new_context(viewport={"width": 1600, "height": 1000}).new_page()
        page.goto(url + "#/metrics")
        while page.evaluate(LAST) != 49:
            time.sleep(0.05)
        delays = []
        for step in range(50, 70):
            began = time.perf_counter()
            writer.write(simple_event(step, WALL + step, [("loss", 1.0 / (step + 1))]))
            writer.flush()
            while page.evaluate(LAST) != step:
                time.sleep(0.005)
            delays.append(time.perf_counter() - began)
            time.sleep(0.37)
        delays.sort()
        print(f"append append to pixel: median {delays[10]:.2f} s, p95 {delays[18]:.2f} s")
        page.context.close()
    finally:
        process.terminate()
        writer.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        folder = write_m(Path(scratch) / "m")
        process, url = start(folder)
        try:
            time.sleep(3)  # until the logs are read
            paint_and_scroll(browser, url)
        finally:
            process.terminate()
        follow(browser, Path(scratch) / "live")
        browser.close()


if __name__ == "__main__":
    main()

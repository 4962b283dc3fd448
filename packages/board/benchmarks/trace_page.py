"""Measures how long the Trace page takes to show and zoom a million slices, in Chromium.

python packages/board/benchmarks/trace_page.py
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

BOARD = Path(__file__).resolve().parents[1]
# The conftest of tests/browser, not the one above it.
sys.path[:0] = [str(BOARD / "tests" / "browser"), str(BOARD / "tests")]

from browser.lasting_page import SIZE  # noqa: E402
from fixtures.traces import planted_trace, write_log  # noqa: E402

from conftest import CHROMIUM, BoardProcess  # noqa: E402

TRIES = 3
STEPS = 30

OPEN = """async () => {
  const began = performance.now();
  [...document.querySelectorAll('.tabs a')].find((a) => a.textContent === 'Trace').click();
  for (;;) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    const drawn = window.__board?.trace?.drawn;
    if (drawn?.sharp && drawn.at > began) return drawn.at - began;
    if (performance.now() - began > 30000) return NaN;
  }
}"""
ZOOM = """async ([share, delta]) => {
  const canvas = document.querySelector('.trace-canvas');
  const box = canvas.getBoundingClientRect();
  const began = performance.now();
  canvas.dispatchEvent(new WheelEvent('wheel', {
    clientX: box.left + share * box.width, clientY: box.top + 60, deltaY: delta,
    bubbles: true, cancelable: true,
  }));
  let first = 0;
  for (;;) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    const { at, sharp } = window.__board.trace.drawn;
    if (at > began && !first) first = at - began;
    if (at > began && sharp) return [first, at - began];
    if (performance.now() - began > 5000) return [first, NaN];
  }
}"""


def until(page: Any, expression: str) -> None:
    end = time.monotonic() + 60
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        time.sleep(0.02)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        planted = planted_trace()
        write_log(Path(folder), {10: planted.metadata}, losses=20)
        board = BoardProcess(Path(folder))
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            opened, steps = [], []
            for _ in range(TRIES + 1):
                page = browser.new_page(viewport=SIZE)
                page.goto(board.url)
                until(page, "!!document.querySelector('.tabs a')")
                time.sleep(1)
                opened.append(page.evaluate(OPEN))
                until(page, "window.__board.trace.analysed && window.__board.trace.drawn.sharp")
                for k in range(STEPS):
                    delta = -200 if k % 6 < 4 else 200
                    steps.append(page.evaluate(ZOOM, [0.1 + 0.8 * (k % 7) / 7, delta]))
                page.close()
        finally:
            browser.close()
            board.stop()
    print(
        f"{planted.slices:,} slices: overview, the first time (the server reads) {opened[0]:.0f} ms"
    )
    print(f"overview, after that: best {min(opened[1:]):.0f} ms of {TRIES}")
    for title, at in (("a zoom step, first picture", 0), ("a zoom step, sharp", 1)):
        times = sorted(step[at] for step in steps)
        p50, p95 = times[len(times) // 2], times[int(len(times) * 0.95)]
        print(f"{title}: p50 {p50:.0f} ms, p95 {p95:.0f} ms of {len(times)}")


if __name__ == "__main__":
    main()

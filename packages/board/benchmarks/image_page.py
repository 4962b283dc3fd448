"""Measures how long an image card takes to paint another of 5,000 steps, in Chromium.

python packages/board/benchmarks/image_page.py
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

BOARD = Path(__file__).resolve().parents[1]
# The conftest of tests/browser, not the one above it.
sys.path[:0] = [str(BOARD / "tests" / "browser"), str(BOARD / "tests")]

from browser.lasting_page import SIZE  # noqa: E402
from fixtures.media_logs import write_pictures  # noqa: E402

from conftest import CHROMIUM, BoardProcess  # noqa: E402

IMAGES = 5000
STEPS = 200

SLIDE = """async (step) => {
  const slider = document.querySelector('.image-card input[type=range]');
  const began = performance.now();
  slider.value = String(step);
  slider.dispatchEvent(new Event('input', {bubbles: true}));
  for (;;) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    const [card] = window.__board.images;
    if (card.step === step && card.panes[0]?.key.split(' ')[2] === String(step))
      return performance.now() - began;
    if (performance.now() - began > 5000) return NaN;
  }
}"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        write_pictures(Path(folder) / "run", IMAGES)
        board = BoardProcess(Path(folder))
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            page = browser.new_page(viewport=SIZE)
            page.goto(board.url + "#/metrics")
            end = time.monotonic() + 60
            while not page.evaluate(f"window.__board?.images?.[0]?.steps === {IMAGES}"):
                assert time.monotonic() < end
                time.sleep(0.05)
            time.sleep(1)
            random.seed(13)
            steps = [random.randrange(IMAGES) for _ in range(STEPS)]
            times = sorted(page.evaluate(SLIDE, step) for step in steps)
        finally:
            browser.close()
            board.stop()
    p50, p95 = times[STEPS // 2], times[int(STEPS * 0.95)]
    print(f"images slider to paint, {STEPS} of {IMAGES} images: p50 {p50:.0f} ms, p95 {p95:.0f} ms")


if __name__ == "__main__":
    main()

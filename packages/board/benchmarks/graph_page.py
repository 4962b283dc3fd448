"""Prints how fast the Graph page is on 42,000 ops. Needs Chromium.

python benchmarks/graph_page.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "browser"))

from fixtures import graphs
from graph_reader import GraphReader, write_graph
from playwright.sync_api import sync_playwright

WITH_TEST_HOOKS = Path(__file__).parent.parent / "tests" / "fixtures" / "board_with_test_hooks.py"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--enable-precise-memory-info",
]
TRIES = 3
LONG_TASKS = """
window.__longest = 0;
new PerformanceObserver((list) => {
  for (const e of list.getEntries()) window.__longest = Math.max(window.__longest, e.duration);
}).observe({ type: 'longtask', buffered: true });
"""
TOGGLE = """async () => {
  const tree = document.querySelector('[role=tree]');
  const was = window.__board.graphTimes.scenes;
  const start = performance.now();
  tree.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
  for (;;) {
    await new Promise(requestAnimationFrame);
    const t = window.__board.graphTimes;
    if (t.scenes > was && t.shownAt > start) return t.shownAt - start;
  }
}"""
COLOUR = """async (mode) => {
  const choice = [...document.querySelectorAll('.graph-bar select')].find((s) =>
    [...s.options].some((o) => o.value === 'device'));
  const before = window.__board.graphTimes.pictures;
  const start = performance.now();
  choice.value = mode;
  choice.dispatchEvent(new Event('change', { bubbles: true }));
  while (window.__board.graphTimes.pictures === before) await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""
PAN = """async () => {
  const canvas = document.querySelector('.graph-canvas');
  const r = canvas.getBoundingClientRect();
  canvas.setPointerCapture = () => {};
  const send = (type, x, y, buttons) => canvas.dispatchEvent(new PointerEvent(type, {
    pointerId: 1, clientX: r.x + x, clientY: r.y + y, buttons, button: 0, bubbles: true }));
  send('pointerdown', 700, 500, 1);
  const times = [];
  let last = await new Promise(requestAnimationFrame);
  for (let i = 1; i <= 90; i++) {
    send('pointermove', 700 - i * 4, 500 - Math.round(60 * Math.sin(i / 12)), 1);
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
  }
  send('pointerup', 400, 500, 0);
  times.sort((a, b) => a - b);
  return [times[45], times[85]];
}"""
EXPAND_ALL = """async () => {
  const button = [...document.querySelectorAll('button')]
    .find((b) => b.textContent === 'Expand all');
  const start = performance.now();
  button.click();
  for (;;) {
    await new Promise(requestAnimationFrame);
    const t = window.__board.graphTimes;
    if (t.visible > 40000 && !t.moving) return [performance.now() - start, t.layoutMs];
  }
}"""
SEARCH = """async (pattern) => {
  const box = document.querySelector('input[type=search]');
  box.focus();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const was = window.__board.graphTimes.scenes;
  const start = performance.now();
  box.value = pattern;
  box.dispatchEvent(new Event('input', { bubbles: true }));
  while (!document.querySelector('.g-search-found .g-node-link')) {
    await new Promise(requestAnimationFrame);
  }
  box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
  while (window.__board.graphTimes.scenes === was) await new Promise(requestAnimationFrame);
  const took = performance.now() - start;
  box.value = '';
  box.dispatchEvent(new Event('input', { bubbles: true }));
  return took;
}"""
ENDLESS = """async () => {
  const box = document.querySelector('input[type=search]');
  box.value = 'x';
  box.dispatchEvent(new Event('input', { bubbles: true }));
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const start = performance.now();
  let worst = 0;
  let last = start;
  box.value = '^(([a-z_0-9/])+.?)+[A-Z]$(a+)+$';
  box.dispatchEvent(new Event('input', { bubbles: true }));
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    const now = performance.now();
    worst = Math.max(worst, now - last);
    last = now;
    const said = document.querySelector('.g-search-found')?.textContent ?? '';
    if (said.includes('too long')) return [now - start, worst];
  }
}"""


def say(what: str, figures: list[float], unit: str = "ms") -> None:
    rounded = ", ".join(f"{figure:.1f}" for figure in figures)
    print(f"{what:58} best {min(figures):8.1f} {unit}   ({rounded})", flush=True)


def start(logdir: Path) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, str(WITH_TEST_HOOKS), "--logdir", str(logdir), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().rsplit(" on ", 1)[1].strip()


def cold(new_page: Callable[[], Any], url: str) -> None:
    first, longest, heap = [], [], []
    for _ in range(TRIES):
        page = new_page()
        page.add_init_script(LONG_TASKS)
        state = GraphReader(page, url).open("g36")
        page.wait_for_timeout(500)
        first.append(state["firstDrawMs"])
        longest.append(page.evaluate("window.__longest"))
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        heap.append(page.evaluate("performance.memory.usedJSHeapSize") / 1e6)
        page.context.close()
    say("graph navigation to first interactive frame", first)
    say("graph longest task", longest)
    say("graph heap of the page", heap, "MB")


def within_the_page(page: Any, url: str) -> None:
    reader = GraphReader(page, url)
    reader.open("g36")
    modes = ("device", "structure", "op", "structure")
    say("colours another colour mode", [page.evaluate(COLOUR, mode) for mode in modes])
    for name in ("average_gradients", "RMSProp", "batch_processing"):
        say(f"groups open {name}", toggled(reader, name))
    reader.toggle("tower_[0-3]")
    reader.toggle("tower_1")
    frames = [page.evaluate(PAN) for _ in range(TRIES)]
    say("panning pan, frame p50", [middle for middle, _ in frames])
    say("panning pan, frame p95", [late for _, late in frames])
    patterns = ("moments/mean$", "Mixed_[37]/.*Conv2D$", "tower_3/gradients/.*Reshape")
    say("search search, reveal and centre", [page.evaluate(SEARCH, one) for one in patterns])
    stopped = [page.evaluate(ENDLESS) for _ in range(TRIES)]
    say("search endless pattern is stopped after", [took for took, _ in stopped])
    say("search the page's longest wait meanwhile", [worst for _, worst in stopped])


def toggled(reader: GraphReader, name: str) -> list[float]:
    reader.select(name)
    if reader.item(name)["kind"] == "open":  # a dominant group opens by itself
        reader.page.get_by_role("tree").focus()
        reader.page.evaluate(TOGGLE)
        reader.settled(lambda s: reader.item(name, s)["kind"] == "group")
    took = []
    for _ in range(TRIES):
        reader.page.get_by_role("tree").focus()
        took.append(reader.page.evaluate(TOGGLE))
        reader.settled(lambda s: reader.item(name, s)["kind"] == "open")
        reader.page.evaluate(TOGGLE)
        reader.settled(lambda s: reader.item(name, s)["kind"] == "group")
    return took


def everything(new_page: Callable[[], Any], url: str) -> None:
    took, layouts, pans = [], [], []
    for _ in range(TRIES):
        page = new_page()
        reader = GraphReader(page, url)
        reader.open("g36")
        drawn, layout = page.evaluate(EXPAND_ALL)
        took.append(drawn)
        layouts.append(layout)
        bounds = page.locator(".graph-canvas").bounding_box()
        page.mouse.move(bounds["x"] + 260, bounds["y"] + 400)
        for _ in range(7):
            page.mouse.wheel(0, -300)
            page.wait_for_timeout(50)
        reader.settled()
        pans.append(page.evaluate(PAN)[1])
        page.context.close()
    say("panning expand all 42,558 ops, first draw", took)
    say("panning   of that, layout in the worker", layouts)
    say("panning pan among all of them, frame p95", pans)


def wide(page: Any, url: str) -> None:
    reader = GraphReader(page, url)
    reader.open("wide")
    say("groups open a group of 1278 children that do not fold", toggled(reader, "wide"))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_graph(Path(folder, "g36"), graphs.g36())
        graph = graphs.small()
        letters = "abcdefghijklmnopqrstuvwxyz"
        for i in range(639):
            word = letters[i // 26] + letters[i % 26]  # no numbers: nothing to fold
            graph.node.add(name=f"wide/{word}_restore", op="RestoreV2")
            node = graph.node.add(name=f"wide/{word}", op="Assign")
            node.input.append(f"wide/{word}_restore")
        write_graph(Path(folder, "wide"), graph)
        process, url = start(Path(folder))
        time.sleep(1)
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path="/usr/bin/chromium", args=ARGUMENTS
                )

                def new_page() -> Any:
                    size = {"width": 1600, "height": 1000}
                    return browser.new_context(viewport=size).new_page()

                cold(new_page, url)
                within_the_page(new_page(), url)
                wide(new_page(), url)
                everything(new_page, url)
        finally:
            process.terminate()
            process.wait(10)


if __name__ == "__main__":
    main()

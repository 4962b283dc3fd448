"""How fast the Graph page is on 42,000 ops: the plan's A14, A15, A18, A19 and A21.

Times depend on the machine and on what else it does, so each is the best of three tries.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixtures import graphs
from graph_reader import GraphReader, write_graph


@pytest.fixture(scope="module")
def graph_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("large_graph")
    write_graph(root / "g36", graphs.g36())
    return root


@pytest.fixture
def reader(page: Any, board_server: Any, graph_logs: Path) -> GraphReader:
    return GraphReader(page, board_server(graph_logs).url)


LONG_TASKS = """() => {
  window.__longTasks = [];
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) window.__longTasks.push(entry.duration);
  }).observe({ type: 'longtask', buffered: true });
}"""


def best(tries: list[float]) -> float:
    print([round(t, 1) for t in tries])
    return min(tries)


def timed_toggle(reader: GraphReader) -> float:
    """From the press of Enter to the first frame of the new picture, in the page's own clock."""
    return reader.page.evaluate(
        """async () => {
          const tree = document.querySelector('[role=tree]');
          const was = window.__board.graphTimes.scenes;
          tree.focus();
          const start = performance.now();
          tree.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}));
          for (;;) {
            await new Promise(r => requestAnimationFrame(r));
            const g = window.__board.graphTimes;
            if (g.scenes > was && g.shownAt > start) return g.shownAt - start;
            if (performance.now() - start > 20000) return Infinity;
          }
        }"""
    )


def test_the_first_interactive_frame_comes_within_four_seconds(
    reader: GraphReader,
) -> None:
    times, longest, heaps = [], [], []
    for _ in range(3):
        reader.page.goto("about:blank")
        reader.page.add_init_script(f"({LONG_TASKS})()")
        state = reader.open("g36")
        times.append(state["firstDrawMs"])
        longest.append(max(reader.page.evaluate("window.__longTasks"), default=0.0))
        heaps.append(reader.page.evaluate("performance.memory.usedJSHeapSize / 1e6"))
    assert best(times) <= 4000
    assert best(longest) <= 200
    assert best(heaps) <= 120


def test_colours_change_within_100_ms(reader: GraphReader) -> None:
    reader.open("g36")
    took = [
        reader.page.evaluate(
            """async (mode) => {
              const choice = [...document.querySelectorAll('.graph-bar select')]
                .find(s => [...s.options].some(o => o.value === 'device'));
              const before = window.__board.graphTimes.pictures;
              const start = performance.now();
              choice.value = mode;
              choice.dispatchEvent(new Event('change', {bubbles: true}));
              while (window.__board.graphTimes.pictures === before)
                await new Promise(r => requestAnimationFrame(r));
              return performance.now() - start;
            }""",
            mode,
        )
        for mode in ("device", "structure", "op")
    ]
    assert best(took) <= 100


def expanded(reader: GraphReader, name: str, tries: int) -> list[float]:
    """Opens a group by the keyboard and closes it again, some times."""
    took = []
    reader.select(name)
    for _ in range(tries):
        took.append(timed_toggle(reader))
        reader.settled(lambda s: reader.item(name, s)["kind"] == "open")
        reader.page.keyboard.press("Enter")
        reader.settled(lambda s: reader.item(name, s)["kind"] == "group")
    return took


def test_a_group_opens_within_200_ms(reader: GraphReader) -> None:
    reader.open("g36")
    took = expanded(reader, "average_gradients", 3) + expanded(reader, "RMSProp", 3)
    took.sort()
    print([round(t) for t in took])
    assert took[-2] <= 200  # of six, one may meet another process


def test_panning_stays_smooth(reader: GraphReader) -> None:
    reader.open("g36")
    reader.toggle("tower_[0-3]")
    reader.toggle("tower_1")
    middle, late = best_pan(reader)
    assert middle <= 17.5
    assert late <= 50.5


def best_pan(reader: GraphReader) -> tuple[float, float]:
    results = []
    for _ in range(3):
        frames = reader.page.evaluate(
            """async () => {
              const canvas = document.querySelector('.graph-canvas');
              const r = canvas.getBoundingClientRect();
              const send = (type, x, y, buttons) => canvas.dispatchEvent(new PointerEvent(type, {
                pointerId: 1, clientX: r.x + x, clientY: r.y + y,
                buttons, button: 0, bubbles: true}));
              canvas.setPointerCapture = () => {};
              send('pointerdown', 700, 500, 1);
              const times = [];
              let last = await new Promise(r => requestAnimationFrame(r));
              for (let i = 1; i <= 90; i++) {
                send('pointermove', 700 - i * 4, 500 - Math.round(60 * Math.sin(i / 12)), 1);
                const now = await new Promise(r => requestAnimationFrame(r));
                times.push(now - last);
                last = now;
              }
              send('pointerup', 400, 500, 0);
              return times.sort((a, b) => a - b);
            }"""
        )
        results.append((frames[len(frames) // 2], frames[int(len(frames) * 0.95)]))
        reader.page.wait_for_timeout(300)
    print([(round(a, 1), round(b, 1)) for a, b in results])
    return min(results, key=lambda r: r[1])


def test_all_42000_ops_open_within_three_seconds_and_pan(reader: GraphReader) -> None:
    took = []
    for _ in range(3):
        reader.page.goto("about:blank")
        reader.open("g36")
        took.append(
            reader.page.evaluate(
                """async () => {
                  const button = [...document.querySelectorAll('button')]
                    .find(b => b.textContent === 'Expand all');
                  const start = performance.now();
                  button.click();
                  for (;;) {
                    await new Promise(r => requestAnimationFrame(r));
                    const t = window.__board.graphTimes;
                    if (t.visible > 40000 && !t.moving) return performance.now() - start;
                    if (performance.now() - start > 20000) return Infinity;
                  }
                }"""
            )
        )
    assert best(took) <= 3000
    bounds = reader.page.locator(".graph-canvas").bounding_box()
    reader.page.mouse.move(bounds["x"] + 260, bounds["y"] + 400)
    for _ in range(7):
        reader.page.mouse.wheel(0, -300)
        reader.page.wait_for_timeout(50)
    reader.settled()
    _, late = best_pan(reader)
    assert late <= 50.5


def test_a_search_of_all_names_takes_less_than_300_ms(reader: GraphReader) -> None:
    reader.open("g36")
    took = []
    for pattern in ("moments/mean$", "Mixed_[37]/.*Conv2D$", "tower_3/gradients/.*Reshape"):
        took.append(
            reader.page.evaluate(
                """async (pattern) => {
                  const box = document.querySelector('input[type=search]');
                  box.focus();
                  await new Promise(r => setTimeout(r, 400));
                  const start = performance.now();
                  box.value = pattern;
                  box.dispatchEvent(new Event('input', {bubbles: true}));
                  for (;;) {
                    await new Promise(r => requestAnimationFrame(r));
                    const first = document.querySelector('.g-search-found .g-node-link');
                    if (first) break;
                    if (performance.now() - start > 5000) return Infinity;
                  }
                  box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}));
                  const was = window.__board.graphTimes.scenes;
                  while (window.__board.graphTimes.scenes === was)
                    await new Promise(r => requestAnimationFrame(r));
                  const end = performance.now() - start;
                  box.value = '';
                  box.dispatchEvent(new Event('input', {bubbles: true}));
                  return end;
                }""",
                pattern,
            )
        )
    assert best(took) <= 300


def test_1278_children_open_within_600_ms(page: Any, board_server: Any, tmp_path: Any) -> None:
    graph = graphs.small()
    letters = "abcdefghijklmnopqrstuvwxyz"
    for i in range(639):
        word = letters[i // 26] + letters[i % 26]  # no numbers: nothing to fold
        graph.node.add(name=f"wide/{word}_restore", op="RestoreV2")
        graph.node.add(name=f"wide/{word}", op="Assign").input.append(f"wide/{word}_restore")
    write_graph(tmp_path / "wide", graph)
    reader = GraphReader(page, board_server(tmp_path).url)
    reader.open("wide")
    took = expanded(reader, "wide", 3)
    assert reader.toggle("wide")["visible"] > 1278
    assert best(took) <= 600

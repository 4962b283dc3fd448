"""Measures logs of 100,000 tags with one point each: memory, time until served, time until drawn.

    cd packages/board/benchmarks
    python many_tags.py --tensorboard ../../../.peers/tensorflow/bin/tensorboard
    python many_tags.py --only flat --tries 1       # one log, ours alone

The logs hold 100,000 series: `folders` (100 folders of 1000 tags), `flat` (no folder), `sections`
(each tag in a folder of its own) and `runs` (100 runs of 1000 tags). Memory is what the program
occupies over its memory on an empty folder, after everything was read and the page was opened.
`growing` is `folders` while a tag gets a new point: how long the page is blocked then.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from browser_rows import cost, opened
from fixtures.event_logs import WALL, curve, simple_event
from sides import Board, BoardWithTestHooks, Side, TensorBoard, wait_for

from headrace.formats.event_file import EventFileWriter

SERIES = 100_000
RUNS = 100
NAMES: dict[str, Callable[[int], str]] = {
    "folders": lambda i: f"layer{i // 1000}/weight{i % 1000}",
    "flat": lambda i: f"weight{i}",
    "sections": lambda i: f"layer{i}/weight",
    "runs": lambda i: f"layer{i // 100}/weight{i % 100}",
    "growing": lambda i: f"layer{i // 1000}/weight{i % 1000}",
}
# A card of ours is drawn when its canvas has a curve.
DRAWN = """() => {
  const charts = window.__board?.metrics?.charts ?? [];
  return charts.some((c) => c.painted > 0);
}"""


def write(folder: Path, log: str) -> Path:
    """Writes one of the logs; an event holds 100 values."""
    runs = RUNS if log == "runs" else 1
    for run in range(runs):
        with EventFileWriter(folder / f"run{run:03d}") as writer:
            for values in _hundreds(log, SERIES // runs):
                writer.write(simple_event(0, WALL, values))
    return folder


def _hundreds(log: str, tags: int) -> Iterator[list[tuple[str, float]]]:
    for first in range(0, tags, 100):
        yield [(NAMES[log](i), curve(i)) for i in range(first, first + 100)]


def empty_memory(side: Side) -> float:
    """Returns: the memory of the program on an empty folder, MB."""
    try:
        side.start()
        time.sleep(1.5)
        return side.rss_mb()
    finally:
        side.stop()


def read(side: Side, empty_mb: float) -> dict[str, float]:
    """Reads a log. Returns: figures by name."""
    try:
        side.start()
        wait_for(lambda: _is_read(side))
        seconds = time.perf_counter() - side.started_at
        time.sleep(0.5)
        added = (side.rss_mb() - empty_mb) * 1e6 / SERIES
        return {"start until served, s": seconds, "bytes a series added when served": added}
    finally:
        side.stop()


def draw(side: Side, log: str, empty_mb: float) -> dict[str, float]:
    """Opens the page of a log. Returns: figures by name."""
    figures: dict[str, float] = {}
    with opened(side) as page:
        wait_for(lambda: _is_read(side))
        sizes: list[int] = []
        replied: list[float] = []
        page.on("response", lambda r: sizes.append(_size(r)) if "/tags" in r.url else None)
        page.on(
            "response",
            lambda r: replied.append(time.perf_counter()) if "timeSeries" in r.url else None,
        )
        start = time.perf_counter()
        if isinstance(side, Board):
            page.goto(side.url + "#/metrics")
            page.wait_for_function(DRAWN, polling=10, timeout=120_000)
            figures["address to first card, s"] = time.perf_counter() - start
        else:
            page.goto(side.url + "#timeseries")
            # The reply to the first card; it is drawn after that.
            while not replied:
                page.wait_for_timeout(10)
                if time.perf_counter() - start > 120:
                    break
            seconds = replied[0] - start if replied else float("inf")
            figures["address to first card, s"] = seconds
        page.wait_for_timeout(3000)
        figures.update(cost(page))
        figures["elements"] = float(page.evaluate("document.querySelectorAll('*').length"))
        figures["tags reply, MB"] = sum(sizes) / 1e6
        if log == "growing":
            figures.update(_growing(page, side))
        figures["bytes a series added when opened"] = (side.rss_mb() - empty_mb) * 1e6 / SERIES
    return figures


def _growing(page: object, side: Side) -> dict[str, float]:
    """Adds points and new tags while the page is open. Returns: its longest task, ms."""
    page.evaluate("window.__longest = 0; window.__blocked = 0")  # type: ignore[attr-defined]
    with EventFileWriter(side.logdir / "run000", ".growing") as writer:
        for step in range(1, 21):
            writer.write(simple_event(step, WALL + step, [("layer0/weight0", curve(step))]))
            writer.flush()
            page.wait_for_timeout(150)  # type: ignore[attr-defined]
        page.wait_for_timeout(500)  # type: ignore[attr-defined]
    longest = float(page.evaluate("window.__longest"))  # type: ignore[attr-defined]
    blocked = float(page.evaluate("window.__blocked"))  # type: ignore[attr-defined]
    for path in (side.logdir / "run000").glob("*.growing"):
        path.unlink()
    return {"longest task while it grows, ms": longest, "blocked a point, ms": blocked / 20}


def _is_read(side: Side) -> bool:
    if isinstance(side, Board):
        loading = b'"loading":true' in side.get("api/v1/health")
        return not loading and len(side.get("api/v1/tags")) > 0
    # TensorBoard has no sign for the end: each tag has a display name.
    return side.get("data/plugin/scalars/tags").count(b"displayName") >= SERIES


def _size(response: object) -> int:
    try:
        return int(response.request.sizes()["responseBodySize"])  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - of a reply that a closed page cannot tell any more
        return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tensorboard", type=Path, help="its program; without it, ours alone")
    parser.add_argument("--only", default=",".join(NAMES), help="logs, joined by commas")
    parser.add_argument("--logs", type=Path, help="where to keep the logs between runs")
    parser.add_argument("--tries", type=int, default=2)
    options = parser.parse_args()
    # Of ours, the page is read by test hooks, whose bundle takes seconds to build.
    kinds: list[tuple[Callable[[Path], Side], Callable[[Path], Side]]]
    kinds = [(Board, BoardWithTestHooks)]
    if options.tensorboard:
        peer: Callable[[Path], Side] = partial(TensorBoard, options.tensorboard)
        kinds.append((peer, peer))
    with tempfile.TemporaryDirectory() as scratch:
        nothing = Path(scratch) / "nothing"
        nothing.mkdir()
        empty = [empty_memory(kind(nothing)) for kind, _ in kinds]
        for log in options.only.split(","):
            folder = (options.logs or Path(scratch)) / log
            if not folder.exists():
                write(folder, log)
            best: list[dict[str, float]] = [{} for _ in kinds]
            for _ in range(options.tries):
                for figures, (kind, drawing), empty_mb in zip(best, kinds, empty, strict=True):
                    found = read(kind(folder), empty_mb)
                    found.update(draw(drawing(folder), log, empty_mb))
                    for what, value in found.items():
                        figures[what] = min(value, figures.get(what, value))
            for what, value in best[0].items():
                other = best[1].get(what) if len(best) > 1 else None
                beside = "" if other is None else f"  TensorBoard {other:>10.4g}"
                print(f"{log:9} {what:34} {value:>10.4g}{beside}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures the board and TensorBoard on the same logs, in one run: the figures of docs/board.md.

    cd packages/board/benchmarks
    python against_tensorboard.py --tensorboard ../../../.peers/tensorflow/bin/tensorboard
    python against_tensorboard.py --only load,graph     # some rows, ours alone

Each row is tried three times, the two sides in turn, and the best counts: the machine is noisy, and
only what was measured side by side may be compared. Nothing is sent but to this machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import browser_rows
import server_rows
from fixtures import event_logs, graphs
from sides import Board, BoardWithTestHooks, Side, TensorBoard

TRIES = 3
ROWS: dict[str, Callable[[Side, Path], dict[str, float]]] = {
    "start": server_rows.start_on_nothing,
    "load-A": server_rows.load_all,
    "load-B": server_rows.load_all,
    "load-C": server_rows.load_all,
    "series": server_rows.one_series,
    "runs": server_rows.hundred_runs,
    "metrics": browser_rows.open_metrics,
    "append": server_rows.appended_event,
    "graph": browser_rows.open_graph,
    "colours": browser_rows.colour_by_structure,
}
LOG_OF = {
    "start": "nothing",
    "load-A": "A",
    "load-B": "B",
    "load-C": "C",
    "series": "A",
    "runs": "M",
    "metrics": "M",
    "append": "growing",
    "graph": "G36",
    "colours": "G36",
}
WRITERS: dict[str, Callable[[Path], object]] = {
    "nothing": lambda folder: folder.mkdir(parents=True, exist_ok=True),
    "A": event_logs.write_a,
    "B": event_logs.write_b,
    "C": event_logs.write_c,
    "M": event_logs.write_m,
    "growing": server_rows.write_growing,
    "G36": lambda folder: server_rows.write_graph(folder, graphs.g36()),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tensorboard", type=Path, help="its program; without it, ours alone")
    parser.add_argument("--only", default="", help="row names, joined by commas")
    parser.add_argument("--logs", type=Path, help="where to keep the logs between runs")
    parser.add_argument("--tries", type=int, default=TRIES)
    options = parser.parse_args()
    requested = [name for name in options.only.split(",") if name]
    with tempfile.TemporaryDirectory() as scratch:
        logs = options.logs or Path(scratch)
        for name in ROWS:
            if not requested or any(name == w or name.split("-")[0] == w for w in requested):
                report(name, options, logs)
    return 0


def report(name: str, options: argparse.Namespace, logs: Path) -> None:
    """Prints a row: each figure of ours, of TensorBoard, and the ratio."""
    folder = logs / LOG_OF[name]
    if not folder.exists():
        WRITERS[LOG_OF[name]](folder)
    in_browser = ROWS[name].__module__ == browser_rows.__name__
    kinds: list[Callable[[Path], Side]] = [BoardWithTestHooks if in_browser else Board]
    if options.tensorboard:
        kinds.append(lambda logdir: TensorBoard(options.tensorboard, logdir))
    best: list[dict[str, float]] = [{} for _ in kinds]
    for _ in range(options.tries):
        for figures, kind in zip(best, kinds, strict=True):
            for what, value in ROWS[name](kind(folder), folder).items():
                figures[what] = min(value, figures.get(what, value))
    for what, value in best[0].items():
        peer = best[1].get(what) if len(best) > 1 else None
        beside = "" if peer is None else f"  TensorBoard {peer:>10.4g}  {peer / value:>8.1f}x"
        print(f"{name:6} {what:34} {value:>10.4g}{beside}", flush=True)
    print(json.dumps({"row": name, "ours": best[0], "peer": best[1:]}), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())

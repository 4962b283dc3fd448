"""Measures reading, downsampling and analysing a trace of a million slices.

python packages/board/benchmarks/trace_cut.py [SLICES]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from fixtures.graphs_client import GraphsClient  # noqa: E402
from fixtures.traces import planted_trace, write_log  # noqa: E402

from headrace.board.trace.analysis.critical_path import critical_path  # noqa: E402
from headrace.board.trace.analysis.memory_curve import memory_curves  # noqa: E402
from headrace.board.trace.analysis.stalls import find_stalls  # noqa: E402
from headrace.board.trace.analysis.totals import totals_of  # noqa: E402
from headrace.board.trace.reading.read_step import read_step, step_columns  # noqa: E402
from headrace.board.trace.zoom.downsample import downsample_trace  # noqa: E402

TRIES = 3
PX = 1600


def best(title: str, act: Callable[[], Any]) -> Any:
    least = float("inf")
    for _ in range(TRIES):
        began = time.perf_counter()
        result = act()
        least = min(least, time.perf_counter() - began)
    print(f"{title:44} {1e3 * least:8.1f} ms")
    return result


def main() -> None:
    planted = planted_trace(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
    print(f"{planted.slices:,} slices in {len(planted.metadata) / 1e6:.0f} MB, {PX} pixels")
    best("scan of the bytes", lambda: step_columns(planted.metadata))
    with tempfile.TemporaryDirectory() as folder:
        write_log(Path(folder), {1: planted.metadata})
        panels = [GraphsClient(Path(folder)) for _ in range(TRIES)]  # none has read the trace
        best(
            "first reply of the server",
            lambda: panels.pop().client.get(f"/api/v1/trace/0?px={PX}"),
        )
    trace = best("read: scan, lanes, transfers, clocks", lambda: read_step(planted.metadata))
    whole = trace.duration_ns
    for zoom in (1, 2, 10, 100, 1000):
        t0 = 0.0 if zoom == 1 else whole * 0.4
        cut = best(f"cut, zoom {zoom}", lambda: downsample_trace(trace, t0, t0 + whole / zoom, PX))  # noqa: B023
        print(f"{'':46}{len(cut):,} items of {cut.n:,} slices")
    path = best("critical path", lambda: critical_path(trace))
    print(f"{'':46}{len(path):,} slices")
    best("stalls", lambda: find_stalls(trace))
    best("totals of everything", lambda: totals_of(trace))
    best("memory curves", lambda: memory_curves(trace))


if __name__ == "__main__":
    main()

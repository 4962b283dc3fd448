"""What each node took in a trace, with the time of fused nodes divided among their parts."""

from __future__ import annotations

import numpy as np

from headrace.board.trace.analysis.unique_slices import unique_slices
from headrace.board.trace.reading.step_trace import TRANSFER, StepTrace


def node_times(trace: StepTrace) -> dict[str, float]:
    """Returns microseconds by the name of each node; the turns of a loop are added.

    The parts of a fused node get equal shares, as the runtime divides them for its own placement.
    """
    counts = unique_slices(trace) & (trace.kind != TRANSFER)
    pairs, at = np.unique(
        trace.name[counts].astype(np.int64) * max(1, len(trace.labels)) + trace.label[counts],
        return_inverse=True,
    )
    took = np.bincount(at, trace.duration[counts], len(pairs)) / 1000.0
    times: dict[str, float] = {}
    for pair, micros in zip(pairs.tolist(), took.tolist(), strict=True):
        name, label = divmod(pair, max(1, len(trace.labels)))
        parts = trace.labels[label].fused or (trace.names[name],)
        for part in parts:
            times[part] = times.get(part, 0.0) + micros / len(parts)
    return times

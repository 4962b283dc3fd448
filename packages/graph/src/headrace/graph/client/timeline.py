"""Timeline: the trace of a step in Chrome's format."""

from __future__ import annotations

import json
from typing import Any

from headrace.graph.typing.aliases import Proto


def chrome_trace(step_stats: Any) -> str:
    """Converts StepStats to Chrome's trace format: one process per device, one row per thread."""
    events: list[dict[str, Any]] = []
    for number, device in enumerate(step_stats.dev_stats):
        events.append(
            {"ph": "M", "pid": number, "name": "process_name", "args": {"name": device.device}}
        )
        for node in device.node_stats:
            events.append(
                {
                    "ph": "X",
                    "pid": number,
                    "tid": node.thread_id,
                    "name": node.node_name,
                    "cat": "Op",
                    "ts": node.all_start_micros,
                    "dur": max(1, node.all_end_rel_micros),
                    "args": {"label": node.timeline_label},
                }
            )
    return json.dumps({"traceEvents": events})


class Timeline:
    """The trace of a step, for `chrome://tracing` and Perfetto.

    Args:
      step_stats: RunMetadata.step_stats of a run with FULL_TRACE.
      graph: ignored: the trace has times only.
    """

    def __init__(self, step_stats: Proto, graph: object = None) -> None:
        self._step_stats = step_stats

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False
    ) -> str:
        """Returns the trace as JSON: a process for each device, a row for each thread.

        Args:
          show_dataflow, show_memory: ignored: the trace has times only.
        """
        return chrome_trace(self._step_stats)

"""Reads event files with tensorboard's reader: python read_logs.py FOLDER writes JSON.

Runs where tensorboard is, so it imports nothing of ours. The JSON is
{tag: {"plugin": name, "rows": [[step, wall, value or null], ...]}}, in order of file.
"""

from __future__ import annotations

import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

from tensorboard.backend.event_processing.event_file_loader import EventFileLoader  # noqa: E402
from tensorboard.util.tensor_util import make_ndarray  # noqa: E402


def scalar(tensor: object) -> str | None:
    """Returns the number of a tensor; None where tensorboard itself cannot read it."""
    try:
        return repr(float(make_ndarray(tensor).item()))
    except (TypeError, ValueError):
        return None


def read(folder: str) -> dict:
    """Returns what tensorboard makes of a folder's files; old summaries are made new by it."""
    found: dict = {}
    plugins: dict = {}
    for name in sorted(os.listdir(folder)):
        if "tfevents" not in name:
            continue
        plugins.clear()
        for event in EventFileLoader(os.path.join(folder, name)).Load():
            place = [event.step, event.wall_time]
            for value in event.summary.value:
                if value.metadata.plugin_data.plugin_name:
                    plugins[value.tag] = value.metadata.plugin_data.plugin_name
                plugin = plugins.get(value.tag, "")
                number = None
                if plugin == "scalars":
                    number = scalar(value.tensor)
                entry = found.setdefault(value.tag, {"plugin": plugin, "rows": []})
                entry["rows"].append([*place, number])
            what = event.WhichOneof("what")
            if what in ("graph_def", "meta_graph_def"):
                found.setdefault(what, {"plugin": "graph", "rows": []})["rows"].append(
                    [*place, None]
                )
            elif what == "tagged_run_metadata":
                tag = event.tagged_run_metadata.tag
                found.setdefault(tag, {"plugin": "run_metadata", "rows": []})["rows"].append(
                    [*place, None]
                )
    return found


if __name__ == "__main__":
    json.dump(read(sys.argv[1]), sys.stdout, indent=0, sort_keys=True)

"""Reads the values of event files with tensorboard's reader: python read_values.py FOLDER.

Runs where tensorboard is, so it imports nothing of ours. Writes JSON, {tag: [[step, value], ...]},
for histograms, images, audio, text and PR curves, old ones as tensorboard makes them new: numbers
as lists, texts as texts, other bytes as their SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

from tensorboard.backend.event_processing.event_file_loader import EventFileLoader  # noqa: E402
from tensorboard.util.tensor_util import make_ndarray  # noqa: E402

PLUGINS = ("histograms", "images", "audio", "text", "pr_curves")


def plain(plugin: str, tensor: object) -> object:
    """Returns a value as JSON can say it."""
    array = make_ndarray(tensor)
    if plugin in ("histograms", "pr_curves"):
        return array.tolist()
    if plugin == "text":
        return {"shape": list(array.shape), "texts": [t.decode() for t in array.reshape(-1)]}
    if plugin == "images":
        return [int(array[0]), int(array[1]), *(digest(item) for item in array[2:])]
    return [digest(row[0]) for row in array.reshape(len(array), -1)]


def digest(data: bytes) -> str:
    """Returns the SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def read(folder: str) -> dict:
    """Returns the values of a folder's files by tag."""
    found: dict = {}
    for name in sorted(os.listdir(folder)):
        plugins: dict = {}
        if "tfevents" not in name:
            continue
        for event in EventFileLoader(os.path.join(folder, name)).Load():
            for value in event.summary.value:
                owner = value.metadata.plugin_data.plugin_name
                plugin = plugins.setdefault(value.tag, owner)
                if plugin in PLUGINS:
                    row = [event.step, plain(plugin, value.tensor)]
                    found.setdefault(value.tag, {"plugin": plugin, "rows": []})["rows"].append(row)
    return found


if __name__ == "__main__":
    json.dump(read(sys.argv[1]), sys.stdout, indent=1, sort_keys=True)
    print()

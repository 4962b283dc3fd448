"""Reads all runs below a folder with tensorboard's own reader: python read_runs.py FOLDER.

Runs where tensorboard is, so it imports nothing of ours. Writes JSON,
{run: {tag: {"plugin": name, "rows": [[step, wall, number or null]], "values": [value]}}}; numbers
are of scalars, values of other kinds, as read_logs.py and read_values.py of tests/peer have them.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "peer"))
import read_logs  # noqa: E402
import read_values  # noqa: E402


def read(root: str) -> dict:
    """Returns the runs by the names that the board gives them."""
    runs = {}
    for folder, _, names in os.walk(root):
        if any("tfevents" in name for name in names):
            found = read_logs.read(folder)
            values = read_values.read(folder)
            for tag, entry in found.items():
                entry["values"] = [row[1] for row in values.get(tag, {"rows": []})["rows"]]
            runs[os.path.relpath(folder, root)] = found
    return runs


if __name__ == "__main__":
    json.dump(read(sys.argv[1]), sys.stdout)

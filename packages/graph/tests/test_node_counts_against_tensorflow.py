"""Calls add as many nodes as on TensorFlow 1.15, and random operations in them get its seeds.

TENSORFLOW1_PYTHON names a Python with TensorFlow 1.15; CONTRIBUTING.md has the commands.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = os.environ.get("TENSORFLOW1_PYTHON")
pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(not PYTHON, reason="TENSORFLOW1_PYTHON names no Python"),
]
FOLDER = Path(__file__).parent / "counted_calls"


def counted(python, module, subject):
    environment = {
        k: v for k, v in os.environ.items() if k != "PYTHONPATH" or module != "tensorflow"
    }
    line = [python, "-W", "ignore", FOLDER / "count_calls.py", module, subject]
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize("subject", ["arrays", "networks", "inputs", "training"])
def test_calls_count_as_tensorflows(subject):
    ours = counted(sys.executable, "headrace.graph", subject)
    theirs = counted(PYTHON, "tensorflow", subject)
    # What only one of both rejects is the subject of other tests.
    built = [k for k in theirs if "error" not in (theirs[k][0], ours[k][0])]
    differing = {key: (ours[key], theirs[key]) for key in built if ours[key] != theirs[key]}
    known = set((FOLDER / "differences.txt").read_text().splitlines())
    assert {k: v for k, v in differing.items() if k not in known} == {}
    equal = {key for key in built if key not in differing}
    assert known & equal == set(), "these are equal now: remove them from differences.txt"

"""A session of TensorFlow runs on servers of Headrace.

TENSORFLOW_PYTHON names a Python with TensorFlow; by default the one that runs the tests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from served_cluster import in_process

pytestmark = pytest.mark.peer

PYTHON = os.environ.get("TENSORFLOW_PYTHON") or sys.executable


def test_a_program_of_tensorflow_over_three_tasks() -> None:
    script = Path(__file__).parent / "tensorflow_client.py"
    with in_process(ps=2, worker=1) as cluster:
        done = subprocess.run(
            [PYTHON, str(script), cluster.target("worker")],
            capture_output=True, text=True, timeout=120,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["y"] == [4.0, 7.0]
    assert seen["several"] == [[2.0, 3.0], ["a", "bc"], [5.0, 6.0]]
    assert seen["total"] == 14.0
    tasks = [f"/job:{job}/replica:0/task:{i}" for job, i in (("ps", 0), ("ps", 1), ("worker", 0))]
    assert seen["devices"] == [f"{task}/device:CPU:0" for task in tasks]
    assert seen["callable"] == [5.0, 9.0]
    assert seen["traced"] == [f"{task}/device:CPU:0" for task in tasks[:2]]
    kind, message = seen["error"]
    assert kind == "InvalidArgumentError" and "bad" in message
    assert seen["partial"] == [[5.0, 6.0], 11.0]
    assert seen["reset"] == "FailedPreconditionError"

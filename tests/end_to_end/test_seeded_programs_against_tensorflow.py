"""Programs with only a graph-level seed have TensorFlow 1.15's initial values and random masks.

TENSORFLOW1_PYTHON names a Python with TensorFlow 1.15; CONTRIBUTING.md has the commands.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PYTHON = os.environ.get("TENSORFLOW1_PYTHON")
pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(not PYTHON, reason="TENSORFLOW1_PYTHON names no Python"),
]
SCRIPT = Path(__file__).parent / "seeded_programs.py"
# Float32 is rounded at 6e-8 of a value, and both systems add in different orders.
TOLERANCE = 1e-4


def losses(python, module):
    environment = dict(os.environ)
    if module == "tensorflow":
        environment.pop("PYTHONPATH", None)
    line = [python, "-W", "ignore", str(SCRIPT), module]
    done = subprocess.run(line, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_losses_are_tensorflows():
    ours, theirs = losses(sys.executable, "headrace.graph"), losses(PYTHON, "tensorflow")
    assert set(ours) == set(theirs)
    for name, expected in theirs.items():
        np.testing.assert_allclose(ours[name], expected, rtol=TOLERANCE, err_msg=name)

"""Ops without a kernel of a device run on the CPU, and a line lists them.

Modules: passes/place, passes/unplaced_ops.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fake device is Linux's")

SCRIPT = """
import logging, pathlib, sys
sys.path.insert(0, {here!r})
from fake_device import fake_devices
import headrace.graph as hr
fake_devices(pathlib.Path({folder!r}), 1)
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stdout)
x = hr.placeholder(hr.float32, [None])
with hr.device({device!r}):
    y = hr.unique(x * 2.0)[0] + 1.0
for _ in range(2):
    with hr.Session(config=hr.ConfigProto(allow_soft_placement=True)) as session:
        assert session.run(y, {{x: [1.0, 1.0, 2.0]}}).tolist() == [3.0, 5.0]
"""


@pytest.mark.parametrize(
    ("device", "printed"),
    [
        ("/gpu:0", "WARNING these ops have no GPU kernel and run on the CPU: Unique (float)\n"),
        ("", "INFO these ops have no GPU kernel and run on the CPU: Unique (float)\n"),
        ("/cpu:0", ""),
    ],
)
def test_a_line_lists_the_ops_that_a_device_has_no_kernel_for(
    device: str, printed: str, tmp_path: Path
) -> None:
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(here=here, folder=str(tmp_path), device=device)],
        env={**os.environ, "HEADRACE_OPENCL_DEVICES": "none"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed

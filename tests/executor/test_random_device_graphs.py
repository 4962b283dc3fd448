"""Random graphs over the CPU and two fake devices, disturbed, compared bit for bit with the CPU.

device_graph_attack.py says what is done, random_device_graphs.py what the graphs have in them.
HEADRACE_DEVICE_GRAPHS=5000 runs as many.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ATTACK = Path(__file__).parent / "device_graph_attack.py"
SECONDS = 20.0
HANGS_S = 600.0


def test_random_graphs_give_the_bits_of_the_cpu_whatever_disturbs_them() -> None:
    """In a process of its own: the sessions of a process that has devices use them."""
    wanted = os.environ.get("HEADRACE_DEVICE_GRAPHS")
    bound = ["--graphs", wanted] if wanted else ["--graphs", "40", "--seconds", str(SECONDS)]
    ended = subprocess.run(
        [sys.executable, str(ATTACK), *bound],
        capture_output=True,
        text=True,
        timeout=None if wanted else HANGS_S,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr[-4000:]

"""Short soaks: the memory of a session does not grow with the number of its runs, shapes or
signatures.

tools/soak.py runs the long ones.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[2] / "tools" / "soak_programs.py"


# The growth that is allowed, in MiB, from a tenth of the steps on: less than a tenth of what each
# soak grew by while its plans, steps or setups were kept.
@pytest.mark.parametrize(
    ("soak", "count", "growth_mib"),
    [
        ("batch-sizes", 1200, 24),
        ("fed-indices", 3000, 8),
        ("signatures", 1500, 12),
        ("sessions", 200, 4),
        ("input-sessions", 300, 6),
        ("partial-runs", 6000, 8),
        ("threads", 8, 40),
    ],
)
def test_memory_stays_bounded(soak: str, count: int, growth_mib: float) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAMS), soak, "--count", str(count)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    start, _, end = json.loads(done.stdout.splitlines()[-1])["samples"]
    assert end["memory_mib"] - start["memory_mib"] < growth_mib, (start, end)
    # Its own eight; those of the process's pools begin when first needed, and hang on the cores.
    assert end["threads"] <= 10 + 4 * (os.cpu_count() or 1), (start, end)
    assert end["files"] <= start["files"] + 1, (start, end)

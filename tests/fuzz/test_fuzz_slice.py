"""A fixed set of fuzz cases; `tox -e fuzz` runs any number."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parent / "fuzz.py"
# Kind: how many cases, and how many of them must at least give values, so that the slice cannot
# decay into one of invalid inputs only.
SLICE = {
    "calls": (24, 20),
    "corrupted": (800, 40),
    "files": (300, 75),
    "functions": (120, 35),
    "internal": (800, 60),
    "known": (800, 350),
    "ops": (800, 80),
    "pipelines": (120, 50),
    "programs": (300, 40),
    "resources": (200, 30),
}


@pytest.mark.parametrize("kind", SLICE)
def test_no_random_graph_ends_in_a_crash_a_hang_a_leak_or_a_raw_exception(
    kind: str, tmp_path: Path
) -> None:
    count, least = SLICE[kind]
    command = [sys.executable, str(FUZZ), "--kind", kind, "--graphs", str(count), "--quiet"]
    command += ["--no-minimise", "--limit", "150", "--out", str(tmp_path / "findings")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = [x for x in done.stdout.splitlines() if x.startswith("outcomes: ")]
    outcomes = eval(line.removeprefix("outcomes: "))
    assert sum(outcomes.values()) == count and outcomes["values"] >= least, outcomes

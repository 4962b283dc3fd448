"""tools/bench.py --distributed measures steps and trainings, and leaves no process behind."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from cluster_processes import PATIENCE_S

BENCH = Path(__file__).parents[2] / "tools" / "bench.py"


def command(rows: str) -> list[str]:
    rest = ["--distributed", "--sides", "headrace", "--rounds", "1", "--rows", rows]
    return [sys.executable, str(BENCH), *rest, "--python", sys.executable]


def task_processes(parent: int) -> set[int]:
    """Returns the processes of task.py that a process has started."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_task = b"/task.py\0" in (folder / "cmdline").read_bytes()
            started_by = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if is_task and started_by == parent:
            found.add(int(folder.name))
    return found


def test_steps_and_trainings_are_measured_and_their_results_checked():
    done = subprocess.run(
        command("noop_ps-2,fetch_scalar-1,fig6_scalar-2,mlp_sync"),
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 of 4 rows reach their goal" in done.stdout and "failed" not in done.stdout


def test_killed_bench_leaves_no_process():
    with subprocess.Popen(command("noop_worker"), stdout=subprocess.DEVNULL) as bench:
        deadline = time.monotonic() + PATIENCE_S
        while len(tasks := task_processes(bench.pid)) < 3:  # server, worker, client
            assert bench.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        bench.kill()
    while any(Path(f"/proc/{pid}").exists() for pid in tasks):
        assert time.monotonic() < deadline, tasks
        time.sleep(0.01)

"""tools/bench_gpu.py waits for a machine with a GPU: what it needs besides one is seen here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from opencl_children import Run, environment

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def test_every_case_runs_on_a_device(run: Run) -> None:
    printed = run(
        f"""
        import sys
        sys.path.insert(0, {str(TOOLS)!r})
        from gpu import library_side
        from gpu.cases import CASES, small
        device = library_side.devices()[0]
        for name, case in CASES.items():
            print(library_side.seconds(small(case), device) > 0, name)
        """
    )
    lines = printed.splitlines()
    assert len(lines) > 10
    assert all(line.startswith("True ") for line in lines), printed


@pytest.mark.parametrize("name", ["mnist", "lstm"])
def test_a_model_runs_on_a_device(name: str, cache: str, run: Run) -> None:
    done = subprocess.run(
        [sys.executable, str(TOOLS / "gpu" / "models_side.py"), name],
        env=environment(cache),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.splitlines()[-1]) > 0


def test_a_machine_without_a_gpu_says_what_is_missing(cache: str) -> None:
    done = subprocess.run(
        [sys.executable, str(TOOLS / "bench_gpu.py"), "--only", "driver"],
        env=environment(cache, HEADRACE_OPENCL_DEVICES="none", OCL_ICD_VENDORS="/nowhere"),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "NVIDIA's OpenCL driver" in done.stdout
    assert "none: nothing is measured" in done.stdout

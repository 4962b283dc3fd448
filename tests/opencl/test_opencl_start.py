"""Starts of processes: cold and warm caches, several at once, and machines without OpenCL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from opencl_children import PRELUDE, Run, environment, run_child

# Training steps from the import on: their time, the last loss, and the programs compiled.
TRAIN = """
import time
start = time.process_time()
import opencl_networks as networks
from headrace.kernels import opencl
loss = networks.losses("perceptron", "/gpu:0", 3)[-1]
print(time.process_time() - start, loss, opencl.builds_from_source())
"""


@pytest.mark.opencl
def test_four_processes_share_a_cold_cache_and_the_next_compiles_nothing(
    run: Run, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", PRELUDE + TRAIN]
    several = [
        subprocess.Popen(
            command,
            env=environment(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    losses = set()
    for process in several:
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
        losses.add(out.split()[1])
    assert len(losses) == 1
    _, loss, compiled = run(TRAIN, HEADRACE_CACHE_DIR=str(tmp_path)).split()
    assert loss in losses and compiled == "0"


@pytest.mark.opencl
def test_a_second_start_compiles_nothing_and_is_ready_in_a_second(run: Run) -> None:
    run(TRAIN)
    ready, _, compiled = min(
        (run(TRAIN).split() for _ in range(3)), key=lambda printed: float(printed[0])
    )
    assert compiled == "0"
    # Time of the processor: what else runs on the machine does not count.
    assert float(ready) < 1.0


# What a program sees without OpenCL: no devices, and its results.
PLAIN = """
with hr.Session() as session:
    assert [d.device_type for d in session.list_devices()] == ["CPU"], session.list_devices()
    print(session.run(hr.reduce_sum(hr.ones([5]))))
"""


def test_without_opencl_there_are_no_devices_and_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    found = run_child(
        PLAIN,
        tmp_path,
        HEADRACE_OPENCL_DEVICES=None,
        OCL_ICD_VENDORS=str(tmp_path / "empty"),
        OPENCL_VENDOR_PATH=str(tmp_path / "empty"),
    )
    assert found == ("5.0\n", "")


def test_a_path_to_no_library_is_reported_once_and_the_cpu_computes(tmp_path: Path) -> None:
    out, err = run_child(PLAIN + PLAIN, tmp_path, HEADRACE_OPENCL_LIBRARY="/nowhere/libOpenCL.so")
    assert out == "5.0\n5.0\n"
    assert err.count("\n") == 1 and "HEADRACE_OPENCL_LIBRARY cannot be used" in err, err


def test_a_driver_that_cannot_be_loaded_is_passed_over(tmp_path: Path) -> None:
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    (vendors / "broken.icd").write_text("/nowhere/libbroken.so\n")
    assert run_child(PLAIN, tmp_path, OCL_ICD_VENDORS=str(vendors)) == ("5.0\n", "")


@pytest.mark.opencl
def test_a_broken_driver_does_not_hide_the_others(run: Run, tmp_path: Path) -> None:
    found = sorted(Path("/etc/OpenCL/vendors").glob("*.icd"))
    if not found:
        pytest.skip("the drivers are not listed in /etc/OpenCL/vendors")
    (tmp_path / "a_broken.icd").write_text("/nowhere/libbroken.so\n")
    for path in found:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    devices = """
    with hr.Session() as session:
        print([d.device_type for d in session.list_devices()])
    """
    assert run(devices, OCL_ICD_VENDORS=str(tmp_path)) == run(devices)

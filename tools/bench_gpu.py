"""Measures the OpenCL library on a GPU, against PyTorch's CUDA build there, and prints one table.

    python3 tools/bench_gpu.py                    # all that this machine allows
    python3 tools/bench_gpu.py --only kernels     # driver, probes, kernels or models
    python3 tools/bench_gpu.py --torch /usr/bin/python3

In this order: NVIDIA's OpenCL driver, which is registered if no .icd file names it; what the
device is; what its compiler takes (inline PTX, PTX as a binary); the library's kernels; training
steps and inference. PyTorch runs the same in its own process, with TF32 off. What cannot be
measured here is a line with the reason: without a GPU, all of it, and the script checks what needs
none.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gpu import driver, probes
from gpu.cases import CASES, MODELS, small
from gpu.raw_opencl import ALL, GPU, Opencl, OpenCLError, RawDevice

TOOLS = Path(__file__).resolve().parent
PARTS = ("driver", "probes", "kernels", "models")
COPIED = 1 << 30  # bytes
OF_CEILING = 0.9  # what memory-bound kernels shall reach of the copy's rate


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    what: str
    ours: str
    torch: str = ""
    ratio: str = ""


def side(python: str, script: str, *arguments: str) -> float | str:
    """Seconds that a side's process prints, or why it has none."""
    command = [python, str(TOOLS / "gpu" / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        return float(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        reason = done.stderr.strip().splitlines()
        return reason[-1][:80] if reason else f"ended with {done.returncode}"


def compared(what: str, work: float, unit: str, goal: float, *sides: float | str) -> Line:
    """A line of both sides' rates, and their ratio."""
    rates = [s if isinstance(s, str) else f"{_rate(work / s, unit)}" for s in sides]
    ours, torch = sides
    if isinstance(ours, str) or isinstance(torch, str):
        return Line(what, *rates)
    ratio = torch / ours
    return Line(what, *rates, f"{ratio:.2f} ({'goal' if ratio >= goal else 'below'} {goal})")


def _rate(value: float, unit: str) -> str:
    return f"{value / 1e9 if unit.startswith('G') else value:.4g} {unit}"


def driver_lines(folder: Path) -> Iterator[Line]:
    """Registers the driver, and says what was found."""
    found = driver.find_driver()
    yield Line("NVIDIA's OpenCL driver", str(found or "not found: libnvidia-opencl.so*"))
    known = [line for icd in driver.registered() if icd.is_file() for line in [icd.read_text()]]
    yield Line(".icd files", ", ".join(line.strip() for line in known) or "none")
    if found and not any("nvidia" in line for line in known):
        driver.register(found, folder)
        yield Line("written", f"OCL_ICD_VENDORS={folder}")


def raw_device() -> RawDevice | None:
    """The first GPU."""
    library = driver.loader()
    if not library:
        return None
    try:
        found = Opencl(library).devices(GPU)
    except (OSError, OpenCLError):
        return None
    return found[0] if found else None


def other_devices() -> str:
    library = driver.loader()
    if not library:
        return "OpenCL's loader is not installed"
    names = [d.facts()["name"] for d in Opencl(library).devices(ALL)]
    return ", ".join(names) or "no platform has a device"


def fact_lines(device: RawDevice) -> Iterator[Line]:
    facts = device.facts()
    extensions = facts.pop("extensions").split()
    for name, value in facts.items():
        yield Line(f"device: {name}", str(value))
    for extension in ("cl_khr_fp16", "cl_khr_fp64", "cl_khr_subgroups", "cl_nv_compiler_options"):
        yield Line(f"device: {extension}", "yes" if extension in extensions else "no")


def kernel_lines(device: RawDevice | None, torch: str) -> Iterator[Line]:
    """Every case, on both sides."""
    from gpu import library_side

    found = library_side.devices()
    if not found:
        yield Line("kernels", "the library found no device")
        return
    ceiling = probes.copy_bandwidth(device, COPIED) if device else 0.0
    if ceiling:
        yield Line("copy within the device", _rate(ceiling, "GB/s"), "", "the ceiling")
    for name, case in CASES.items():
        ours = attempt(lambda case=case: library_side.seconds(case, found[0]))
        torch_s = side(torch, "torch_side.py", "case", name)
        yield compared(name, case.work, case.unit, case.goal, ours, torch_s)
        if ceiling and case.unit == "GB/s" and not isinstance(ours, str):
            reached = case.work / ours / ceiling
            goal = "goal" if reached >= OF_CEILING else "below"
            yield Line(f"{name}, of the copy", f"{reached:.2f} ({goal} {OF_CEILING})")


def checks_without_gpu() -> Iterator[Line]:
    """What can be known here: the kernels' results on whatever device there is, and their PTX."""
    os.environ.setdefault("HEADRACE_OPENCL_DEVICES", "all")
    try:
        from gpu import library_side

        found = library_side.devices()
    except ImportError as error:
        yield Line("kernels on another device", f"not checked: {error}")
    else:
        for name, case in CASES.items() if found else ():
            less = small(case)
            ours = attempt(lambda case=less: library_side.seconds(case, found[0]))
            yield Line(f"{name}, made small", ours if isinstance(ours, str) else "runs")
    opencl_tests = TOOLS.parent / "packages" / "kernels" / "tests" / "opencl"
    tests = opencl_tests / "ops" / "test_nvidia_compile.py"
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "--no-header", str(tests)]
    done = subprocess.run(command, capture_output=True, text=True)
    yield Line(
        "sources compiled for sm_90", (done.stdout.strip().splitlines() or ["no pytest"])[-1]
    )


def model_lines(torch: str) -> Iterator[Line]:
    for name, goal in MODELS.items():
        ours = side(sys.executable, "models_side.py", name)
        yield compared(name, 1, "steps/s", goal, ours, side(torch, "torch_side.py", "model", name))


def attempt(measure: Callable[[], float]) -> float | str:
    """A measurement, or why there is none: the rest goes on."""
    try:
        return measure()
    except Exception as error:  # an op without a kernel, a driver's error
        first = [*str(error).splitlines(), ""][0]
        return f"{type(error).__name__}: {first[:70]}"


def lines(chosen: list[str], torch: str, folder: Path) -> Iterator[Line]:
    if "driver" in chosen:
        yield from driver_lines(folder)
    device = raw_device()
    if device is None:
        yield Line("GPU", "none: nothing is measured")
        yield Line("other OpenCL devices", other_devices())
        if "kernels" in chosen:
            yield from checks_without_gpu()
        return
    if "driver" in chosen:
        yield from fact_lines(device)
    if "probes" in chosen:
        for what, found in probes.all_probes(device).items():
            yield Line(what, found)
    if "kernels" in chosen:
        yield from kernel_lines(device, torch)
    if "models" in chosen:
        yield from model_lines(torch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help=f"parts, with commas: {', '.join(PARTS)}")
    parser.add_argument("--torch", default=sys.executable, help="a Python that has PyTorch")
    given = parser.parse_args()
    chosen = given.only.split(",") if given.only else list(PARTS)
    with tempfile.TemporaryDirectory(prefix="headrace_icd_") as folder:
        print(f"{'':38}{'Headrace':34}{'PyTorch':34}ratio")
        for line in lines(chosen, given.torch, Path(folder)):
            print(f"{line.what:38}{line.ours:34}{line.torch:34}{line.ratio}", flush=True)


if __name__ == "__main__":
    main()

"""The kernels for GPUs compile for NVIDIA's, without one here: by clang and libclc to PTX, and by
ptxas for a Hopper GPU."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LIBRARY = Path("/usr/lib/clc/nvptx64--nvidiacl.bc")
FEWEST_PROGRAMS = 30

pytestmark = pytest.mark.skipif(
    not (shutil.which("clang-15") and shutil.which("ptxas") and LIBRARY.exists()),
    reason="needs clang-15, libclc-15 and ptxas",
)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory, device: object) -> list[Path]:
    """The texts of programs of many ops, as they are on a GPU."""
    folder = tmp_path_factory.mktemp("sources")
    environment = os.environ | {
        "HEADRACE_OPENCL_TEMPLATES": "gpu",
        "HEADRACE_OPENCL_KEEP_SOURCES": str(folder),
    }
    subprocess.run(
        [sys.executable, Path(__file__).with_name("many_ops.py")], env=environment, check=True
    )
    found = [path for path in folder.glob("*.cl") if "probe" not in path.read_text()]
    assert len(found) >= FEWEST_PROGRAMS
    return found


def ptx_of(source: Path) -> str:
    options = source.read_text().split("\n", 1)[0].removeprefix("// ")
    options = options.replace("HR_NVIDIA=0", "HR_NVIDIA=1").replace(
        "HR_HAS_HALF=0", "HR_HAS_HALF=1"
    )
    target = source.with_suffix(".ptx")
    command = ["clang-15", "-x", "cl", *options.split(), "-target", "nvptx64-nvidia-nvcl", "-O3"]
    command += ["-Xclang", "-mlink-bitcode-file", "-Xclang", str(LIBRARY)]
    command += ["-include", "/usr/include/clc/clc.h", "-Dcl_clang_storage_class_specifiers"]
    command += ["-Xclang", "-target-cpu", "-Xclang", "sm_80", "-w", "-S", "-o", str(target)]
    subprocess.run([*command, str(source)], check=True)
    text = re.sub(r"\.target sm_\d+", ".target sm_90", target.read_text())
    target.write_text(re.sub(r"\.version [\d.]+", ".version 7.8", text))
    return text


def test_programs_assemble_without_spills(sources: list[Path]) -> None:
    for source in sources:
        ptx_of(source)
        command = ["ptxas", "-arch=sm_90", "-v", str(source.with_suffix(".ptx")), "-o", os.devnull]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, f"{source}: {done.stderr}"
        spilled = re.findall(r"(\d+) bytes spill", done.stderr)
        assert spilled, f"{source}: {done.stderr}"
        assert set(spilled) == {"0"}, f"{source}: {done.stderr}"


def test_elementwise_kernels_move_four_elements_at_a_time(sources: list[Path]) -> None:
    quads = [s for s in sources if "4 result;" in s.read_text()]
    assert quads
    for source in quads:
        ptx = ptx_of(source)
        assert re.search(r"st\.global[.\w]*\.v4", ptx), source

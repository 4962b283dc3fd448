"""Compiles sources of the OpenCL library for NVIDIA GPUs, on a machine without one.

clang with libclc makes PTX of OpenCL C, and ptxas machine code of that: not the way of NVIDIA's
driver, but with the same assembler, which says how many registers and how much local memory a
kernel takes.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

# Without importing the library, which this does not need.
SOURCES = Path(importlib.util.find_spec("headrace.kernels.opencl").origin).parent / "sources"
LIBCLC = Path("/usr/lib/clc/nvptx64--nvidiacl.bc")
_INCLUDE = re.compile(r'^#include "(.+)"\n', re.M)
_DEVICE = {
    "HR_HAS_HALF": 0,  # NVIDIA's driver offers storage of half only
    "HR_HAS_DOUBLE": 1,
    "HR_HAS_INT64_ATOMICS": 1,
    "HR_IS_CPU": 0,
    "HR_NVIDIA": 1,
    "HR_ASM": "__asm__",  # as clang spells it in OpenCL C
}


def missing_tool() -> str | None:
    """What compile() lacks here."""
    for tool in ("clang-15", "ptxas"):
        if not shutil.which(tool):
            return f"{tool} is not on the path"
    return None if LIBCLC.exists() else f"libclc is not installed: no {LIBCLC}"


@dataclasses.dataclass(frozen=True)
class Compiled:
    """A program of one source."""

    ptx: str
    registers: dict[str, int]  # by kernel
    spilled: dict[str, int]  # bytes
    local_memory: dict[str, int]  # bytes

    def count(self, pattern: str) -> int:
        return len(re.findall(pattern, self.ptx))


def compile(
    file: str, defines: dict[str, int | str], folder: Path, registers_at_most: int = 255
) -> Compiled:
    """Compiles a file of sources/ as the library does, for sm_90."""
    source, ptx = folder / "program.cl", folder / "program.ptx"
    source.write_text(_text("prelude.cl", set()) + _text(file, set()))
    options = [f"-D{name}={value}" for name, value in {**_DEVICE, **defines}.items()]
    clang = ["clang-15", "-target", "nvptx64-nvidia-nvcl", "-x", "cl", "-cl-std=CL1.2", "-O3"]
    clang += ["-cl-mad-enable", "-Wno-linker-warnings", "-S", "-o", str(ptx), str(source)]
    for option in ("-finclude-default-header", "-mlink-builtin-bitcode", str(LIBCLC)):
        clang += ["-Xclang", option]
    _run([*clang, "-Xclang", "-target-cpu", "-Xclang", "sm_80", *options])
    ptxas = ["ptxas", "-arch=sm_90", f"-maxrregcount={registers_at_most}", "-v", str(ptx)]
    report = _run([*ptxas, "-o", str(folder / "program.cubin")])
    registers, spilled, local_memory = {}, {}, {}
    for kernel, about in re.findall(r"entry function '(\w+)'(.*?)(?=Compiling|\Z)", report, re.S):
        stores, loads = re.search(
            r"(\d+) bytes spill stores, (\d+) bytes spill loads", about
        ).groups()
        spilled[kernel] = int(stores) + int(loads)
        registers[kernel] = int(re.search(r"Used (\d+) registers", about)[1])
        shared = re.search(r"(\d+) bytes smem", about)
        local_memory[kernel] = int(shared[1]) if shared else 0
    return Compiled(ptx.read_text(), registers, spilled, local_memory)


def _text(file: str, seen: set[str]) -> str:
    """A source with its includes, each once."""
    if file in seen:
        return ""
    seen.add(file)
    return _INCLUDE.sub(lambda found: _text(found[1], seen), (SOURCES / file).read_text())


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return done.stdout + done.stderr

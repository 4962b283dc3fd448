"""Runs a C++ program of this folder against the sources of the runtime."""

import pathlib
import shutil
import subprocess

import headrace.formats

SOURCE = pathlib.Path(__file__).parents[1] / "src" / "headrace" / "runtime"


def run_program(folder: pathlib.Path, name: str) -> str:
    """Compiles tests/NAME.cpp against the sources, and returns what it prints."""
    compiler = shutil.which("c++") or shutil.which("g++") or "c++"
    include = pathlib.Path(next(iter(headrace.formats.__path__))) / "include"
    program = folder / name
    subprocess.run(
        [compiler, "-std=c++17", "-O1", "-g", "-pthread", f"-I{SOURCE}", f"-I{include}",
         str(pathlib.Path(__file__).with_name(f"{name}.cpp")), "-o", str(program)],
        check=True,
    )  # fmt: skip
    run = subprocess.run([str(program)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout

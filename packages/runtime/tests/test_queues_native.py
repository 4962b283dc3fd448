"""Queues in C++, without a session: interleavings that no program can cause on purpose."""

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


def test_a_waiter_whose_run_ends_while_it_enters_the_queue_is_finished(tmp_path):
    assert int(run_program(tmp_path, "queue_cancel")) == 20001


def test_operations_of_all_kinds_end_once_whoever_cancels_them(tmp_path):
    assert run_program(tmp_path, "waiting_threads") == "9800 ended\n"

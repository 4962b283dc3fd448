"""Queues in C++, without a session: interleavings that no program can cause on purpose."""

import pathlib
import shutil
import subprocess

import headrace.formats

SOURCE = pathlib.Path(__file__).parents[1] / "src" / "headrace" / "runtime"


def test_a_waiter_whose_run_ends_while_it_enters_the_queue_is_finished(tmp_path):
    compiler = shutil.which("c++") or shutil.which("g++") or "c++"
    include = pathlib.Path(next(iter(headrace.formats.__path__))) / "include"
    program = tmp_path / "queue_cancel"
    subprocess.run(
        [compiler, "-std=c++17", "-O1", "-g", "-pthread", f"-I{SOURCE}", f"-I{include}",
         str(pathlib.Path(__file__).with_name("queue_cancel.cpp")), "-o", str(program)],
        check=True,
    )  # fmt: skip
    run = subprocess.run([str(program)], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    assert int(run.stdout) == 20001

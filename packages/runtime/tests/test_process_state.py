"""The state of the process, accessed from two shared libraries, with every available compiler.

Modules: threads/process_state.
"""

import pathlib
import shutil
import subprocess
import sysconfig

import pytest

import headrace.formats

HERE = pathlib.Path(__file__).parent
SOURCE = HERE.parents[0] / "src" / "headrace" / "runtime"
FAMILIES = [["g++", "c++"], ["clang++", *(f"clang++-{n}" for n in range(22, 13, -1))]]
FOUND = [[name for name in family if shutil.which(name)] for family in FAMILIES]
COMPILERS = [family[0] for family in FOUND if family]
CLAIMS = 10


def test_a_compiler_is_found():
    assert COMPILERS


@pytest.mark.parametrize("compiler", COMPILERS)
def test_two_libraries_see_one_pool_one_allocator_and_one_table_of_runs(compiler, tmp_path):
    include = pathlib.Path(next(iter(headrace.formats.__path__))) / "include"
    folders = [HERE, SOURCE, include, sysconfig.get_path("include")]
    # GCC's unique symbols would make statics in headers one; clang, musl and macOS have none.
    flags = ["-std=c++17", "-O1", "-pthread", *(f"-I{folder}" for folder in folders)]
    if "clang" not in compiler:
        flags += ["-fno-gnu-unique"]

    def build(source, result, *more):
        subprocess.run(
            [compiler, *flags, *more, str(HERE / source), "-o", str(tmp_path / result), "-ldl"],
            check=True,
        )
        return str(tmp_path / result)

    shared = ["-shared", "-fPIC"]
    libraries = [
        build("shared_state_owner.cpp", "owner.so", *shared),
        build("shared_state_user.cpp", "a.so", *shared),
        build("shared_state_user.cpp", "b.so", *shared),
    ]
    main = build("shared_state_main.cpp", "main", "-rdynamic")
    run = subprocess.run([main, *libraries], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert len(run.stdout.splitlines()) == CLAIMS, run.stdout

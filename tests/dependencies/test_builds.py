"""A build remakes what an edit affects, and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

SETUP = """
import sys
sys.path.insert(0, "_build")
from setuptools import Extension, setup
from native_build import BuildExt
setup(
    name="mill", package_dir={"": "src"}, py_modules=[], packages=[],
    ext_modules=[Extension("mill", ["src/mill.pyx", "src/wheel.cpp", "src/other.cpp"],
                           language="c++", extra_compile_args=["-O0"])],
    cmdclass={"build_ext": BuildExt},
)
"""
FILES = {
    "setup.py": SETUP,
    "src/gear.h": "#define TEETH 7\n",
    "src/wheel.hpp": "int teeth();\n",
    "src/wheel.cpp": '#include "wheel.hpp"\n#include "gear.h"\nint teeth() { return TEETH; }\n',
    "src/other.cpp": "int other() { return 1; }\n",
    "src/water.pxd": "cdef inline int flow():\n    return 10\n",
    "src/mill.pyx": (
        'from water cimport flow\ncdef extern from "wheel.hpp":\n    int teeth()\n'
        "def turn():\n    return flow() * teeth()\n"
    ),
}


@pytest.fixture
def mill(tmp_path: Path) -> Path:
    for name in ("native_build.py", "sibling_backend.py"):
        target = tmp_path / "mill" / "_build" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "packages" / "runtime" / "_build" / name, target)
    # A checkout of formats stands beside it, as it does for the real packages.
    shutil.copytree(
        ROOT / "packages" / "formats" / "src" / "headrace" / "formats" / "include",
        tmp_path / "formats" / "src" / "headrace" / "formats" / "include",
    )
    (tmp_path / "formats" / "pyproject.toml").touch()
    for name, text in FILES.items():
        (tmp_path / "mill" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "mill" / name).write_text(text)
    return tmp_path / "mill"


def build(folder: Path) -> set[str]:
    """Builds in place. Returns: the sources and results that were made."""
    environment = {k: v for k, v in os.environ.items() if k != "HEADRACE_BUILD_DIR"}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    return {Path(line[1]).name for line in lines if line and line[0] in ("make", "link")}


def turn(folder: Path) -> int:
    command = [sys.executable, "-c", "import mill; print(mill.turn())"]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    return int(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)


def test_edit_rebuilds_what_reads_the_file_and_nothing_else(mill: Path) -> None:
    build(mill)
    assert turn(mill) == 70
    assert build(mill) == set()

    (mill / "src/gear.h").write_text("#define TEETH 8\n")  # read only through wheel.cpp
    assert build(mill) == {"wheel.cpp", "mill.so"}
    assert turn(mill) == 80

    (mill / "src/water.pxd").write_text("cdef inline int flow():\n    return 20\n")
    assert build(mill) == {"mill.pyx", "mill.cpp", "mill.so"}
    assert turn(mill) == 160

    (mill / "src/other.cpp").write_text("int other() { return 2; }\n")
    assert build(mill) == {"other.cpp", "mill.so"}


def test_changed_flag_recompiles(mill: Path) -> None:
    build(mill)
    setup = mill / "setup.py"
    setup.write_text(setup.read_text().replace('"-O0"', '"-O0", "-DTEETH_2"'))
    assert {"wheel.cpp", "other.cpp"} <= build(mill)


def test_the_stubs_of_graph_are_made_without_its_dependencies(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "packages" / "graph" / "_build", tmp_path / "packages" / "graph" / "_build"
    )
    for name in ("graph", "formats"):
        target = tmp_path / "packages" / name / "src"
        ignored = shutil.ignore_patterns("*.pyi", "*.so", "__pycache__")
        shutil.copytree(ROOT / "packages" / name / "src", target, ignore=ignored)
    stubs = tmp_path / "packages" / "graph" / "_build" / "stubs.py"
    # -S: no site-packages, so that neither NumPy nor protobuf nor an installed headrace is there
    subprocess.run([sys.executable, "-S", str(stubs)], check=True)
    result = tmp_path / "packages" / "graph" / "src" / "headrace" / "graph"
    assert (result / "__init__.pyi").exists() and (result / "ops" / "raw_ops.pyi").exists()


def test_requirements_build_has_the_build_requirements_of_all_packages() -> None:
    required = set()
    for project in ROOT.glob("packages/*/pyproject.toml"):
        table = project.read_text().partition("\n[project]")[0]
        required |= set(
            re.findall(r'"([^"\n]+)"', re.search(r"requires = \[(.*?)\]", table, re.S)[1])
        )
    lines = (ROOT / "requirements-build.txt").read_text().splitlines()
    assert {line for line in lines if not line.startswith("#")} == required

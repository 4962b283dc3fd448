"""The board builds without a compiler, with a warning, unless compiled code is required."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

PACKAGES = ROOT / "packages"


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """The sources of the board that are compiled, beside the headers that they need."""
    left_out = shutil.ignore_patterns("*.so", "assets*", "*.egg-info", "__pycache__")
    shutil.copytree(PACKAGES / "board" / "src", tmp_path / "board" / "src", ignore=left_out)
    shutil.copytree(PACKAGES / "board" / "_build", tmp_path / "board" / "_build", ignore=left_out)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PACKAGES / "board" / name, tmp_path / "board" / name)
    include = Path("src", "headrace", "formats", "include")
    shutil.copytree(PACKAGES / "formats" / include, tmp_path / "formats" / include)
    (tmp_path / "formats" / "pyproject.toml").touch()
    return tmp_path / "board"


def build(board: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Builds the extensions where PATH leads to no compiler."""
    empty = board / "empty"
    empty.mkdir(exist_ok=True)
    unset = ("HEADRACE_BUILD_DIR", "HEADRACE_REQUIRE_NATIVE", "CC", "CXX")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    command = [sys.executable, "setup.py", "build_ext"]
    return subprocess.run(
        command,
        cwd=board,
        env={**environment, "PATH": str(empty), **variables},
        capture_output=True,
        text=True,
    )


def test_board_builds_without_a_compiler_and_warns(board: Path) -> None:
    done = build(board)
    assert done.returncode == 0, done.stderr
    assert "NO COMPILED CODE. the C++ compiler" in done.stderr
    assert [*board.rglob("*.so")] == []


def test_required_compiled_code_without_a_compiler_is_an_error(board: Path) -> None:
    done = build(board, HEADRACE_REQUIRE_NATIVE="1")
    assert done.returncode != 0
    assert "HEADRACE_REQUIRE_NATIVE=1, but the C++ compiler" in done.stderr


def test_extension_that_does_not_compile_is_an_error(
    board: Path,
) -> None:
    scanner = board / "src" / "headrace" / "board" / "reading" / "scan_events.pyx"
    for other in board.rglob("*.pyx"):
        other.unlink()
    scanner.write_text("cdef int broken = \n")
    done = build(board, PATH=os.environ["PATH"])
    assert done.returncode != 0
    assert "NO COMPILED CODE" not in done.stderr

"""Fixtures: TensorFlow for the peer tests, and compiled C programs that use the headers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent / "native"
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]


@pytest.fixture
def tf():
    """Imports TensorFlow without its log output and without a GPU."""
    import os

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    import tensorflow

    return tensorflow


@pytest.fixture
def native(tmp_path):
    """Compiles tests/native/<name>; returns a function that runs it and returns its output lines.

    A crash or a sanitizer report fails the test.
    """
    from headrace import formats

    def compile_program(name, *flags, sanitize=False, compiler="gcc"):
        program = tmp_path / f"{Path(name).stem}.{compiler}.{'san' if sanitize else 'plain'}"
        command = [compiler, "-O1", *WARNINGS, *(SANITIZE if sanitize else []), *flags]
        command += [f"-I{formats.include_dir()}", str(SOURCES / name), "-o", str(program)]
        subprocess.run(command, check=True)

        def run(*arguments):
            command = [str(program), *map(str, arguments)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, done.stderr
            return done.stdout.splitlines()

        return run

    return compile_program

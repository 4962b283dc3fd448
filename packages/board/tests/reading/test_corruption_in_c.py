"""The native scanner under AddressSanitizer, on files corrupted in thousands of ways."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from fixtures import corrupted_logs

from headrace import formats

HERE = Path(__file__).resolve().parent
# HEADRACE_FUZZ_ROUNDS=2000000 runs for an hour
ROUNDS = int(os.environ.get("HEADRACE_FUZZ_ROUNDS", "4000"))
SOURCES = HERE.parents[1] / "src"


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    assert compiler, "the package needs a C++ compiler to build, and so does this test"
    program = tmp_path_factory.mktemp("fuzzer") / "fuzzer"
    subprocess.run(
        [
            compiler,
            "-std=c++17",
            "-O1",
            "-g",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
            f"-I{SOURCES}",
            f"-I{formats.include_dir()}",
            str(HERE / "native" / "corrupted_records.cpp"),
            "-o",
            str(program),
        ],
        check=True,
    )
    return program


def test_the_scanner_stays_in_bounds_on_corrupted_files(fuzzer: Path, tmp_path: Path) -> None:
    kinds = corrupted_logs.every_kind(tmp_path / "kinds", steps=2).read_bytes()
    source = tmp_path / "source"
    source.write_bytes(b"".join(corrupted_logs.records_of_900(20)) + kinds)
    done = subprocess.run(
        [fuzzer, source, str(ROUNDS), "7", tmp_path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10 * ROUNDS

"""Each folder of the runtime is a stage of a run and imports only the stages before it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

RUNTIME = Path(__file__).parents[2] / "packages/runtime/src/headrace/runtime"
SUFFIXES = (".py", ".pyx", ".pxd", ".hpp")
STAGES = "memory threads graph state kernels passes plan executor session".split()
IMPORTED = re.compile(r"\bheadrace\.runtime\.(\w+)[. ]")
INCLUDED = re.compile(r'(?:#include|cdef extern from) "(?:headrace/runtime/)?(\w+)/')


def test_every_folder_is_a_stage() -> None:
    folders = {p.name for p in RUNTIME.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders == set(STAGES)
    modules = [p.name for p in RUNTIME.iterdir() if p.suffix in SUFFIXES]
    assert modules == ["__init__.py"]


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_imports_only_those_before_it(stage: str) -> None:
    before = set(STAGES[: STAGES.index(stage) + 1])
    sources = [p for p in (RUNTIME / stage).rglob("*") if p.suffix in SUFFIXES]
    assert sources
    for path in sources:
        text = path.read_text()
        imported = {*IMPORTED.findall(text), *INCLUDED.findall(text)} & set(STAGES)
        assert imported <= before, f"{path.name}: {sorted(imported - before)}"


def test_the_readme_names_every_module() -> None:
    readme = (RUNTIME.parents[2] / "README.md").read_text()
    stems = {
        p.stem for stage in STAGES for p in (RUNTIME / stage).rglob("*") if p.suffix in SUFFIXES
    }
    missing = sorted(stem for stem in stems if not re.search(rf"\b{stem}\b", readme))
    assert not missing

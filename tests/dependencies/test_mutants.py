"""The mutants of tools/mutation_checks.py fit the sources as they are."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from checkout import PACKAGES, ROOT


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "mutation_checks", ROOT / "tools" / "mutation_checks.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


TOOL = load_tool()


@pytest.mark.parametrize("mutant", TOOL.MUTANTS, ids=lambda m: m.name)
def test_a_mutant_changes_its_file_at_one_place(mutant: Any) -> None:
    assert TOOL.mutated(mutant) != (ROOT / mutant.file).read_text()


@pytest.mark.parametrize("mutant", TOOL.MUTANTS, ids=lambda m: m.name)
def test_what_a_mutant_names_exists(mutant: Any) -> None:
    for path in (mutant.said_in, *mutant.tests):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("mutant", TOOL.MUTANTS, ids=lambda m: m.name)
def test_a_mutant_of_a_compiled_source_names_its_package(mutant: Any) -> None:
    source = Path(mutant.file)
    compiled = source.suffix in (".pyx", ".pxd", ".cpp", ".hpp", ".h")
    assert mutant.rebuild == (source.parts[1] if compiled else "")


def test_each_package_has_a_mutant_and_each_mutant_a_name() -> None:
    assert {Path(mutant.file).parts[1] for mutant in TOOL.MUTANTS} == set(PACKAGES)
    assert len({mutant.name for mutant in TOOL.MUTANTS}) == len(TOOL.MUTANTS)


def test_a_mutant_that_no_longer_fits_is_named(tmp_path: Path) -> None:
    mutant = TOOL.MUTANTS[0]
    source = tmp_path / mutant.file
    source.parent.mkdir(parents=True)
    for text in ("", 2 * f"{mutant.old}\n"):
        source.write_text(text)
        with pytest.raises(TOOL.OutOfDate, match=f"mutant {mutant.name} is out of date"):
            TOOL.mutated(mutant, tmp_path)

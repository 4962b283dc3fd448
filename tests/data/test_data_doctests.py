"""The examples in the docstrings of hr.data run and print what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import headrace.graph as hr

FOLDER = Path(hr.__file__).parent / "data"
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if ">>> " in path.read_text())


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(f"headrace.graph.data.{name}")
    result = doctest.testmod(module)
    assert result.attempted and not result.failed

"""docs/compatibility.md is correct about names of TensorFlow 1.15 that are missing or differ."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import headrace.graph as hr

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text()
# Names that public TF 1.x programs, and TensorFlow's guides and tests, use.
USED = [
    line.split("\t")[0]
    for line in Path(__file__).with_name("api_names.tsv").read_text().splitlines()[1:]
]


def first_column(title: str) -> list[str]:
    """Returns the names in the first column of the table of a section."""
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, re.M)
    return [name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)]


MISSING = first_column("Missing names")
DIFFERENT = first_column("Names that differ")


def is_here(name: str) -> bool:
    found = hr
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            return False
    return True


@pytest.mark.parametrize("name", MISSING)
def test_a_name_that_is_listed_as_missing_is_missing(name: str) -> None:
    assert not is_here(name), "remove it from docs/compatibility.md"


def test_every_used_name_is_here_or_listed_as_missing() -> None:
    covered = {name for name in USED for part in MISSING if f"{name}.".startswith(f"{part}.")}
    unlisted = [name for name in USED if name not in covered and not is_here(name)]
    assert unlisted == [], "add them to docs/compatibility.md"
    assert f"{len(USED)} names" in PAGE


def test_every_difference_is_of_a_name_that_is_here() -> None:
    assert [name for name in DIFFERENT if not is_here(name)] == []


def test_every_difference_that_the_tests_allow_is_listed() -> None:
    source = ROOT / "packages" / "graph" / "tests" / "test_signatures_of_tensorflow.py"
    allowed: set[str] = set()
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            if ast.unparse(node.targets[0]) == "DELIBERATE":
                allowed |= {ast.literal_eval(key) for key in node.value.keys if key}
            elif ast.unparse(node.targets[0]) == "DELIBERATE_METHODS":
                keys = [ast.literal_eval(key) for key in node.value.keys if key]
                allowed |= {key.rpartition(".")[0] for key in keys}
    assert allowed and allowed - set(DIFFERENT) == set()


def test_the_imports_of_the_page_work() -> None:
    lines = re.findall(r"`((?:from|import) headrace[^`]*)`", PAGE)
    assert len(lines) >= 6
    for line in lines:
        found = re.match(r"(?:from (\S+) )?import (\S+(?:, \S+)*)(?: as \w+)?$", line)
        assert found, line
        module, names = found.groups()
        for name in names.split(", ") if module else ():
            assert getattr(importlib.import_module(module), name)
        if not module:
            importlib.import_module(names)

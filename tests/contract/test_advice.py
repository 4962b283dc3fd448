"""Texts of the packages never advise what does not exist.

A text may name functions of `hr` (headrace.graph) and packages to install; both must exist.
"""

from __future__ import annotations

import ast
import re
from functools import reduce
from pathlib import Path

import tomllib

import headrace.graph as hr

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGES = CHECKOUT / "packages"
SOURCES = sorted(
    path
    for path in PACKAGES.glob("*/src/**/*")
    if path.suffix in (".py", ".pyx", ".hpp", ".cpp", ".h") and not path.stem.endswith("_pb2")
)
EXTRAS = {
    path.parent.name: set(
        tomllib.loads(path.read_text())["project"].get("optional-dependencies", {})
    )
    for path in PACKAGES.glob("*/pyproject.toml")
}

COMMANDS = {
    name
    for path in PACKAGES.glob("*/pyproject.toml")
    for name in tomllib.loads(path.read_text())["project"].get("scripts", {})
}


def _names_in_texts(path: Path) -> set[str]:
    """The names after `hr.` in the string constants of a Python file, except in "<hr.Name ...>"."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= set(re.findall(r"(?<!<)\bhr\.([A-Za-z_][\w.]*\w)", node.value))
    return names


def _exists(name: str) -> bool:
    try:
        reduce(getattr, name.split("."), hr)
    except AttributeError:
        return False
    return True


def test_functions_of_hr_that_texts_name_exist():
    named = {
        (str(path.relative_to(PACKAGES)), name)
        for path in SOURCES
        if path.suffix == ".py"
        for name in _names_in_texts(path)
    }
    assert named, "no text names a function: the pattern is out of date"
    assert not sorted(where for where in named if not _exists(where[1]))


def _wrong_packages(text: str) -> list[str]:
    wrong = [
        f"headrace-{name}[{extra}]"
        for name, extra in re.findall(r"\bheadrace-([a-z]+)(?![-a-z])(?:\[(\w+)\])?", text)
        if f"headrace-{name}" not in COMMANDS
        and (name not in EXTRAS or (extra and extra not in EXTRAS[name]))
    ]
    wrong += [f for f in re.findall(r"pip install \./packages/(\w+)", text) if f not in EXTRAS]
    return wrong + re.findall(r"pip install headrace\S*", text)  # no registry has the packages


def test_packages_that_texts_name_exist():
    found = {str(path.relative_to(PACKAGES)): _wrong_packages(path.read_text()) for path in SOURCES}
    assert not {path: wrong for path, wrong in found.items() if wrong}


def test_wrong_advice_is_found():
    assert _wrong_packages("install headrace-cluster") == ["headrace-cluster[]"]
    assert _wrong_packages("pip install headrace-kernels") == ["pip install headrace-kernels"]
    assert not _wrong_packages("install headrace-kernels: pip install ./packages/kernels")

"""The folders of headrace.graph: order of imports, and the module list of the README."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace.graph as hr

SOURCE = Path(hr.__file__).parent
README = (Path(__file__).parents[1] / "README.md").read_text()
ROWS = re.findall(r"^\| (?:`([\w/]+)/`)? *\|[^|]*\| (.*) \|$", README, re.M)
ORDER = [folder for folder, _ in ROWS if folder and "/" not in folder]  # lowest layer first
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts): path
    for path in SOURCE.rglob("*.py")
    if path.name != "__init__.py"
}


def imported(path: Path) -> Iterator[str]:
    """Yields the modules of the package that a module imports, except for type checking only."""
    tree = ast.parse(path.read_text())
    typed = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or id(node) in typed:
            continue
        package = (node.module or "").removeprefix("headrace.graph").lstrip(".")
        if (node.module or "").startswith("headrace.graph"):
            for alias in node.names:
                module = f"{package}.{alias.name}".lstrip(".")
                yield module if module in MODULES else package


IMPORTS = {module: set(imported(path)) - {module} for module, path in MODULES.items()}


def test_readme_lists_all_folders_in_order_of_imports() -> None:
    folders = {module.split(".")[0] for module in MODULES}
    assert sorted(ORDER) == sorted(folders)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_imports_only_its_own_folder_and_lower_ones(module: str) -> None:
    allowed = ORDER[: ORDER.index(module.split(".")[0]) + 1]
    assert {m for m in IMPORTS[module] if m.split(".")[0] not in allowed} == set()


def reached(module: str) -> set[str]:
    """Returns the modules that a module imports, directly or indirectly."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        new = IMPORTS.get(waiting.pop(), set()) - found
        found |= new
        waiting.extend(new)
    return found


def test_imports_form_no_cycle_even_lazily() -> None:
    assert [module for module in sorted(MODULES) if module in reached(module)] == []


def test_the_readme_names_every_module() -> None:
    named: set[str] = set()
    folder = ""
    for row, text in ROWS:
        folder = row.replace("/", ".") or folder
        named |= {f"{folder}.{name}" for name in re.findall(r"`(\w+)`", text)}
    assert sorted(named) == sorted(MODULES)


@pytest.mark.parametrize(
    "space", ["functions", "layers", "losses", "metrics", "saved_model", "summary"]
)
def test_folder_has_the_public_names_of_its_namespace(space: str) -> None:
    folder = importlib.import_module(f"headrace.graph.{space}")
    for name in dir(getattr(hr, space)):
        assert getattr(folder, name) is getattr(getattr(hr, space), name)
    with pytest.raises(AttributeError, match="nonsense"):
        folder.nonsense  # noqa: B018

"""No module imports itself through others, not even lazily within functions."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from checkout import PACKAGES, source_root, sources


def _is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _imported(path: Path, modules: dict[str, Path]) -> set[str]:
    """Returns the modules that a module imports, except for type checkers only."""
    tree = ast.parse(path.read_text())
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if _is_for_type_checkers(node)
        for inner in ast.walk(node)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= members & modules.keys() or {node.module}
    return found & modules.keys()


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_form_no_cycle(package: str) -> None:
    root = source_root(package)
    modules = {
        ".".join(path.relative_to(root).with_suffix("").parts): path
        for path in sources(package, ".py")
        if path.name != "__init__.py"  # it lists what its folder offers
    }
    imports = {name: _imported(path, modules) - {name} for name, path in modules.items()}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))

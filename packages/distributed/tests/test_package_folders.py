"""The folders of headrace.distributed: order of imports, and the module list of the README."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace.distributed as package

SOURCE = Path(package.__file__).parent
README = (Path(__file__).parents[1] / "README.md").read_text()
TABLE = README.partition("## Modules")[2]
ROWS = re.findall(r"^\| (?:`([\w/]+)/`)? *\| (`[^|]*) \| [^|]* \|$", TABLE, re.M)
# lowest layer first
ORDER = list(dict.fromkeys(folder.split("/")[0] for folder, _ in ROWS if folder))
FOLDERS = {
    str(path.parent.relative_to(SOURCE))
    for path in SOURCE.rglob("__init__.py")
    if path.parent != SOURCE
}
MODULES = [path for path in SOURCE.rglob("*.py") if path.name != "__init__.py"]


def imported_folders(path: Path) -> Iterator[str]:
    """Yields the folders whose modules a module imports, except for type checking only."""
    tree = ast.parse(path.read_text())
    typed = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in typed:
            name = (node.module or "").split(".")
            if name[:2] == ["headrace", "distributed"]:
                yield from name[2:3] or [alias.name for alias in node.names]


def test_the_readme_lists_all_folders() -> None:
    assert {folder for folder, _ in ROWS if folder} == FOLDERS


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_module_imports_only_its_own_folder_and_lower_ones(path: Path) -> None:
    allowed = ORDER[: ORDER.index(path.relative_to(SOURCE).parts[0]) + 1]
    assert set(imported_folders(path)) <= set(allowed)


def test_the_readme_lists_all_modules() -> None:
    listed: dict[str, set[str]] = {}
    folder = ""
    for first, names in ROWS:
        folder = first or folder
        listed.setdefault(folder, set()).update(re.findall(r"`(\w+)`", names))
    for folder in FOLDERS:
        inside = {
            path.name.split(".")[0]  # a wheel has no .pyx, and a checkout that is not built no .so
            for path in (SOURCE / folder).iterdir()
            if path.suffix in (".py", ".pyx", ".so") and not path.name.startswith("__")
        }
        assert listed[folder] == inside, folder

"""examples/requirements.txt names every distribution that an example imports."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from checkout import ROOT

EXAMPLES = ROOT / "examples"
REQUIREMENTS = EXAMPLES / "requirements.txt"
# NumPy comes with the packages, of which every example needs some.
OF_THE_PACKAGES = {"headrace", "numpy"}


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
    return {name.split(".")[0] for name in names}


def test_the_requirements_of_the_examples_are_those_that_they_import() -> None:
    programs = sorted(EXAMPLES.rglob("*.py"))
    own = {path.stem for path in programs}
    needed = {name for path in programs for name in imported(path)}
    needed -= own | OF_THE_PACKAGES | {*sys.stdlib_module_names}
    lines = [line for line in REQUIREMENTS.read_text().splitlines() if not line.startswith("#")]
    assert {re.match(r"[\w-]+", line)[0] for line in lines} == needed  # type: ignore[index]


def test_the_pages_that_run_an_example_say_how_to_install_what_it_needs() -> None:
    command = "-r examples/requirements.txt"
    for page in ("docs/examples.md", "docs/digits.md", "examples/digits.py"):
        assert command in (ROOT / page).read_text(), page

"""A test names every module of the runtime: "Modules: ..." in its docstring, or an import."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
SOURCES = CHECKOUT / "packages/runtime/src/headrace/runtime"
MODULES = sorted(
    {
        str(path.relative_to(SOURCES).with_suffix(""))
        for path in SOURCES.rglob("*")
        if path.suffix in (".py", ".pyx", ".pxd", ".hpp") and path.stem != "__init__"
    }
)


def _tests() -> str:
    folders = [CHECKOUT / "packages/runtime/tests", CHECKOUT / "tests"]
    texts = [path.read_text() for folder in folders for path in sorted(folder.rglob("*.py"))]
    texts += [path.read_text() for path in sorted(folders[0].glob("*.cpp"))]
    return "\n".join(texts).replace("headrace.runtime.", "").replace("\n", " ")


TESTS = _tests()


@pytest.mark.parametrize("module", MODULES)
def test_a_test_names_the_module(module):
    folder, _, stem = module.partition("/")
    imported = rf"\b{folder}\.{stem}\b|\bfrom {folder} import [^\"']*\b{stem}\b"
    assert re.search(rf"\b{module}\b|{imported}", TESTS), (
        f"no test names {module}: add it to the docstring of the tests that fail without it"
    )


def test_modules_that_tests_name_exist():
    named = re.findall(r"Modules: ([\w/, ]+)\.", TESTS)
    assert not {name for names in named for name in names.split(", ")} - set(MODULES)

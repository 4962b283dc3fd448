"""Where the files of the CPU library stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kernel_harness import registrations

from headrace.formats import op_catalogue

PACKAGE = Path(__file__).parents[1]
CPU = PACKAGE / "src" / "headrace" / "kernels" / "cpu"
# Each includes only those before it.
FOLDERS = ["processor", "table", "math", "loops", "gemm", "onednn", "files", "ops", "."]


def sources(folder: str) -> list[Path]:
    found = CPU.rglob("*") if folder != "." else CPU.glob("*")
    return [p for p in found if p.suffix in (".cpp", ".hpp", ".inc") and folder_of(p) == folder]


def folder_of(path: Path) -> str:
    return path.relative_to(CPU).parts[0] if path.parent != CPU else "."


def registered_names(text: str) -> set[str]:
    """The strings in HR_KERNELS, and those that the file's macros put a prefix before."""
    names: set[str] = set()
    for block in re.findall(r"^HR_KERNELS = \{\n(.*?)^\};", text, re.MULTILINE | re.DOTALL):
        names.update(re.findall(r'"(\w+)"', block))
    prefixes = re.findall(r'kernel\("(\w+)" [Nn]ame', text)
    return names | {prefix + name for prefix in prefixes for name in names}


OPS = sorted({op for op, _ in registrations()})


def test_every_file_stands_in_a_folder_that_is_listed() -> None:
    folders = {folder_of(p) for p in CPU.rglob("*") if p.suffix in (".cpp", ".hpp", ".inc")}
    assert folders == set(FOLDERS)


@pytest.mark.parametrize("family", sorted({op_catalogue.family(op) for op in OPS}))
def test_the_kernels_of_a_family_are_registered_in_its_file_or_folder(family: str) -> None:
    files = [CPU / "ops" / f"{family}.cpp", *(CPU / "ops" / family).rglob("*.cpp")]
    registered: set[str] = set()
    for path in files:
        if path.exists():
            registered |= registered_names(path.read_text())
    compiled = {op for op in OPS if op_catalogue.family(op) == family}
    assert compiled - registered == set()


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_includes_only_folders_before_it(folder: str) -> None:
    before = FOLDERS[: FOLDERS.index(folder) + 1]
    for path in sources(folder):
        for name in re.findall(r'^\s*#\s*include "([^"]+)"', path.read_text(), re.MULTILINE):
            if (CPU / name).is_file():
                assert folder_of(CPU / name) in before, f"{path} includes {name}"
            else:
                assert not (path.parent / name).is_file(), f"{path}: write {name} from cpu/ on"


def test_the_readme_names_every_file() -> None:
    readme = (PACKAGE / "README.md").read_text()
    written = [p for folder in FOLDERS for p in sources(folder)]
    assert {p.stem for p in written if f"`{p.stem}`" not in readme} == set()

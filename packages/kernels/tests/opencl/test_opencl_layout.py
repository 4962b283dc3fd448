"""Where the files of the OpenCL library stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.formats import kernel_abi, op_catalogue
from headrace.kernels import opencl

PACKAGE = Path(__file__).parents[2]
OPENCL = PACKAGE / "src" / "headrace" / "kernels" / "opencl"
LIBRARY = OPENCL.parent / "library"
# Each includes only those before it, and library/.
FOLDERS = [
    "api", "memory", "device", "programs", "launch", "codegen", "discovery", "tuning", "gemm",
    "table", "ops", ".",
]  # fmt: skip
CPP = (".cpp", ".hpp")


def folder_of(path: Path) -> str:
    return path.relative_to(OPENCL).parts[0] if path.parent != OPENCL else "."


def written() -> list[Path]:
    return [p for p in OPENCL.rglob("*") if p.suffix in CPP]


def includes(path: Path) -> list[str]:
    return re.findall(r'^\s*#\s*include "([^"]+)"', path.read_text(), re.MULTILINE)


def test_every_file_stands_in_a_folder_that_is_listed() -> None:
    assert {folder_of(p) for p in written()} <= set(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_includes_only_folders_before_it(folder: str) -> None:
    before = FOLDERS[: FOLDERS.index(folder) + 1]
    for path in written():
        for name in includes(path) if folder_of(path) == folder else []:
            if (OPENCL / name).is_file():
                assert folder_of(OPENCL / name) in before, f"{path} includes {name}"
            else:
                assert not (path.parent / name).is_file(), f"{path}: write {name} from opencl/ on"


def test_what_libraries_share_includes_neither() -> None:
    for path in (p for p in LIBRARY.rglob("*") if p.suffix in CPP):
        for name in includes(path):
            assert name.startswith(("library/", "headrace/")), f"{path} includes {name}"


def test_the_headers_of_opencl_are_not_needed_to_build() -> None:
    for path in written():
        assert not re.search(r"#\s*include\s*[<\"](CL|OpenCL)/", path.read_text()), path


def test_the_kernels_of_a_family_are_registered_in_its_file_or_folder() -> None:
    _, kernels = kernel_abi.read_table(opencl.capsule())
    for op in sorted({kernel.op.decode() for kernel in kernels}):
        family = op_catalogue.family(op)
        files = [OPENCL / "ops" / f"{family}.cpp", *(OPENCL / "ops" / family).rglob("*.cpp")]
        texts = [path.read_text() for path in files if path.exists()]
        assert any(f'"{op}"' in text for text in texts), f"{op} is not in ops/{family}"


def test_sources_are_installed() -> None:
    installed = {p.name for p in (Path(opencl.__path__[0]) / "sources").rglob("*.cl")}
    assert installed == {p.name for p in (OPENCL / "sources").rglob("*.cl")}


def test_the_readme_names_every_file() -> None:
    readme = (PACKAGE / "README.md").read_text()
    stems = {p.stem for p in [*written(), *LIBRARY.rglob("*.?pp")] if "ops" not in p.parts}
    assert {stem for stem in stems if f"`{stem}`" not in readme} == set()

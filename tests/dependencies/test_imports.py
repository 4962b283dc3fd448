"""Which modules the packages and their tests import, read from the sources."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import PACKAGES, ROOT, SHARED, declared, python_tests, source_root, sources

TEST_TOOLS = {"pytest", "hypothesis", "playwright", "PIL", "axe_playwright_python"}
# Of tests marked `peer`; the last two are what the writers of logs need for figures and ONNX.
PEERS = {"tensorflow", "keras", "tensorboard", "jax", "torch", "tensorboardX", "matplotlib", "onnx"}
CIMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+c?import\s+(.*)|c?import\s+([\w., ]+))", re.M)


def modules_imported(path: Path, package_name: str) -> Iterator[str]:
    """Yields the dotted names that a Python file imports, made absolute."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package_name.split(".")[: 1 - node.level or None] if node.level else []
            module = ".".join([*start, *filter(None, [node.module])])
            if module == "headrace":
                yield from (f"headrace.{alias.name}" for alias in node.names)
            else:
                yield module


def modules_cimported(text: str) -> Iterator[str]:
    """Yields the dotted names that a Cython file imports or cimports."""
    for module, names, several in CIMPORT.findall(text):
        if module == "headrace":
            yield from (f"headrace.{name.split()[0]}" for name in names.strip("()").split(","))
        else:
            yield from [module] if module else (name.split()[0] for name in several.split(","))


def forbidden(modules: Iterator[str], package: str) -> set[str]:
    """Returns: the modules of other packages than `package` and formats."""
    allowed = {package, SHARED}
    return {
        module
        for module in modules
        if module.split(".")[0] == "headrace" and module.split(".")[1] not in allowed
    }


def of_package(path: Path, package: str) -> str:
    return ".".join(path.relative_to(source_root(package)).parent.parts)


@pytest.mark.parametrize("package", PACKAGES)
def test_package_imports_only_itself_and_formats(package: str) -> None:
    for path in sources(package, ".py"):
        imported = modules_imported(path, of_package(path, package))
        assert forbidden(imported, package) == set(), path


@pytest.mark.parametrize("package", PACKAGES)
def test_package_cimports_only_itself_and_formats(package: str) -> None:
    for path in sources(package, ".pyx", ".pxd", ".pxi"):
        assert forbidden(modules_cimported(path.read_text()), package) == set(), path


@pytest.mark.parametrize("package", PACKAGES)
def test_package_imports_only_declared_dependencies(package: str) -> None:
    allowed = declared(package) | {"headrace", "libc", "libcpp", "cython", "cpython"}
    for path in sources(package, ".py"):
        imported = {m.split(".")[0] for m in modules_imported(path, of_package(path, package))}
        assert imported - allowed - sys.stdlib_module_names == set(), path
    for path in sources(package, ".pyx", ".pxd"):
        imported = {m.split(".")[0] for m in modules_cimported(path.read_text())} - {""}
        assert imported - allowed - sys.stdlib_module_names == set(), path


@pytest.mark.parametrize("package", PACKAGES)
def test_tests_of_a_package_need_only_that_package(package: str) -> None:
    own = {p.stem for p in python_tests(package)} | {p.parent.name for p in python_tests(package)}
    allowed = declared(package) | declared(SHARED) | TEST_TOOLS | PEERS | own | {"headrace"}
    for path in python_tests(package):
        imported = set(modules_imported(path, path.parent.name))
        assert forbidden(iter(imported), package) == set(), path
        roots = {module.split(".")[0] for module in imported}
        assert roots - allowed - sys.stdlib_module_names == set(), path


def test_only_services_reads_entry_points() -> None:
    callers = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in sources(package, ".py", ".pyx")
        if re.search(r"\bentry_points\b\(|import entry_points", path.read_text())
    }
    assert callers == {"packages/formats/src/headrace/formats/services.py"}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("from headrace.runtime.plan cimport Plan", {"headrace.runtime.plan"}),
        ("from headrace cimport kernels", {"headrace.kernels"}),
        ("cimport headrace.runtime.plan as plan", {"headrace.runtime.plan"}),
        ("from headrace.formats import errors", set()),
        ("from headrace.graph import graph", set()),
    ],
)
def test_forbidden_cimports_are_found(line: str, found: set[str]) -> None:
    assert forbidden(modules_cimported(line), "graph") == found


# What may be imported within a function of the packages that run steps, and why. Ctrl-C, or the end
# of a run, inside an import leaves CPython's import lock taken: the next thread that imports hangs.
LATE = {
    "ml_dtypes": "10 ms that few programs need; under interrupts_held, before a kernel is called",
    "headrace.runtime.state.context": "loaded at the first import, with libgomp's environment set",
    "headrace.runtime.session.local_session": "makes the session: before there is one",
}
WITHIN_A_FUNCTION = re.compile(r"^[ \t]+(?:from\s+([\w.]+)\s+import|import\s+([\w.]+))\b", re.M)


@pytest.mark.parametrize("package", ["kernels", "runtime"])
def test_packages_that_run_steps_import_nothing_within_functions(package: str) -> None:
    found = set()
    for path in sources(package, ".py", ".pyx"):
        text = path.read_text().replace("\ntry:\n    import", "\ntry:\nimport")
        found |= {a or b for a, b in WITHIN_A_FUNCTION.findall(text)}
    assert found - LATE.keys() == set()

"""Names of modules, contents of __init__ modules, licences, and copies of build code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from checkout import PACKAGES, ROOT, source_root, sources

NO_SUBJECT = {"util", "utils", "helper", "helpers", "common", "misc", "core", "base", "manager"}
COPIES = {
    "sibling_backend.py": ("graph", "runtime", "kernels", "distributed", "board"),
    "native_build.py": ("runtime", "kernels", "distributed", "board"),
}


def test_no_package_owns_the_namespace() -> None:
    assert list(ROOT.glob("packages/*/src/headrace/__init__.*")) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_is_named_after_its_subject(package: str) -> None:
    written = sources(package, ".py", ".pyx", ".pxd", ".h", ".hpp", ".cpp", ".proto", ".ops")
    modules = {path.stem for path in written}
    folders = {p.name for p in source_root(package).rglob("*") if p.is_dir()}
    assert (modules | folders) & NO_SUBJECT == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_init_modules_only_re_export(package: str) -> None:
    for path in sources(package, ".py"):
        if path.name == "__init__.py":
            for statement in ast.parse(path.read_text()).body:
                assert is_re_export(statement), f"{path}:{statement.lineno}"


def is_re_export(statement: ast.stmt) -> bool:
    """Says whether a statement of an __init__.py imports, or offers what is imported on demand."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return True
    if isinstance(statement, ast.Expr):  # the docstring, or a call that sets up the namespace
        return isinstance(statement.value, ast.Constant | ast.Call)
    if isinstance(statement, ast.Assign):
        names = [t.id for t in statement.targets if isinstance(t, ast.Name)]
        return all(name.startswith("__") for name in names)
    return isinstance(statement, ast.FunctionDef) and statement.name in ("__getattr__", "__dir__")


@pytest.mark.parametrize("package", PACKAGES)
def test_package_has_py_typed_and_a_licence(package: str) -> None:
    assert (source_root(package) / "headrace" / package / "py.typed").exists()
    folder = ROOT / "packages" / package
    assert (folder / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert "## 0.1.0" in (folder / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_build_code_are_equal(name: str) -> None:
    texts = {Path(ROOT, "packages", p, "_build", name).read_text() for p in COPIES[name]}
    assert len(texts) == 1

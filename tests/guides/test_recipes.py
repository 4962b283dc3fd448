"""The recipes that CONTRIBUTING.md names, carried out in a copy of the checkout."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from guide import ROOT, apply_edit, assert_same_text, blocks, shell

GUIDES = ROOT / "docs" / "guides"
BINARY = (".so", ".dylib", ".3")

CAPSULE = """
#include <Python.h>
#include "table/table.hpp"
static PyObject* capsule(PyObject*, PyObject*) {
  return PyCapsule_New(const_cast<hr_kernel_table*>(hr_cpu_kernel_table()),
                       HR_KERNEL_TABLE_CAPSULE, nullptr);
}
static PyMethodDef methods[] = {{"capsule", capsule, METH_NOARGS, ""}, {}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "recipe_kernels", "", 0, methods};
PyMODINIT_FUNC PyInit_recipe_kernels(void) { return PyModule_Create(&module); }
"""


class Copy:
    """A copy of the checkout with the packages that a recipe changes, as they are installed."""

    def __init__(self, folder: Path, packages: list[str], others: list[str]) -> None:
        self.folder = folder
        for package in packages:
            module = importlib.import_module(f"headrace.{package}")
            assert module.__file__ is not None
            target = self.source(package) / "headrace" / package
            shutil.copytree(Path(module.__file__).parent, target, copy_function=_copy_or_link)
        for path in others:
            if (ROOT / path).is_dir():
                shutil.copytree(ROOT / path, folder / path)
            else:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / path, folder / path)
        self._python_path = [str(self.source(package)) for package in packages]

    def source(self, package: str) -> Path:
        return self.folder / "packages" / package / "src"

    def run(self, commands: str) -> str:
        path = [*self._python_path, *filter(None, [os.environ.get("PYTHONPATH")])]
        variables = {
            "PYTHONPATH": os.pathsep.join(path),
            "HEADRACE_BUILD_DIR": str(self.folder / "build"),
        }
        return shell(commands, self.folder, variables)

    def follow(self, recipe: str, build: Callable[[], None] | None = None) -> None:
        """Applies a recipe's edits and runs its commands, `build` in the place of `console`."""
        printed = ""
        for block in blocks(GUIDES / f"{recipe}.md"):
            if block.edit is not None:
                apply_edit(block, self.folder)
            elif block.language == "sh":
                printed = self.run(block.text)
            elif block.language == "console":
                assert build is not None
                build()
            elif not block.language:
                assert_same_text(printed, block.text)

    def build_kernel(self, source: str) -> None:
        """Compiles one file of kernels alone, and offers them beside those that are installed.

        The recipe's own command builds the whole library: minutes where nothing is built yet.
        """
        cpu = "packages/kernels/src/headrace/kernels/cpu"
        library = self.source("kernels")
        # What every kernel needs, and which needs no numeric library.
        shared = [*(ROOT / cpu / "table").glob("*.cpp"), *(ROOT / cpu / "processor").glob("*.cpp")]
        (library / "recipe_kernels.cpp").write_text(CAPSULE)
        (library / "recipe-0.dist-info").mkdir()
        (library / "recipe-0.dist-info" / "METADATA").write_text("Name: recipe\nVersion: 0\n")
        (library / "recipe-0.dist-info" / "entry_points.txt").write_text(
            "[headrace.kernels]\nrecipe = recipe_kernels:capsule\n"
        )
        (library / "setup.py").write_text(
            "from setuptools import Extension, setup\n"
            "setup(name='recipe', ext_modules=[Extension('recipe_kernels',\n"
            f"    {['recipe_kernels.cpp', str(self.folder / source), *map(str, shared)]!r},\n"
            f"    include_dirs=[{str(ROOT / cpu)!r}, {str((ROOT / cpu).parent)!r},\n"
            f"        {str(self.source('formats') / 'headrace/formats/include')!r}],\n"
            "    extra_compile_args=['-std=c++17', '-O1', '-fopenmp', '-fvisibility=hidden'],\n"
            "    extra_link_args=['-fopenmp'])])\n"
        )
        self.run(f"cd {library} && {sys.executable} setup.py -q build_ext --inplace")

    def build_passes(self, modules: list[str]) -> None:
        """Compiles modules of the runtime alone; the others are linked as they are installed."""
        passes = "src/headrace/runtime/passes"
        runtime = self.folder / "packages" / "runtime"
        (runtime / "setup.py").write_text(
            "import sys\nsys.path.insert(0, '_build')\n"
            "import numpy\n"
            "from setuptools import Extension, setup\n"
            "from native_build import BuildExt\n"
            "setup(name='recipe', package_dir={'': 'src'}, packages=[],\n"
            "    cmdclass={'build_ext': BuildExt}, ext_modules=[\n"
            "    Extension(f'headrace.runtime.passes.{name}', [f'" + passes + "/{name}.pyx'],\n"
            "        language='c++', extra_compile_args=['-std=c++17', '-O0', '-fopenmp'],\n"
            "        include_dirs=[numpy.get_include(), 'src/headrace/runtime'])\n"
            f"    for name in {modules!r}])\n"
        )
        for module in modules:  # never through a link into what is installed
            for linked in (runtime / passes).glob(f"{module}.*.so"):
                linked.unlink()
        self.run(f"cd {runtime} && {sys.executable} setup.py -q build_ext --inplace")


def _copy_or_link(source: str, target: str) -> None:
    """Links what is compiled: it is large, and no recipe changes it."""
    if source.endswith(BINARY):
        os.symlink(source, target)
    else:
        shutil.copy(source, target)


@pytest.fixture
def copy(tmp_path: Path) -> Callable[[list[str], list[str]], Copy]:
    return lambda packages, others: Copy(tmp_path / "checkout", packages, ["pytest.ini", *others])


def test_an_op_is_added(copy) -> None:
    checkout = copy(
        ["formats", "graph", "kernels"], ["tests/ops", "tests/contract", "packages/graph/tests"]
    )
    kernel = "packages/kernels/src/headrace/kernels/cpu/ops/linalg/outer_product.cpp"
    checkout.follow("adding_an_op", lambda: checkout.build_kernel(kernel))
    listed = (checkout.folder / "packages/graph/tests/public_api.txt").read_text()
    assert "linalg.outer_product(a,b,name=)" in listed


def test_an_optimizer_is_added(copy) -> None:
    copy(["graph"], ["packages/graph/tests"]).follow("adding_an_optimizer")


def test_a_panel_is_added(copy) -> None:
    board = "packages/board"
    copy(["board"], [f"{board}/tests", f"{board}/frontend/src/shell/pages.ts"]).follow(
        "adding_a_panel"
    )


def test_a_data_format_is_added(copy) -> None:
    copy(["formats"], []).follow("adding_a_data_format")


def test_a_graph_pass_is_added(copy) -> None:
    formats, runtime = "packages/formats", "packages/runtime"
    checkout = copy(
        ["runtime"],
        [f"{runtime}/tests", f"{runtime}/_build", f"{formats}/pyproject.toml"]
        + [f"{formats}/src/headrace/formats/include"],
    )
    sources = ROOT / runtime / "src"  # an installed runtime has no Cython
    for path in sources.rglob("*"):
        if path.suffix in (".pyx", ".pxd", ".hpp"):
            target = checkout.source("runtime") / path.relative_to(sources)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    modules = ["double_negation", "program"]
    checkout.follow("adding_a_graph_pass", lambda: checkout.build_passes(modules))

"""The generated type stubs have the public names, and are part of the package."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import headrace.graph as hr
from headrace.formats import op_catalogue
from headrace.graph.api.namespace import find, names
from headrace.graph.api.public_names import PUBLIC

FOLDER = Path(hr.__file__).parent
SPACES = sorted({"", *(name[:i] for name in PUBLIC for i, c in enumerate(name) if c == ".")})


def stub(space: str) -> Path:
    """Returns the stub of a namespace."""
    folder = FOLDER / space.replace(".", "/")
    if folder.is_dir():
        return folder / "__init__.pyi"
    return FOLDER / "api" / "spaces" / f"{space.replace('.', '_')}.pyi"


@pytest.mark.parametrize("space", SPACES)
def test_a_stub_exports_the_names_of_its_namespace(space: str) -> None:
    tree = ast.parse(stub(space).read_text())
    exported = ast.literal_eval(tree.body[-1].value)  # type: ignore[attr-defined]
    assert exported == names(space)
    defined = {alias.asname or alias.name for node in tree.body for alias in names_of(node)}
    defined |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert set(exported) <= defined


def names_of(node: ast.stmt) -> list[ast.alias]:
    return node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else []


def test_the_function_of_a_layer_has_the_parameters_of_its_class_in_the_stub() -> None:
    tree = ast.parse(stub("layers").read_text())
    shown = {n.name: n.args for n in tree.body if isinstance(n, ast.FunctionDef)}
    assert {"dense", "conv1d", "conv2d", "separable_conv2d", "conv3d_transpose"} <= set(shown)
    for name, arguments in shown.items():
        parameters = find(f"layers.{name}").__signature__.parameters.values()
        assert [a.arg for a in arguments.args] == [p.name for p in parameters]
        optional = [p for p in parameters if p.default is not p.empty]
        assert len(arguments.defaults) == len(optional)


def test_the_stub_of_raw_ops_has_every_op_that_a_graph_may_name() -> None:
    tree = ast.parse((FOLDER / "ops" / "raw_ops.pyi").read_text())
    shown = {n.name: n.args for n in tree.body if isinstance(n, ast.FunctionDef)}
    signatures = [op_catalogue.signature(name) for name in op_catalogue.built_in_names()]
    assert set(shown) == {s.name for s in signatures if not s.internal}
    matmul = shown["MatMul"]
    assert [a.arg for a in matmul.kwonlyargs][:3] == ["a", "b", "transpose_a"]
    assert matmul.kw_defaults[0] is None and matmul.kw_defaults[2] is not None


def test_package_has_py_typed() -> None:
    assert (FOLDER / "py.typed").exists()

"""Tensors and variables have exactly the operators declared for type checkers."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import headrace.graph as hr

SOURCE = Path(hr.__file__).parent / "framework" / "operator_types.py"
DECLARED = [
    node.name
    for node in ast.walk(ast.parse(SOURCE.read_text()))
    if isinstance(node, ast.FunctionDef)
]


@pytest.mark.parametrize("operator", DECLARED)
def test_a_declared_operator_exists(operator):
    assert operator in vars(hr.Tensor) and operator in vars(hr.Variable)
    assert len(DECLARED) == len(set(DECLARED))

"""Gradients are in the module of the op's family."""

from __future__ import annotations

import sys

import pytest

from headrace.graph.framework.op_registry import gradient_function, no_gradient_reason

GRADIENTS = {
    "Cholesky": "ops.linalg.decomposition_gradients",
    "Qr": "ops.linalg.decomposition_gradients",
    "MatrixSolve": "ops.linalg.solve_gradients",
    "MatrixTriangularSolve": "ops.linalg.solve_gradients",
    "GRUBlockCell": "ops.recurrent",
    "SparseReorder": "ops.sparse.gradients",
    "Transpose": "ops.arrays.gradients",
    "Exp": "ops.elementwise.gradients",
    "TensorArrayReadV3": "ops.tensor_arrays.gradients",
    "TensorListStack": "ops.tensor_lists",
    "Einsum": "ops.matmul.einsum",
    "MatMul": "ops.matmul.matmul",
}


@pytest.mark.parametrize("op_type", GRADIENTS)
def test_gradient_of_an_op_is_in_its_family(op_type: str) -> None:
    function = gradient_function(op_type)
    assert function is None or function.__module__ == f"headrace.graph.{GRADIENTS[op_type]}"


# These modules declare why their ops have no gradient.
WITHOUT_GRADIENT = {
    "StackPushV2": "ops.stacks",
}


@pytest.mark.parametrize("op_type", WITHOUT_GRADIENT)
def test_unimplemented_gradient_raises_with_the_reason(op_type: str) -> None:
    with pytest.raises(LookupError, match="use hr.TensorArray"):
        gradient_function(op_type)
    assert f"headrace.graph.{WITHOUT_GRADIENT[op_type]}" in sys.modules
    assert no_gradient_reason(op_type)

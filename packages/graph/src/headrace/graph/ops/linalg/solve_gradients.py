"""Gradients of inverses, determinants, linear solvers and matrix functions."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.cond import cond
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.ops.arrays.shapes import matrix_transpose
from headrace.graph.ops.elementwise.elementwise import cast, conj, real

# Xᴴ is the adjoint. As in TensorFlow, the gradient of a real loss is its direction of steepest
# ascent.


def product(a: Tensor, b: Tensor, adjoint_a: bool = False, adjoint_b: bool = False) -> Tensor:
    """Computes a b, with adjoints on request."""
    result: Tensor = op("BatchMatMulV2", a, b, adj_x=adjoint_a, adj_y=adjoint_b)
    return result


def adjoint(x: Tensor) -> Tensor:
    """Returns Xᴴ."""
    return matrix_transpose(x, conjugate=True)


def _scaled(matrix: Tensor, factor: Tensor) -> Tensor:
    return matrix * op("ExpandDims", op("ExpandDims", factor, -1), -1)


@gradient("MatrixInverse")
def _inverse_gradient(node: Operation, grad: Tensor) -> Tensor:
    inverse = node.outputs[0]
    turned = bool(node.get_attr("adjoint"))
    inner = product(grad, inverse, turned, not turned)
    return -product(inverse, inner, not turned, False)


@gradient("MatrixDeterminant")
def _determinant_gradient(node: Operation, grad: Tensor) -> Tensor:
    inverse = op("MatrixInverse", node.inputs[0], adjoint=True)
    return _scaled(inverse, grad * conj(node.outputs[0]))


@gradient("LogMatrixDeterminant")
def _log_determinant_gradient(node: Operation, _: Any, grad: Tensor) -> Tensor:
    """The sign has no gradient; the logarithm is real, also for complex dtypes."""
    if grad.dtype.is_complex:
        grad = cast(real(grad), grad.dtype.base_dtype)
    return _scaled(op("MatrixInverse", node.inputs[0], adjoint=True), grad)


@gradient("MatrixSolve")
def _solve_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    matrix, solution = node.inputs[0], node.outputs[0]
    turned = bool(node.get_attr("adjoint"))
    into_rhs = op("MatrixSolve", matrix, grad, adjoint=not turned)
    pair = (solution, into_rhs) if turned else (into_rhs, solution)
    return [-product(pair[0], pair[1], adjoint_b=True), into_rhs]


@gradient("MatrixTriangularSolve")
def _triangular_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    matrix, rhs = node.inputs
    solution = node.outputs[0]
    turned, lower = bool(node.get_attr("adjoint")), bool(node.get_attr("lower"))
    into_rhs = op("MatrixTriangularSolve", matrix, grad, lower=lower, adjoint=not turned)
    pair = (solution, into_rhs) if turned else (into_rhs, solution)
    into_matrix = _half(-product(pair[0], pair[1], adjoint_b=True), lower)
    return [_summed(into_matrix, matrix), _summed(into_rhs, rhs)]


def _half(x: Tensor, lower: bool) -> Tensor:
    band = [constant(n, "int64") for n in ((-1, 0) if lower else (0, -1))]
    result: Tensor = op("MatrixBandPart", x, *band)
    return result


def _summed(grad: Tensor, source: Tensor) -> Tensor:
    """Sums a gradient over the batch dimensions in which source was broadcast."""
    mine, wide = source.get_shape(), grad.get_shape()
    if mine.is_fully_defined() and mine.as_list() == wide.as_list():
        return grad
    shape, full = op("Shape", source), op("Shape", grad)
    axes = op("BroadcastGradientArgs", shape[:-2], full[:-2])[0]
    return op("Reshape", op("Sum", grad, axes), shape)


@gradient("MatrixSolveLs")
def _least_squares_gradient(node: Operation, grad: Tensor) -> list[Any]:
    if not node.get_attr("fast"):
        raise ValueError("Gradient not defined for fast=False: solve with fast=True")
    a, b, regularizer = node.inputs
    x = node.outputs[0]
    level = cast(regularizer, a.dtype.base_dtype)
    rows, columns = a.get_shape().as_list()[-2:]
    if rows is not None and columns is not None:
        rule = _tall if rows >= columns else _wide
        return [*rule(a, b, level, x, grad), None]
    sizes = op("Shape", a)[-2:]
    tall = op("GreaterEqual", sizes[0], sizes[1])
    result = cond(tall, lambda: _tall(a, b, level, x, grad), lambda: _wide(a, b, level, x, grad))
    return [*result, None]


def _factor(a: Tensor, level: Tensor, tall: bool) -> Tensor:
    """Computes the Cholesky factor of Aᴴ A or A Aᴴ, with level added to the diagonal."""
    gram = product(a, a, adjoint_a=True) if tall else product(a, a, adjoint_b=True)
    return op("Cholesky", op("MatrixSetDiag", gram, op("MatrixDiagPart", gram) + level))


def _solved(factor: Tensor, rhs: Tensor) -> Tensor:
    half = op("MatrixTriangularSolve", factor, rhs, lower=True)
    return op("MatrixTriangularSolve", factor, half, lower=True, adjoint=True)


def _tall(a: Tensor, b: Tensor, level: Tensor, x: Tensor, grad: Tensor) -> list[Tensor]:
    z = _solved(_factor(a, level, True), grad)
    outer = product(x, z, adjoint_b=True)
    both = outer + adjoint(outer)
    into_a = product(b, z, adjoint_b=True) - product(a, both)
    return [into_a, product(a, z)]


def _wide(a: Tensor, b: Tensor, level: Tensor, x: Tensor, grad: Tensor) -> list[Tensor]:
    factor = _factor(a, level, False)
    into_b = _solved(factor, product(a, grad))
    inner = _solved(factor, b)
    first = -product(into_b, product(inner, a, adjoint_a=True))
    rest = grad - product(a, into_b, adjoint_a=True)
    return [first + product(inner, rest, adjoint_b=True), into_b]


@gradient("MatrixSquareRoot")
def _root_gradient(node: Operation, grad: Tensor) -> Tensor:
    """Solves Y Xᴴ + Xᴴ Y = grad as one system of n² equations."""
    turned = adjoint(node.outputs[0])
    shape = op("Shape", turned)
    size = shape[-1]
    unit = op("MatrixDiag", op("OnesLike", op("MatrixDiagPart", turned)))
    left = _kron(turned, unit)
    right = _kron(unit, matrix_transpose(turned))
    many = op("Mul", size, size)
    before = shape[:-2]
    flat = op("ConcatV2", [before, op("Pack", [many, many])], 0)
    column = op("ConcatV2", [before, op("Pack", [many, constant(1)])], 0)
    system = op("Reshape", left + right, flat)
    return op("Reshape", op("MatrixSolve", system, op("Reshape", grad, column)), shape)


def _kron(a: Tensor, b: Tensor) -> Tensor:
    """Returns [..., i, j, k, l] = a[..., i, k] * b[..., j, l]."""
    spread_a = op("ExpandDims", op("ExpandDims", a, -2), -1)
    spread_b = op("ExpandDims", op("ExpandDims", b, -3), -2)
    result: Tensor = spread_a * spread_b
    return result


@gradient("MatrixExponential")
def _exponential_gradient(node: Operation, grad: Tensor) -> Tensor:
    """Uses the upper right block of exp([[Aᴴ, G], [0, Aᴴ]]). Source: Mathias 1996."""
    turned = adjoint(node.inputs[0])
    size = op("Shape", turned)[-1]
    top = op("ConcatV2", [turned, grad], -1)
    below = op("ConcatV2", [op("ZerosLike", turned), turned], -1)
    result = op("MatrixExponential", op("ConcatV2", [top, below], -2))
    return result[..., :size, size:]


# ---- tridiagonal ---------------------------------------------------------------------------


def _shift_up(x: Tensor) -> Tensor:
    """Shifts rows up by one, with zeros last. Args: x: [..., n, k]."""
    return _padded(x[..., 1:, :], 0, 1)


def _shift_down(x: Tensor) -> Tensor:
    """Shifts rows down by one, with zeros first."""
    return _padded(x[..., :-1, :], 1, 0)


def _padded(x: Tensor, before: int, after: int) -> Tensor:
    rank = x.get_shape().ndims
    if rank is None:
        raise ValueError("the gradient of a tridiagonal system needs the rank of its operands")
    pads = [[0, 0]] * (rank - 2) + [[before, after], [0, 0]]
    result: Tensor = op("Pad", x, pads)
    return result


@gradient("TridiagonalSolve")
def _tridiagonal_solve_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    diagonals, solution = node.inputs[0], conj(node.outputs[0])
    columns = matrix_transpose(conj(diagonals))
    above, middle, below = columns[..., 0:1], columns[..., 1:2], columns[..., 2:3]
    turned = op("ConcatV2", [_shift_up(below), middle, _shift_down(above)], -1)
    attrs = {k: node.get_attr(k) for k in ("partial_pivoting", "perturb_singular")}
    into_rhs = op("TridiagonalSolve", matrix_transpose(turned), grad, **attrs)
    shifted = (_shift_up(solution), solution, _shift_down(solution))
    parts = [op("Sum", into_rhs * s, [-1]) for s in shifted]
    return [-op("Pack", parts, axis=-2), into_rhs]


@gradient("TridiagonalMatMul")
def _tridiagonal_product_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    above, middle, below, rhs = node.inputs
    turned = conj(rhs)
    parts = [
        op("ExpandDims", op("Sum", grad * s, [-1]), -2)
        for s in (_shift_up(turned), turned, _shift_down(turned))
    ]
    up, on, down = (matrix_transpose(conj(d)) * grad for d in (above, middle, below))
    return [*parts, _shift_down(up) + on + _shift_up(down)]


for _op_type in ("Lu", "MatrixLogarithm"):
    no_gradient(_op_type, "TensorFlow defines none")

"""Gradients of Cholesky, QR, singular value and eigenvalue decompositions."""

from __future__ import annotations

from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.ops.elementwise.elementwise import cast, conj, real
from headrace.graph.ops.linalg.solve_gradients import adjoint, product


def _lower(x: Tensor) -> Tensor:
    result: Tensor = op("MatrixBandPart", x, constant(-1, "int64"), constant(0, "int64"))
    return result


def _halved_diagonal(x: Tensor) -> Tensor:
    part = op("MatrixDiagPart", x)
    result: Tensor = op("MatrixSetDiag", x, part * constant(0.5, dtype=x.dtype.base_dtype))
    return result


@gradient("Cholesky")
def _cholesky_gradient(node: Operation, grad: Tensor) -> Tensor:
    """Returns a symmetric gradient, like the matrix. Source: Murray 2016, equation 10."""
    factor = node.outputs[0]
    unit = op("MatrixDiag", op("OnesLike", op("MatrixDiagPart", factor)))
    inverse = op("MatrixTriangularSolve", factor, unit, lower=True)
    middle = _lower(_halved_diagonal(product(factor, grad, adjoint_a=True)))
    result = product(product(inverse, middle, adjoint_a=True), inverse)
    return (result + adjoint(result)) * constant(0.5, dtype=result.dtype.base_dtype)


@gradient("Qr")
def _qr_gradient(node: Operation, into_q: Tensor, into_r: Tensor) -> Tensor:
    """Source: Walter and Lehmann 2012; Liao et al. 2019 for wide matrices."""
    x = node.inputs[0]
    q, r = node.outputs
    rows, columns = x.get_shape().as_list()[-2:]
    if rows is None or columns is None:
        raise NotImplementedError("QrGrad: the sizes of the matrix must be known")
    if node.get_attr("full_matrices") and rows > columns:
        raise NotImplementedError(
            f"QrGrad: a tall matrix ({rows} by {columns}) with full_matrices=True has columns of "
            "Q that nothing decides: take full_matrices=False"
        )
    if rows >= columns:
        return _tall_qr(q, r, into_q, into_r)
    # R = [U, V]: the first columns of X are Q U, the others Q V
    u, into_u, into_v = r[..., :rows], into_r[..., :rows], into_r[..., rows:]
    last = x[..., rows:]
    first = _tall_qr(q, u, into_q + product(last, into_v, adjoint_b=True), into_u)
    return op("ConcatV2", [first, product(q, into_v)], -1)


def _tall_qr(q: Tensor, r: Tensor, into_q: Tensor, into_r: Tensor) -> Tensor:
    turned = product(r, into_r, adjoint_b=True)
    turned = turned - adjoint(turned)
    inner = product(q, into_q, adjoint_a=True)
    inner = inner - adjoint(inner)
    below = _halved_diagonal(_lower(turned + inner))
    first = product(q, into_r + _over(below, r))
    rest = _over(into_q - product(q, product(q, into_q, adjoint_a=True)), r)
    return first + rest


def _over(x: Tensor, r: Tensor) -> Tensor:
    """Computes X R⁻ᴴ for an upper triangular R."""
    return adjoint(op("MatrixTriangularSolve", r, adjoint(x), lower=False, adjoint=False))


def _reciprocal_gaps(values: Tensor) -> Tensor:
    """Returns [..., i, j]: 1 / (values[j] - values[i]), and 0 for equal values."""
    gaps = op("ExpandDims", values, -2) - op("ExpandDims", values, -1)
    same = op("Equal", gaps, op("ZerosLike", gaps))
    safe = op("SelectV2", same, op("OnesLike", gaps), gaps)
    result: Tensor = op("SelectV2", same, op("ZerosLike", gaps), op("Reciprocal", safe))
    return result


@gradient("Svd")
def _svd_gradient(node: Operation, into_s: Tensor, into_u: Tensor, into_v: Tensor) -> Tensor:
    """Source: Townsend 2016. For complex matrices the loss must not depend on the phases."""
    a = node.inputs[0]
    if not node.get_attr("compute_uv"):
        _, u, v = op("Svd", a, compute_uv=True, full_matrices=False)
        return product(
            u * op("ExpandDims", cast(into_s, a.dtype.base_dtype), -2), v, adjoint_b=True
        )
    s, u, v = node.outputs
    if node.get_attr("full_matrices"):
        rows, columns = a.get_shape().as_list()[-2:]
        if rows is None or rows != columns:
            raise NotImplementedError(
                f"SvdGrad: full_matrices=True of a matrix of {rows} by {columns} has vectors that "
                "nothing decides: take full_matrices=False"
            )
    s = cast(real(s), a.dtype.base_dtype)
    gaps = _reciprocal_gaps(s * s)
    row = op("ExpandDims", s, -2)
    column = op("ExpandDims", s, -1)
    of_u, of_v = product(u, into_u, adjoint_a=True), product(v, into_v, adjoint_a=True)
    middle = gaps * (of_u - adjoint(of_u)) * row + column * (gaps * (of_v - adjoint(of_v)))
    middle = middle + op("MatrixDiag", cast(into_s, a.dtype.base_dtype))
    if a.dtype.is_complex:
        turn = op("MatrixDiagPart", of_u - adjoint(of_u)) / s
        middle = middle + op("MatrixDiag", turn * constant(0.5, dtype=a.dtype.base_dtype))
    result = product(product(u, middle), v, adjoint_b=True)
    beside_u = (into_u - product(u, of_u)) / row
    beside_v = (into_v - product(v, of_v)) / row
    result = result + product(beside_u, v, adjoint_b=True)
    return result + product(u, beside_v, adjoint_b=True)


@gradient("SelfAdjointEigV2")
def _eigh_gradient(node: Operation, into_e: Tensor, into_v: Tensor) -> Tensor:
    """Returns the gradient of the lower triangle, which the op reads. Source: Giles 2008."""
    a = node.inputs[0]
    inner = op("MatrixDiag", into_e)
    if node.get_attr("compute_v"):
        e, v = node.outputs
        inner = inner + _reciprocal_gaps(e) * product(v, into_v, adjoint_a=True)
    else:
        _, v = op("SelfAdjointEigV2", a, compute_v=True)
    result = product(v, product(inner, v, adjoint_b=True))
    return _halved_diagonal(_lower(result + adjoint(result)))


@gradient("Eig")
def _eig_gradient(node: Operation, into_e: Tensor, into_v: Tensor) -> Tensor:
    """The loss must not depend on the phases of eigenvectors. Source: Boeddeker et al. 2017."""
    a = node.inputs[0]
    inner = op("MatrixDiag", into_e)
    if node.get_attr("compute_v"):
        e, v = node.outputs
        turned = adjoint(v)
        along = product(turned, into_v)
        own = op("MatrixDiag", cast(real(op("MatrixDiagPart", along)), v.dtype.base_dtype))
        inner = inner + conj(_reciprocal_gaps(e)) * (along - product(product(turned, v), own))
    else:
        _, v = op("Eig", a, compute_v=True, Tout=node.outputs[0].dtype.base_dtype)
        turned = adjoint(v)
    result = op("MatrixSolve", turned, product(inner, turned))
    kind = a.dtype.base_dtype
    result = real(result) if not kind.is_complex else result
    return cast(result, kind)


for _op_type in ("CholeskyGrad", "SelfAdjointEig"):
    no_gradient(_op_type, "TensorFlow defines none")

"""Linear systems, inverses, determinants and decompositions of batches of matrices."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.arrays.shapes import matrix_transpose
from headrace.graph.ops.elementwise.elementwise import real
from headrace.graph.ops.linalg import decomposition_gradients as _1  # noqa: F401 - of this family
from headrace.graph.ops.linalg import diagonals as _2  # noqa: F401 - of this family
from headrace.graph.ops.linalg import fourier as _3  # noqa: F401 - of this family
from headrace.graph.ops.linalg import solve_gradients as _4  # noqa: F401 - of this family
from headrace.graph.ops.reduction import reduce_sum
from headrace.graph.typing.aliases import DTypeLike, TensorLike


def matrix_inverse(
    input: TensorLike,  # noqa: A002 - TF's name
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes the inverse of each matrix [..., n, n], or of its adjoint.

    A singular matrix fails the step with InvalidArgumentError.
    """
    return op("MatrixInverse", input, adjoint=adjoint, name=name)


def matrix_determinant(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002 - TF's name
    """Computes the determinants of matrices. Args: input: [..., n, n]. Returns: [...]."""
    return op("MatrixDeterminant", input, name=name)


def slogdet(input: TensorLike, name: str | None = None) -> Any:  # noqa: A002 - TF's name
    """Returns the sign and the log of the absolute value of each determinant [...]."""
    return op("LogMatrixDeterminant", input, name=name)


def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Computes the log of the determinant of positive definite matrices [..., n, n]."""
    with name_scope(name, "logdet", [matrix]):
        roots = op("MatrixDiagPart", op("Cholesky", matrix))
        logs = op("Log", real(roots))
        return constant(2.0, dtype=logs.dtype.base_dtype) * reduce_sum(logs, axis=[-1])


def cholesky(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002 - TF's name
    """Computes the Cholesky factor L of positive definite matrices L Lᴴ; reads the lower half."""
    return op("Cholesky", input, name=name)


def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Solves A X = rhs, where A = chol cholᴴ.

    Args:
      chol: [..., n, n] Cholesky factors.
      rhs: [..., n, k].
    Returns: [..., n, k].
    """
    with name_scope(name, "cholesky_solve", [chol, rhs]):
        half = op("MatrixTriangularSolve", chol, rhs, adjoint=False, lower=True)
        return op("MatrixTriangularSolve", chol, half, adjoint=True, lower=True)


def lu(
    input: TensorLike,  # noqa: A002 - TF's name
    output_idx_type: DTypeLike = "int32",
    name: str | None = None,
) -> Any:
    """Computes the LU decomposition of matrices, with row pivoting.

    Returns: (lu [..., n, n], p [..., n]): L, with unit diagonal, below the diagonal and U on and
      above it; p is the permutation of the rows.
    """
    return op("Lu", input, output_idx_type=as_dtype(output_idx_type), name=name)


def qr(
    input: TensorLike,  # noqa: A002 - TF's name
    full_matrices: bool = False,
    name: str | None = None,
) -> Any:
    """Computes the QR decomposition of matrices.

    Args:
      input: [..., m, n].
      full_matrices: return Q of [..., m, m] instead of [..., m, min(m, n)].
    Returns: (q, r).
    """
    return op("Qr", input, full_matrices=full_matrices, name=name)


def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: bool = True,
    name: str | None = None,
) -> Any:
    """Computes the singular value decomposition of matrices.

    Args:
      tensor: [..., m, n].
      full_matrices: return all singular vectors instead of min(m, n).
      compute_uv: return the singular vectors.
    Returns: (s, u, v) with tensor = u diag(s) vᴴ, or s [..., min(m, n)], in descending order.
    """
    s, u, v = op("Svd", tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (real(s), u, v) if compute_uv else real(s)


def self_adjoint_eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns ascending eigenvalues, and eigenvectors (columns), of self-adjoint matrices."""
    e, v = op("SelfAdjointEigV2", tensor, compute_v=True, name=name)
    return e, v


def self_adjoint_eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Returns the ascending eigenvalues of self-adjoint matrices."""
    e, _ = op("SelfAdjointEigV2", tensor, compute_v=False, name=name)
    return e


def matrix_solve(
    matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solves matrix X = rhs, or matrixᴴ X = rhs.

    Args:
      matrix: [..., n, n].
      rhs: [..., n, k].
      adjoint: use the adjoint of matrix.
    Returns: [..., n, k].
    """
    return op("MatrixSolve", matrix, rhs, adjoint=adjoint, name=name)


def matrix_triangular_solve(
    matrix: TensorLike,
    rhs: TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """Same as matrix_solve for triangular matrices; the other half is not read."""
    return op("MatrixTriangularSolve", matrix, rhs, lower=lower, adjoint=adjoint, name=name)


def matrix_solve_ls(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: TensorLike = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """Solves matrix X = rhs in the least-squares sense.

    Args:
      matrix: [..., m, n].
      rhs: [..., m, k].
      l2_regularizer: factor of the squared norm of X in the objective.
      fast: use a Cholesky decomposition, which requires full rank; otherwise an orthogonal
        decomposition, which gives the X of least norm.
    Returns: [..., n, k].
    """
    regularizer = convert_to_tensor(l2_regularizer, dtype=as_dtype("float64"))
    return op("MatrixSolveLs", matrix, rhs, regularizer, fast=fast, name=name)


def matrix_square_root(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002 - TF's name
    """Computes the square roots X of matrices [..., n, n]: X X = input."""
    return op("MatrixSquareRoot", input, name=name)


def expm(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002 - TF's name
    """Computes the matrix exponential of matrices [..., n, n]."""
    return op("MatrixExponential", input, name=name)


def logm(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002 - TF's name
    """Computes the matrix logarithm of complex matrices [..., n, n]."""
    return op("MatrixLogarithm", input, name=name)


def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Returns the conjugate transposes of matrices."""
    with name_scope(name, "adjoint", [matrix]):
        return matrix_transpose(convert_to_tensor(matrix, name="matrix"), conjugate=True)


def lu_solve(
    lower_upper: TensorLike,
    perm: TensorLike,
    rhs: TensorLike,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Solves A X = rhs for (lower_upper, perm) = lu(A). Args: rhs: [..., n, k]."""
    with name_scope(name or "lu_solve"):
        factors = convert_to_tensor(lower_upper, name="lower_upper")
        exchanged = _rows(convert_to_tensor(rhs, dtype=factors.dtype.base_dtype), perm)
        half = op("MatrixTriangularSolve", _unit_lower(factors), exchanged, lower=True)
        return op("MatrixTriangularSolve", factors, half, lower=False)


def _rows(rhs: Tensor, perm: Any) -> Tensor:
    perm = convert_to_tensor(perm, name="perm")
    batch = perm.get_shape().ndims
    if batch is None:
        raise ValueError("lu_solve: the rank of perm must be known")
    return op("GatherV2", rhs, perm, batch - 1, batch_dims=batch - 1)


def _unit_lower(factors: Tensor) -> Tensor:
    below = op("MatrixBandPart", factors, constant(-1, "int64"), constant(0, "int64"))
    return op("MatrixSetDiag", below, op("OnesLike", op("MatrixDiagPart", factors)))


def lu_matrix_inverse(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Computes the inverse of A for (lower_upper, perm) = lu(A)."""
    with name_scope(name or "lu_matrix_inverse"):
        factors = convert_to_tensor(lower_upper, name="lower_upper")
        ones = op("MatrixDiag", op("OnesLike", op("MatrixDiagPart", factors)))
        return lu_solve(factors, perm, ones)


def lu_reconstruct(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Computes A from (lower_upper, perm) = lu(A)."""
    with name_scope(name or "lu_reconstruct"):
        factors = convert_to_tensor(lower_upper, name="lower_upper")
        upper = op("MatrixBandPart", factors, constant(0, "int64"), constant(-1, "int64"))
        product = op("BatchMatMulV2", _unit_lower(factors), upper)
        perm = convert_to_tensor(perm, name="perm")
        back = op("Cast", op("ArgMax", _one_hot(perm), -2), DstT=as_dtype("int32"))
        return _rows(product, back)


def _one_hot(perm: Tensor) -> Tensor:
    size = op("Shape", perm)[-1]
    return op("OneHot", perm, size, constant(1.0), constant(0.0))


def tridiagonal_solve(
    diagonals: TensorLike,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """Solves A X = rhs for tridiagonal matrices A.

    Args:
      diagonals: [..., 3, n] ("compact": superdiagonal, diagonal and subdiagonal; the last element
        of the first and the first of the last are not read), three tensors [..., n] ("sequence"),
        or [..., n, n] ("matrix").
      rhs: [..., n, k] or [..., n].
      diagonals_format: "compact", "sequence" or "matrix".
      transpose_rhs, conjugate_rhs: transpose or conjugate rhs first.
      partial_pivoting: exchange rows for numerical stability.
      perturb_singular: perturb singular matrices instead of failing.
    Raises: ValueError for another format.
    """
    with name_scope(name or "tridiagonal_solve"):
        compact = diagonals_of(diagonals, diagonals_format)
        rhs = convert_to_tensor(rhs, name="rhs")
        flat = rhs.get_shape().ndims == (compact.get_shape().ndims or 0) - 1
        if flat:
            rhs = op("ExpandDims", rhs, -1)
        elif transpose_rhs:
            rhs = matrix_transpose(rhs, conjugate=conjugate_rhs)
        if conjugate_rhs and (flat or not transpose_rhs) and rhs.dtype.is_complex:
            rhs = op("Conj", rhs)
        result = op(
            "TridiagonalSolve",
            compact,
            rhs,
            partial_pivoting=partial_pivoting,
            perturb_singular=perturb_singular,
        )
        if flat:
            return op("Squeeze", result, squeeze_dims=[-1])
        return matrix_transpose(result) if transpose_rhs else result


def tridiagonal_matmul(
    diagonals: Any, rhs: TensorLike, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """Computes A rhs for tridiagonal matrices; arguments as in tridiagonal_solve."""
    with name_scope(name or "tridiagonal_matmul"):
        if diagonals_format == "sequence":
            parts = [op("ExpandDims", convert_to_tensor(d), -2) for d in diagonals]
        else:
            compact = diagonals_of(diagonals, diagonals_format)
            parts = [compact[..., i : i + 1, :] for i in range(3)]
        return op("TridiagonalMatMul", *parts, rhs)


def diagonals_of(diagonals: Any, layout: str) -> Tensor:
    """Converts diagonals to [..., 3, n]. Raises: ValueError for an unknown format."""
    if layout == "compact":
        return convert_to_tensor(diagonals, name="diagonals")
    if layout == "sequence":
        return op("Pack", [convert_to_tensor(d) for d in diagonals], axis=-2)
    if layout == "matrix":
        matrix = convert_to_tensor(diagonals)
        none = constant(0, dtype=matrix.dtype.base_dtype)
        return op("MatrixDiagPartV3", matrix, constant([-1, 1]), none, align="LEFT_RIGHT")
    raise ValueError(
        f"Expected diagonals_format to be one of 'compact', 'sequence', 'matrix', got {layout!r}"
    )

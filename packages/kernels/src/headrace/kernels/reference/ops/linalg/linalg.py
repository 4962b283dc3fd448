"""Matrices, decomposed and solved; diagonals and bands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.ops.arrays.arrays import zeros
from headrace.kernels.reference.precision import numpy_type, wide
from headrace.kernels.reference.registry import Attrs, kernel


def _adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


def _solved(work: Callable[[], Any], what: str) -> Any:
    try:
        return work()
    except np.linalg.LinAlgError as error:
        raise InvalidArgumentError(None, None, f"{what} ({error})") from error


def _per_matrix(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """`function` of each matrix of a batch."""
    flat = [function(m) for m in wide(x).reshape((-1,) + x.shape[-2:])]
    return np.array(flat, dtype=None if flat else wide(x).dtype).reshape(x.shape)


# ---- decompositions ----


@kernel("Cholesky")
def cholesky(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    lower = wide(np.tril(x))
    whole = lower + _adjoint(np.tril(lower, -1))
    result = _solved(
        lambda: np.linalg.cholesky(whole), "Cholesky decomposition was not successful."
    )
    return result.astype(x.dtype)


def _inverse_or_nan(matrix: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)


@kernel("CholeskyGrad")
def cholesky_grad(attrs: Attrs, lower: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Source: Murray, Differentiation of the Cholesky decomposition, 2016, equation 10."""
    factor, gradient = np.tril(wide(lower)), np.tril(wide(grad))
    middle = np.tril(_adjoint(factor) @ gradient)
    eye = np.eye(lower.shape[-1])
    middle = middle * (1 - eye / 2)
    inverse = _per_matrix(_inverse_or_nan, factor)
    result = _adjoint(inverse) @ middle @ inverse
    return ((result + _adjoint(result)) / 2).astype(lower.dtype)


@kernel("Lu")
def lu(attrs: Attrs, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """L below the diagonal (ones on it), U on and above, and the rows' order."""
    flat = wide(x).reshape((-1,) + x.shape[-2:]).copy()
    orders = np.tile(np.arange(x.shape[-1]), (len(flat), 1))
    for matrix, order in zip(flat, orders, strict=True):
        for k in range(len(matrix)):
            best = k + int(np.argmax(np.abs(matrix[k:, k])))
            if matrix[best, k] == 0:
                raise InvalidArgumentError(None, None, "Input is not invertible.")
            matrix[[k, best]], order[[k, best]] = matrix[[best, k]], order[[best, k]]
            matrix[k + 1 :, k] /= matrix[k, k]
            matrix[k + 1 :, k + 1 :] -= np.outer(matrix[k + 1 :, k], matrix[k, k + 1 :])
    order_type = numpy_type(attrs["output_idx_type"])
    return flat.reshape(x.shape).astype(x.dtype), orders.reshape(x.shape[:-1]).astype(order_type)


@kernel("Qr")
def qr(attrs: Attrs, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    q, r = np.linalg.qr(wide(x), mode="complete" if attrs["full_matrices"] else "reduced")
    return q.astype(x.dtype), r.astype(x.dtype)


@kernel("Svd")
def svd(attrs: Attrs, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if not attrs["compute_uv"]:
        s = np.linalg.svd(wide(x), compute_uv=False)
        nothing = np.zeros(0, x.dtype)
        return s.astype(x.dtype), nothing, nothing
    u, s, v = np.linalg.svd(wide(x), full_matrices=attrs["full_matrices"])
    return s.astype(x.dtype), u.astype(x.dtype), _adjoint(v).astype(x.dtype)


def _eigh(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return _solved(lambda: np.linalg.eigh(wide(x)), "Self-adjoint eigen decomposition failed.")


@kernel("SelfAdjointEig")
def self_adjoint_eig(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    values, vectors = _eigh(x)
    return np.concatenate([values[..., np.newaxis, :], vectors], axis=-2).astype(x.dtype)


@kernel("SelfAdjointEigV2")
def self_adjoint_eig_v2(attrs: Attrs, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = _eigh(x)
    if not attrs["compute_v"]:
        vectors = np.zeros(0)
    return values.astype(x.dtype), vectors.astype(x.dtype)


@kernel("Eig")
def eig(attrs: Attrs, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    dtype = np.dtype(numpy_type(attrs["Tout"]))
    if dtype.itemsize != np.result_type(x.dtype, np.complex64).itemsize:
        raise InvalidArgumentError(
            None, None, f"Invalid output dtype {dtype} for an input of {x.dtype}"
        )
    values, vectors = _solved(lambda: np.linalg.eig(wide(x)), "Eigen decomposition failed.")
    if not attrs["compute_v"]:
        vectors = np.zeros(0)
    return values.astype(dtype), vectors.astype(dtype)


# ---- functions of matrices ----


@kernel("MatrixInverse")
def matrix_inverse(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    matrix = _adjoint(wide(x)) if attrs["adjoint"] else wide(x)
    return _solved(lambda: np.linalg.inv(matrix), "Input is not invertible.").astype(x.dtype)


@kernel("MatrixDeterminant")
def matrix_determinant(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.det(wide(x))).astype(x.dtype)


@kernel("LogMatrixDeterminant")
def log_matrix_determinant(attrs: Attrs, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sign, logarithm = np.linalg.slogdet(wide(x))
    return np.asarray(sign).astype(x.dtype), np.asarray(logarithm).astype(x.dtype)


def _exponential(matrix: np.ndarray) -> np.ndarray:
    """Taylor's series of a matrix halved until small, squared as often."""
    norm = np.abs(matrix).sum(axis=-1).max(initial=0)
    if not np.isfinite(norm):
        return np.full_like(matrix, np.nan)
    halvings = max(0, int(np.ceil(np.log2(max(norm, 1e-300)))) + 2)
    small = matrix / 2.0**halvings
    term = total = np.eye(len(matrix), dtype=matrix.dtype)
    for n in range(1, 20):
        term = term @ small / n
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total


def _by_eigenvalues(function: Any, matrix: np.ndarray) -> np.ndarray:
    if not np.isfinite(matrix).all():
        return np.full(matrix.shape, complex(np.nan, np.nan))
    values, vectors = np.linalg.eig(matrix.astype(np.complex128))
    return (vectors * function(values)) @ np.linalg.inv(vectors)


@kernel("MatrixExponential")
def matrix_exponential(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return _per_matrix(_exponential, x).astype(x.dtype)


@kernel("MatrixLogarithm")
def matrix_logarithm(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return _per_matrix(lambda m: _by_eigenvalues(np.log, m), x).astype(x.dtype)


@kernel("MatrixSquareRoot")
def matrix_square_root(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    def root(m: np.ndarray) -> np.ndarray:
        found = _by_eigenvalues(np.sqrt, m)
        if x.dtype.kind == "c" or not np.iscomplexobj(found):
            return found
        real = np.abs(found.imag).max(initial=0) <= 1e-6 * np.abs(found).max(initial=0)
        return found.real if real else np.full_like(found.real, np.nan)  # no real root

    return _per_matrix(root, x).astype(x.dtype)


# ---- solutions ----


@kernel("MatrixSolve")
def matrix_solve(attrs: Attrs, matrix: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    a = _adjoint(wide(matrix)) if attrs["adjoint"] else wide(matrix)
    return _solved(lambda: np.linalg.solve(a, wide(rhs)), "Input matrix is not invertible.").astype(
        rhs.dtype
    )


@kernel("MatrixTriangularSolve")
def matrix_triangular_solve(attrs: Attrs, matrix: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    a = wide(np.tril(matrix) if attrs["lower"] else np.triu(matrix))
    a = _adjoint(a) if attrs["adjoint"] else a
    batch = np.broadcast_shapes(a.shape[:-2], rhs.shape[:-2])
    b = np.broadcast_to(wide(rhs), batch + rhs.shape[-2:])
    a = np.broadcast_to(a, batch + a.shape[-2:])
    return _solved(lambda: np.linalg.solve(a, b), "Input matrix is not invertible.").astype(
        rhs.dtype
    )


@kernel("MatrixSolveLs")
def matrix_solve_ls(
    attrs: Attrs, matrix: np.ndarray, rhs: np.ndarray, regularizer: np.ndarray
) -> np.ndarray:
    a, b = wide(matrix), wide(rhs)
    if matrix.shape[:-2] != rhs.shape[:-2]:
        raise InvalidArgumentError(
            None,
            None,
            "All input tensors must have the same outer dimensions: "
            f"{list(matrix.shape)}, {list(rhs.shape)}",
        )
    if regularizer < 0:
        raise InvalidArgumentError(None, None, f"l2_regularizer must be >= 0, it is {regularizer}")
    if not attrs["fast"]:
        # A matrix that is not finite has no rank: its solution is zero, as TensorFlow's.
        finite = np.isfinite(a).all(axis=(-2, -1), keepdims=True)
        return (np.linalg.pinv(np.where(finite, a, 0)) @ b).astype(rhs.dtype)
    rows, columns = a.shape[-2:]
    ridge = float(regularizer) * np.eye(min(rows, columns))
    if rows >= columns:
        x = np.linalg.solve(_adjoint(a) @ a + ridge, _adjoint(a) @ b)
    else:  # the solution of least norm
        x = _adjoint(a) @ np.linalg.solve(a @ _adjoint(a) + ridge, b)
    return x.astype(rhs.dtype)


def _tridiagonal(upper: np.ndarray, main: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """The whole matrix; the last of upper and the first of lower do not count."""
    n = main.shape[-1]
    whole = np.zeros(main.shape + (n,), np.result_type(main))
    here = np.arange(n)
    whole[..., here, here] = main
    whole[..., here[:-1], here[1:]] = upper[..., :-1]
    whole[..., here[1:], here[:-1]] = lower[..., 1:]
    return whole


@kernel("TridiagonalSolve")
def tridiagonal_solve(attrs: Attrs, diagonals: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """NaN where the matrix is singular or, without pivoting, a pivot is 0."""
    if diagonals.ndim < 2 or diagonals.ndim != rhs.ndim:
        raise InvalidArgumentError(
            None,
            None,
            "diagonals and rhs must have one rank, at least 2: "
            f"{list(diagonals.shape)} and {list(rhs.shape)}",
        )
    upper, main, lower = np.moveaxis(wide(diagonals), -2, 0)
    if not attrs["partial_pivoting"]:
        return _without_pivoting(upper, main, lower, wide(rhs)).astype(rhs.dtype)
    whole = _tridiagonal(upper, main, lower)
    try:
        return np.linalg.solve(whole, wide(rhs)).astype(rhs.dtype)
    except np.linalg.LinAlgError:
        return np.full(rhs.shape, np.nan, rhs.dtype)


def _without_pivoting(
    upper: np.ndarray, main: np.ndarray, lower: np.ndarray, rhs: np.ndarray
) -> np.ndarray:
    """Thomas' algorithm."""
    n = main.shape[-1]
    x, pivot = rhs.copy(), main.copy()
    for k in range(1, n):
        factor = lower[..., k] / pivot[..., k - 1]
        pivot[..., k] -= factor * upper[..., k - 1]
        x[..., k, :] -= factor[..., np.newaxis] * x[..., k - 1, :]
    for k in range(n - 1, -1, -1):
        if k + 1 < n:
            x[..., k, :] -= upper[..., k, np.newaxis] * x[..., k + 1, :]
        x[..., k, :] /= pivot[..., k, np.newaxis]
    return np.where((pivot == 0).any(axis=-1)[..., np.newaxis, np.newaxis], np.nan, x)


@kernel("TridiagonalMatMul")
def tridiagonal_matmul(
    attrs: Attrs, upper: np.ndarray, main: np.ndarray, lower: np.ndarray, rhs: np.ndarray
) -> np.ndarray:
    diagonals = [wide(d).reshape(d.shape[:-2] + d.shape[-1:]) for d in (upper, main, lower)]
    return (_tridiagonal(*diagonals) @ wide(rhs)).astype(rhs.dtype)


# ---- bands and diagonals ----


@kernel("MatrixBandPart")
def matrix_band_part(
    attrs: Attrs, x: np.ndarray, num_lower: np.ndarray, num_upper: np.ndarray
) -> np.ndarray:
    rows, columns = x.shape[-2:]
    distance = np.arange(columns) - np.arange(rows)[:, np.newaxis]
    below, above = int(num_lower), int(num_upper)
    inside = (below < 0) | (-distance <= below)
    inside &= (above < 0) | (distance <= above)
    return np.where(inside, x, zeros((), x.dtype))


class _Band:
    """Where each packed diagonal of a matrix lies."""

    def __init__(self, attrs: Attrs, k: np.ndarray, rows: int, columns: int) -> None:
        ends = k.ravel().tolist()
        self.low, self.high = ends[0], ends[-1]
        if self.low > self.high or not -rows < self.low or not self.high < columns:
            if rows and columns:
                raise InvalidArgumentError(
                    None, None, f"k {ends} does not lie in a matrix of {rows} by {columns}"
                )
        self.single = self.low == self.high
        self.length = self.longest(rows, columns, self.low, self.high)
        sides = attrs.get("align", b"LEFT_LEFT").split(b"_")
        self.rows, self.columns = rows, columns
        self.left_above, self.left_below = (side == b"LEFT" for side in sides)

    @staticmethod
    def longest(rows: int, columns: int, low: int, high: int) -> int:
        return max(min(rows + min(high, 0), columns - max(low, 0)), 0)

    def diagonals(self) -> Any:
        """Each packed row: its number, where it starts, and its elements' rows and columns."""
        for number, d in enumerate(range(self.high, self.low - 1, -1)):
            count = max(min(self.rows + min(d, 0), self.columns - max(d, 0)), 0)
            left = (d >= 0 and self.left_above) or (d <= 0 and self.left_below)
            start = 0 if left else self.length - count
            steps = np.arange(count)
            yield number, slice(start, start + count), steps - min(d, 0), steps + max(d, 0)


def _packed(x: np.ndarray, band: _Band, padding: Any) -> np.ndarray:
    shape = (*x.shape[:-2], band.high - band.low + 1, band.length)
    packed = np.full(shape, padding, x.dtype)
    for number, where, rows, columns in band.diagonals():
        packed[..., number, where] = x[..., rows, columns]
    return packed[..., 0, :] if band.single else packed


def _unpacked(x: np.ndarray, diagonals: np.ndarray, band: _Band) -> np.ndarray:
    """x (its own copy) with the packed diagonals put in."""
    packed = diagonals[..., np.newaxis, :] if band.single else diagonals
    if packed.shape[:-2] != x.shape[:-2]:
        text = f"diagonal {list(diagonals.shape)} does not fit input {list(x.shape)}"
        raise InvalidArgumentError(None, None, text)
    for number, where, rows, columns in band.diagonals():
        x[..., rows, columns] = packed[..., number, where]
    return x


_MAIN = np.zeros(1, np.int32)


@kernel("MatrixDiagPart")
def matrix_diag_part(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return _packed(x, _Band(attrs, _MAIN, *x.shape[-2:]), zeros((), x.dtype))


@kernel("MatrixDiagPartV2", "MatrixDiagPartV3")
def matrix_diag_part_v2(
    attrs: Attrs, x: np.ndarray, k: np.ndarray, padding: np.ndarray
) -> np.ndarray:
    return _packed(x, _Band(attrs, k, *x.shape[-2:]), padding)


@kernel("MatrixSetDiag")
def matrix_set_diag(attrs: Attrs, x: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    return _unpacked(x.copy(), diagonal, _Band(attrs, _MAIN, *x.shape[-2:]))


@kernel("MatrixSetDiagV2", "MatrixSetDiagV3")
def matrix_set_diag_v2(
    attrs: Attrs, x: np.ndarray, diagonal: np.ndarray, k: np.ndarray
) -> np.ndarray:
    return _unpacked(x.copy(), diagonal, _Band(attrs, k, *x.shape[-2:]))


@kernel("MatrixDiag")
def matrix_diag(attrs: Attrs, diagonal: np.ndarray) -> np.ndarray:
    n = diagonal.shape[-1]
    blank = zeros((*diagonal.shape, n), diagonal.dtype)
    return _unpacked(blank, diagonal, _Band(attrs, _MAIN, n, n))


@kernel("MatrixDiagV2", "MatrixDiagV3")
def matrix_diag_v2(
    attrs: Attrs,
    diagonal: np.ndarray,
    k: np.ndarray,
    num_rows: np.ndarray,
    num_columns: np.ndarray,
    padding: np.ndarray,
) -> np.ndarray:
    ends = k.ravel().tolist()
    low, high = ends[0], ends[-1]
    length = diagonal.shape[-1]
    rows, columns = int(num_rows.ravel()[0]), int(num_columns.ravel()[0])
    least_rows, least_columns = length - min(high, 0), length + max(low, 0)
    if rows == -1 and columns == -1:  # a square
        rows = columns = max(least_rows, least_columns)
    elif rows == -1:
        rows = least_rows
    elif columns == -1:
        columns = least_columns
    outer = diagonal.shape[:-1] if low == high else diagonal.shape[:-2]
    whole = np.full((*outer, rows, columns), padding, diagonal.dtype)
    return _unpacked(whole, diagonal, _Band(attrs, k, rows, columns))

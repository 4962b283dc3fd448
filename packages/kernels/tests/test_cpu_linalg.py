"""Decompositions and solutions against NumPy, and against what defines them."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import run_kernel
from kernel_harness.samples import sample

from headrace.formats.errors import InvalidArgumentError

TYPES = ["float32", "float64", "complex64", "complex128"]
SIZES = [0, 1, 2, 5, 17]


def near(actual, expected, scale=1):
    expected = np.asarray(expected)
    single = actual.dtype.name in ("float32", "complex64")
    tolerance = (1e-4 if single else 1e-11) * scale
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def square(n, dtype, batch=(2,), seed=0):
    return sample((*batch, n, n), dtype, seed, -1, 1) + 2 * np.eye(n, dtype=dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES)
def test_cholesky(dtype, n):
    a = square(n, dtype)
    a = a @ adjoint(a) + np.eye(n, dtype=dtype)
    near(run_kernel("Cholesky", a, threads=2), np.linalg.cholesky(a))


def test_cholesky_rejects_what_is_not_positive_definite():
    with pytest.raises(InvalidArgumentError, match="^Cholesky decomposition was not successful"):
        run_kernel("Cholesky", np.array([[1, 2], [2, 1]], "f"))
    with pytest.raises(InvalidArgumentError):
        run_kernel("Cholesky", np.ones((2, 3), "f"))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES)
def test_inverse_and_determinants(dtype, n):
    a = square(n, dtype)
    near(run_kernel("MatrixInverse", a), np.linalg.inv(a), 10)
    near(run_kernel("MatrixInverse", a, adjoint=True), np.linalg.inv(adjoint(a)), 10)
    near(run_kernel("MatrixDeterminant", a), np.linalg.det(a), 10)
    sign, logarithm = run_kernel("LogMatrixDeterminant", a)
    expected = np.linalg.slogdet(a)
    near(sign, expected[0], 10)
    near(np.real(logarithm), expected[1], 10)


def test_singular_matrices_have_determinant_zero_and_no_inverse():
    a = np.array([[1, 2], [2, 4]], "float64")
    assert run_kernel("MatrixDeterminant", a) == 0
    assert run_kernel("LogMatrixDeterminant", a)[1] == -np.inf
    with pytest.raises(InvalidArgumentError, match="^Input is not invertible.$"):
        run_kernel("MatrixInverse", a)
    with pytest.raises(InvalidArgumentError, match="not invertible"):
        run_kernel("MatrixSolve", a, np.ones((2, 1)))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 2, 5, 17])
def test_solve(dtype, n):
    a, b = square(n, dtype), sample((2, n, 3), dtype, 1)
    near(run_kernel("MatrixSolve", a, b), np.linalg.solve(a, b), 10)
    near(run_kernel("MatrixSolve", a, b, adjoint=True), np.linalg.solve(adjoint(a), b), 10)
    for lower in (True, False):
        t = np.tril(a) if lower else np.triu(a)
        near(run_kernel("MatrixTriangularSolve", a, b, lower=lower), np.linalg.solve(t, b), 100)
        near(run_kernel("MatrixTriangularSolve", a, b, lower=lower, adjoint=True),
             np.linalg.solve(adjoint(t), b), 100)  # fmt: skip


def test_triangular_solve_broadcasts_the_batch():
    a, b = square(3, "float64", (2, 1)), sample((4, 3, 2), "float64", 1)
    got = run_kernel("MatrixTriangularSolve", a, b)
    near(got, np.linalg.solve(np.tril(a), b))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 2, 5, 17])
def test_lu(dtype, n):
    a = square(n, dtype)
    lu, p = run_kernel("Lu", a)
    product = (np.tril(lu, -1) + np.eye(n)) @ np.triu(lu)
    near(product.astype(dtype), np.take_along_axis(a, p[..., None].astype(int), -2), 10)


SHAPES = [(1, 1), (5, 3), (3, 5), (17, 17), (9, 2)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full", [False, True])
def test_qr(dtype, shape, full):
    a = sample((2, *shape), dtype)
    q, r = run_kernel("Qr", a, full_matrices=full)
    p = shape[0] if full else min(shape)
    assert q.shape == (2, shape[0], p)
    near((q @ r).astype(dtype), a, 10)
    near((adjoint(q) @ q).astype(dtype), np.broadcast_to(np.eye(p), (2, p, p)), 10)
    np.testing.assert_array_equal(np.tril(r, -1), 0)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full", [False, True])
def test_svd(dtype, shape, full):
    a = sample((2, *shape), dtype)
    s, u, v = run_kernel("Svd", a, full_matrices=full)
    p = min(shape)
    near(np.real(s), np.linalg.svd(a, compute_uv=False), 10)
    near(((u[..., :p] * s[..., None, :]) @ adjoint(v)[..., :p, :]).astype(dtype), a, 10)
    for x in (u, v):
        n = x.shape[-1]
        near((adjoint(x) @ x).astype(dtype), np.broadcast_to(np.eye(n), (2, n, n)), 10)
    assert u.shape[-1] == (shape[0] if full else p)
    near(np.real(run_kernel("Svd", a, compute_uv=False)[0]), np.real(s))


def test_svd_of_a_matrix_of_low_rank_still_has_unit_vectors():
    a = np.outer([1.0, 2, 3], [1.0, 1])
    s, u, v = run_kernel("Svd", a, full_matrices=True)
    near(s, [np.sqrt(28), 0])
    near(u.T @ u, np.eye(3))
    near(v.T @ v, np.eye(2))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 2, 5, 17])
def test_self_adjoint_eig(dtype, n):
    a = sample((2, n, n), dtype)
    a = a + adjoint(a)
    e, v = run_kernel("SelfAdjointEigV2", a)
    near(np.real(e), np.linalg.eigvalsh(a), 10)
    near((a @ v).astype(dtype), v * e[..., None, :], 10)
    near((adjoint(v) @ v).astype(dtype), np.broadcast_to(np.eye(n), (2, n, n)), 10)


# ---- larger matrices, which LAPACK takes ----

LARGE_TYPES = [np.float32, np.float64, np.complex64, np.complex128]
LARGE_SHAPES = [(40, 40), (60, 33), (33, 60)]


def _large(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def _near(found: np.ndarray, expected: np.ndarray) -> None:
    scale = 1e-4 if np.finfo(found.dtype).bits == 32 else 1e-11
    np.testing.assert_allclose(found, expected, rtol=scale, atol=scale * np.abs(expected).max())


@pytest.mark.parametrize("dtype", LARGE_TYPES)
@pytest.mark.parametrize("flipped", [False, True])
def test_systems_of_large_matrices_are_solved(dtype: type, flipped: bool) -> None:
    a, b = _large((2, 40, 40), dtype) + 8 * np.eye(40, dtype=dtype), _large((2, 40, 3), dtype)
    turned = adjoint(a) if flipped else a
    _near(run_kernel("MatrixSolve", a, b, adjoint=flipped), np.linalg.solve(turned, b))
    _near(run_kernel("MatrixInverse", a, adjoint=flipped), np.linalg.inv(turned))
    for lower in (False, True):
        triangle = np.tril(a) if lower else np.triu(a)
        solved = run_kernel("MatrixTriangularSolve", a, b, lower=lower, adjoint=flipped)
        _near(solved, np.linalg.solve(adjoint(triangle) if flipped else triangle, b))


@pytest.mark.parametrize("dtype", LARGE_TYPES)
def test_large_matrices_are_factored(dtype: type) -> None:
    a = _large((2, 40, 40), dtype)
    definite = a @ adjoint(a) + 40 * np.eye(40, dtype=dtype)
    above = definite + np.triu(_large((2, 40, 40), dtype), 1)  # only the lower triangle counts
    _near(run_kernel("Cholesky", above), np.linalg.cholesky(definite))
    _near(run_kernel("MatrixDeterminant", a), np.linalg.det(a))
    sign, logarithm = run_kernel("LogMatrixDeterminant", a)
    for found, expected in zip((sign, logarithm), np.linalg.slogdet(a), strict=True):
        _near(found, np.asarray(expected, dtype))
    factors, order = run_kernel("Lu", a)
    lower = np.tril(factors, -1) + np.eye(40, dtype=dtype)
    _near(lower @ np.triu(factors), np.take_along_axis(a, order[..., np.newaxis], 1))
    values, vectors = run_kernel("SelfAdjointEigV2", above)
    _near(definite @ vectors, vectors * values[:, np.newaxis, :])
    assert (np.diff(values.real) >= 0).all()


@pytest.mark.parametrize("dtype", LARGE_TYPES)
@pytest.mark.parametrize("shape", LARGE_SHAPES)
@pytest.mark.parametrize("full", [False, True])
def test_large_rectangles_are_decomposed(dtype: type, shape: tuple[int, int], full: bool) -> None:
    a = _large((2, *shape), dtype)
    q, r = run_kernel("Qr", a, full_matrices=full)
    _near(q @ r, a)
    _near(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (2, *[q.shape[-1]] * 2)))
    s, u, v = run_kernel("Svd", a, full_matrices=full)
    least = min(shape)
    _near((u[..., :least] * s[:, np.newaxis, :]) @ adjoint(v[..., :least]), a)
    _near(adjoint(v) @ v, np.broadcast_to(np.eye(v.shape[-1]), (2, *[v.shape[-1]] * 2)))
    _near(run_kernel("Svd", a, compute_uv=False)[0], s)


def test_large_matrices_without_a_decomposition_are_rejected() -> None:
    singular, indefinite = np.zeros((40, 40)), -np.eye(40)
    broken = np.full((40, 40), np.nan)
    for op, x in [("MatrixInverse", singular), ("Lu", singular), ("MatrixInverse", broken)]:
        with pytest.raises(InvalidArgumentError, match="not invertible"):
            run_kernel(op, x)
    with pytest.raises(InvalidArgumentError, match="Cholesky decomposition was not successful"):
        run_kernel("Cholesky", indefinite)
    assert np.isnan(run_kernel("Cholesky", broken)[np.tril_indices(40)]).all()
    with pytest.raises(InvalidArgumentError, match="not invertible"):
        run_kernel("MatrixSolve", singular, singular)
    assert np.isnan(run_kernel("Svd", broken)[0]).all()

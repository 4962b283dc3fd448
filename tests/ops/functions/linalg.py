"""Equations, decompositions, norms, diagonals, Fourier transforms; with gradients."""

from __future__ import annotations

import numpy as np

_rng = np.random.default_rng(11)
A = _rng.normal(size=(2, 4, 4)) + 4 * np.eye(4)
S = A @ np.swapaxes(A, -1, -2)
B = _rng.normal(size=(2, 4, 3))
TALL = _rng.normal(size=(2, 5, 3))
WIDE = np.ascontiguousarray(np.swapaxes(TALL, -1, -2))
C = (A + 1j * np.swapaxes(A, -1, -2)).astype(np.complex128)
D3 = _rng.uniform(1, 3, size=(2, 3, 4))
X = _rng.normal(size=(3, 8))
Z = X + 1j * X[::-1]


def _grads(m, function, *values):
    """What a function gives, and the gradients of a loss of all its outputs."""
    xs = [m.convert_to_tensor(v) for v in values]
    result = function(*xs)
    ys = list(result) if isinstance(result, (list, tuple)) else [result]
    smooth = [y for y in ys if y.dtype.is_floating or y.dtype.is_complex]
    loss = m.add_n([m.reduce_sum(m.square(m.abs(m.sin(y)))) for y in smooth])
    return [*ys, *m.gradients(m.cast(loss, m.float64), xs)]


def _signless(m, function, *values):
    """As _grads, of squares: signs of vectors are any."""
    xs = [m.constant(v) for v in values]
    ys = [m.square(y) for y in function(*xs)]
    return [*ys, *m.gradients(m.add_n([m.reduce_sum(m.sin(y)) for y in ys]), xs)]


def _lu(m):
    lu, p = m.linalg.lu(m.constant(A))
    return [
        lu,
        p,
        m.linalg.lu_solve(lu, p, m.constant(B)),
        m.linalg.lu_matrix_inverse(lu, p),
        m.linalg.lu_reconstruct(lu, p),
    ]


def _norms(m):
    result = []
    for order in ("euclidean", 1, 2, np.inf, 3.0):
        result += [m.linalg.norm(TALL, order, axis=1), m.norm(TALL, order, keepdims=True)]
    for order in ("fro", "euclidean", 1, 2, np.inf):
        result += [m.linalg.norm(TALL, order, axis=[-2, -1])]
        result += [m.linalg.norm(TALL, order, axis=(0, 2), keep_dims=True)]
    return [*result, m.linalg.norm(C, axis=-1), *m.linalg.normalize(TALL, axis=2)]


def _diagonals(m):
    x = m.constant(TALL)
    return [
        m.matrix_band_part(x, 1, 0),
        m.linalg.band_part(x, -1, 1),
        m.matrix_diag(x),
        m.linalg.diag(X[:, :3], k=1),
        m.linalg.diag(D3[:, :2], k=(-1, 0), padding_value=9.0, align="LEFT_RIGHT"),
        m.matrix_diag_part(x),
        m.linalg.diag_part(x, k=(-1, 1), padding_value=7.0),
        m.matrix_set_diag(x, TALL[:, 0]),
        m.linalg.set_diag(x, TALL[:, :2, :], k=(-1, 0)),
        m.linalg.tensor_diag([1.0, 2.0]),
        m.linalg.tensor_diag_part(A[0]),
        m.linalg.eye(2, 3),
        m.linalg.adjoint(C),
        m.linalg.transpose(C),
        m.linalg.trace(A),
        m.trace(TALL),
    ]


def _tridiagonal(m):
    low = [m.constant(np.ascontiguousarray(D3[:, i])) for i in range(3)]
    matrix = np.zeros((2, 4, 4))
    for i in range(4):
        matrix[:, i, i] = D3[:, 1, i] + 3
        if i < 3:
            matrix[:, i, i + 1], matrix[:, i + 1, i] = D3[:, 0, i], D3[:, 2, i + 1]
    return [
        *_grads(m, lambda d, b: m.linalg.tridiagonal_solve(d, b), D3, B),
        m.linalg.tridiagonal_solve(low, m.constant(B), diagonals_format="sequence"),
        m.linalg.tridiagonal_solve(m.constant(matrix), m.constant(B[..., 0]), "matrix"),
        *_grads(m, lambda d, b: m.linalg.tridiagonal_matmul(d, b), D3, B),
        m.linalg.tridiagonal_matmul(low, m.constant(B), diagonals_format="sequence"),
    ]


def _fourier(m):
    result = []
    for name in ("fft", "ifft", "fft2d", "ifft2d"):
        result += _grads(m, getattr(m.signal, name), Z)
    result += _grads(m, m.signal.rfft, X)
    length = m.placeholder_with_default(np.array([12], np.int32), [1])
    x, z = m.constant(X), m.constant(Z)
    result += [m.signal.rfft(x, n) for n in ([5], [12], length)]
    result += _grads(m, m.signal.rfft2d, X)
    result += [m.signal.irfft(z, n) for n in (None, [9], [20])]
    result += [m.signal.irfft2d(z)]
    return result


def _open(m, value):
    """The value as a tensor of unknown shape."""
    return m.placeholder_with_default(value, None)


def _contracted(m):
    axes = m.placeholder_with_default(np.array([[0, 2], [1, 0]], np.int32), [2, 2])
    weights = [
        [(TALL, WIDE[0]), 1],
        [(TALL, WIDE), [[0, 2], [0, 1]]],
        [(_open(m, TALL), WIDE[0]), 1],
        [(_open(m, TALL), _open(m, WIDE)), [[-1, 0], [1, 0]]],
        [(m.placeholder_with_default(TALL, [None, 5, 3]), WIDE[0]), [[2], [0]]],
        [(D3, A[:, :2]), [[0], [1]]],
    ]
    result = [
        t for xs, to in weights for t in _grads(m, lambda a, b, to=to: m.tensordot(a, b, to), *xs)
    ]
    known_later = m.tensordot(m.constant(TALL), m.constant(np.swapaxes(WIDE, 0, 1)), axes)
    return [*result, known_later]


PROGRAMS = {
    "tensordot": _contracted,
    "inverse": lambda m: _grads(m, m.linalg.inv, A),
    "inverse of the adjoint": lambda m: _grads(m, lambda a: m.matrix_inverse(a, adjoint=True), C),
    "det": lambda m: _grads(m, m.linalg.det, A),
    "slogdet": lambda m: _grads(m, lambda a: m.linalg.slogdet(a)[1], A),
    "logdet": lambda m: _grads(m, m.linalg.logdet, S),
    "cholesky": lambda m: _grads(m, m.cholesky, S),
    "cholesky_solve": lambda m: _grads(m, m.cholesky_solve, np.linalg.cholesky(S), B),
    "lu": _lu,
    "qr": lambda m: _signless(m, m.linalg.qr, TALL),
    "qr of wide": lambda m: _signless(m, m.qr, A[:, :3]),
    "svd": lambda m: _signless(m, m.svd, TALL),
    "svd of wide": lambda m: _signless(m, m.linalg.svd, A[:, :3]),
    "svd values": lambda m: _grads(m, lambda a: m.svd(a, compute_uv=False), TALL),
    "eigh": lambda m: _signless(m, m.self_adjoint_eig, S),
    "eigvalsh": lambda m: _grads(m, m.linalg.eigvalsh, S),
    "solve": lambda m: _grads(m, m.linalg.solve, A, B),
    "solve the adjoint": lambda m: _grads(m, lambda a, b: m.matrix_solve(a, b, adjoint=True), A, B),
    "triangular_solve": lambda m: _grads(m, m.linalg.triangular_solve, A, B),
    "triangular_solve upper": lambda m: _grads(
        m, lambda a, b: m.matrix_triangular_solve(a, b, lower=False, adjoint=True), A, B
    ),
    "lstsq of tall": lambda m: _grads(
        m, lambda a, b: m.linalg.lstsq(a, b, 0.1), TALL[0], np.ones((5, 2))
    ),
    "lstsq of wide": lambda m: _grads(
        m, lambda a, b: m.matrix_solve_ls(a, b, l2_regularizer=0.1), WIDE[0], np.ones((3, 2))
    ),
    "sqrtm": lambda m: _grads(m, m.linalg.sqrtm, S),
    "expm": lambda m: _grads(m, m.linalg.expm, A / 4),
    "logm": lambda m: [m.linalg.logm(m.constant(C))],
    "norms": _norms,
    "matrix_rank": lambda m: [m.linalg.matrix_rank(x) for x in (A, TALL, np.ones((2, 3)))],
    "pinv": lambda m: [m.linalg.pinv(TALL), m.linalg.pinv(WIDE, rcond=0.01)],
    "diagonals": _diagonals,
    "tridiagonal": _tridiagonal,
    "fourier": _fourier,
}

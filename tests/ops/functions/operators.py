"""linalg.LinearOperator: products, solutions and numbers of each kind."""

from __future__ import annotations

import numpy as np

_RANDOM = np.random.default_rng(11)


def _normal(*shape, dtype=np.float64):
    values = _RANDOM.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * _RANDOM.standard_normal(shape)
    return values.astype(dtype)


def _positive(n, *batch):
    a = _normal(*batch, n, n)
    return a @ np.swapaxes(a, -1, -2) + n * np.eye(n)


M = {
    "positive": _positive(3, 2),
    "full": _normal(2, 4, 3),
    "square": _normal(3, 3) + 3 * np.eye(3),
    "complex": _normal(3, 3, dtype=np.complex128) + 3 * np.eye(3),
    "diag": np.abs(_normal(2, 3)) + 0.5,
    "vector": _normal(3),
    "u": _normal(3, 2),
    "v": _normal(3, 2),
    "rows": _normal(4),
    "right": _normal(3, 5),
    "wide": _normal(2, 3, 5),
    "tall": _normal(2, 6, 3),
    "long": _normal(12, 2),
    "right4": _normal(4, 3, dtype=np.complex128),
    "right6": _normal(6, 3, dtype=np.complex128),
    "right12": _normal(12, 3, dtype=np.complex128),
    "plane": _normal(2, 3, 2) + 4.0,
    "cube": _normal(2, 2, 3) + 4.0,
    "values": _normal(4, 3),
}


def _numbers(operator, right, solves=True):
    """Everything that an operator computes of a square matrix."""
    found = [
        operator.to_dense(),
        operator.shape_tensor(),
        operator.matmul(right),
        operator.matmul(right, adjoint=True),
        operator.matvec(right[..., 0]),
        operator.trace(),
        operator.diag_part(),
        operator.adjoint().matmul(right),
        operator.add_to_tensor(operator.to_dense()),
    ]
    if solves:
        found += [
            operator.solve(right),
            operator.solve(right, adjoint=True),
            operator.solvevec(right[..., 0]),
            operator.determinant(),
            operator.log_abs_determinant(),
            operator.inverse().matmul(right),
        ]
    return found


_THIRTIES = 30.0 * np.eye(60, dtype=np.float32)


_UPPER = np.triu(np.ones([60, 60], np.float32), 1)


def full_matrices(m):
    known = {"is_self_adjoint": True, "is_positive_definite": True}
    full = m.linalg.LinearOperatorFullMatrix(m.constant(M["full"]))
    definite = m.linalg.LinearOperatorFullMatrix(m.constant(M["positive"]), **known)
    # Its determinant overflows float, the logarithm does not.
    large = m.linalg.LinearOperatorFullMatrix(m.constant(_THIRTIES / 3.0 + _UPPER))
    return [
        *_numbers(m.linalg.LinearOperatorFullMatrix(m.constant(M["square"])), M["right"]),
        *_numbers(m.linalg.LinearOperatorFullMatrix(m.constant(M["complex"])),
                  M["right"].astype(np.complex128)),
        *_numbers(definite, m.constant(M["wide"])),
        large.log_abs_determinant(),
        definite.cholesky().to_dense(),
        definite.matmul(m.constant(M["right"])),
        definite.solve(m.constant(M["right"])),
        full.matmul(M["wide"]),
        full.matmul(M["wide"].swapaxes(-1, -2), adjoint_arg=True),
        full.to_dense(),
    ]  # fmt: skip


def diagonal_operators(m):
    linalg = m.linalg
    return [
        *_numbers(linalg.LinearOperatorDiag(m.constant(M["diag"])), m.constant(M["wide"])),
        *_numbers(linalg.LinearOperatorDiag(m.constant(M["complex"][0])),
                  m.constant(M["right"].astype(np.complex128))),
        *_numbers(linalg.LinearOperatorIdentity(3, dtype=m.float64), m.constant(M["right"])),
        *_numbers(linalg.LinearOperatorIdentity(3, [2], dtype=m.float64), m.constant(M["wide"])),
        *_numbers(linalg.LinearOperatorScaledIdentity(3, m.constant([2.0, -0.5], m.float64)),
                  m.constant(M["wide"])),
        linalg.LinearOperatorZeros(3, dtype=m.float64).matmul(m.constant(M["right"])),
        linalg.LinearOperatorZeros(2, 3, [2], m.float64, is_square=False,
                                   is_self_adjoint=False).to_dense(),
    ]  # fmt: skip


def triangular_operators(m):
    tril = m.constant(M["square"])
    return [
        *_numbers(m.linalg.LinearOperatorLowerTriangular(tril), m.constant(M["right"])),
        *_numbers(m.linalg.LinearOperatorLowerTriangular(m.constant(M["positive"])),
                  m.constant(M["wide"])),
    ]  # fmt: skip


def updates_of_low_rank(m):
    base = m.linalg.LinearOperatorFullMatrix(m.constant(M["square"]), is_non_singular=True)
    diag = m.linalg.LinearOperatorDiag(m.constant(M["diag"]), is_positive_definite=True)
    u, v, d = m.constant(M["u"]), m.constant(M["v"]), m.constant([0.7, -2.0], m.float64)
    update = m.linalg.LinearOperatorLowRankUpdate
    return [
        *_numbers(update(base, u, d, v), m.constant(M["right"])),
        *_numbers(update(diag, u), m.constant(M["wide"])),
        *_numbers(m.linalg.LinearOperatorHouseholder(m.constant(M["diag"])),
                  m.constant(M["wide"])),
    ]  # fmt: skip


def combined_operators(m):
    linalg = m.linalg
    a = linalg.LinearOperatorFullMatrix(m.constant(M["square"]), is_non_singular=True)
    b = linalg.LinearOperatorDiag(m.constant(M["diag"]), is_non_singular=True)
    c = linalg.LinearOperatorFullMatrix(m.constant(M["positive"][0, :2, :2]))
    long = np.concatenate([M["wide"], M["wide"][:, :2]], -2)
    return [
        *_numbers(linalg.LinearOperatorComposition([a, b]), m.constant(M["wide"])),
        *_numbers(linalg.LinearOperatorKronecker([c, a]), m.constant(M["tall"])),
        *_numbers(linalg.LinearOperatorKronecker([b, c]), m.constant(M["tall"])),
        *_numbers(linalg.LinearOperatorBlockDiag([b, c]), m.constant(long)),
        a.matmul(b).to_dense(),
        a.solve(b).to_dense(),
        linalg.LinearOperatorInversion(a).to_dense(),
        linalg.LinearOperatorAdjoint(a).determinant(),
        linalg.LinearOperatorKronecker([c, a, c]).matmul(m.constant(M["long"])),
    ]


def circulant_operators(m):
    linalg = m.linalg
    kernel = np.array([4.0, 1.0, 0.5, 1.0])
    real = np.fft.fft(kernel).real
    spectrum = m.constant(np.fft.fft(M["rows"] + 5.0).astype(np.complex128))
    options = {"input_output_dtype": m.complex128}
    right = m.constant(M["right4"])
    operator = linalg.LinearOperatorCirculant(m.constant(real), input_output_dtype=m.float64)
    square = linalg.LinearOperatorCirculant2D(m.constant(M["plane"]), **options)
    cube = linalg.LinearOperatorCirculant3D(m.constant(M["cube"]), **options)
    values = m.constant(M["values"])
    found = [
        operator.to_dense(), operator.matmul(values), operator.solve(values),
        operator.determinant(), operator.log_abs_determinant(), operator.convolution_kernel(),
        operator.trace(), operator.matmul(values, adjoint=True),
    ]  # fmt: skip
    wide = m.constant(M["right6"])
    long = m.constant(M["right12"])
    for one, right_ in (
        (linalg.LinearOperatorCirculant(spectrum, **options), right),
        (square, wide),
        (cube, long),
    ):
        found += [one.to_dense(), one.matmul(right_), one.matmul(right_, adjoint=True),
                  one.solve(right_), one.determinant(), one.block_shape_tensor()]  # fmt: skip
    return found


def toeplitz_operators(m):
    col, row = m.constant([5.0, 1.0, 0.5], m.float64), m.constant([5.0, -1.0, 0.3], m.float64)
    return _numbers(m.linalg.LinearOperatorToeplitz(col, row), m.constant(M["right"]))


def gradients_of_operators(m):
    u, d, a = (m.constant(M[name]) for name in ("u", "diag", "square"))
    operator = m.linalg.LinearOperatorLowRankUpdate(
        m.linalg.LinearOperatorComposition(
            [m.linalg.LinearOperatorFullMatrix(a), m.linalg.LinearOperatorDiag(d)]
        ),
        u,
    )
    loss = m.reduce_sum(operator.solve(m.constant(M["wide"]))) + m.reduce_sum(
        operator.log_abs_determinant()
    )
    return m.gradients(loss, [u, d, a])


PROGRAMS = {
    f.__name__: f
    for f in (
        full_matrices, diagonal_operators, triangular_operators, updates_of_low_rank,
        combined_operators, circulant_operators, toeplitz_operators, gradients_of_operators,
    )
}  # fmt: skip

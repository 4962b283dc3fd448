"""Fourier transforms of length 0; matrices that are not finite, singular or not definite."""

from __future__ import annotations

import numpy as np

from edge_cases import EdgeCase, c64, c128, i32, noise

EDGE_CASES: list[EdgeCase] = []

# FFT
for n in (i32([4]), i32([5]), i32(4), i32([[4]]), i32([4, 4]), i32([]), i32([-1]), i32([8])):
    EDGE_CASES.append(EdgeCase("IRFFT", [c64(3, 3), n]))
    EDGE_CASES.append(EdgeCase("RFFT", [noise(3, 8), n]))
    EDGE_CASES.append(EdgeCase("IRFFT2D", [c64(4, 3), n]))
    EDGE_CASES.append(EdgeCase("RFFT2D", [noise(3, 8), n]))
for n in (i32([4, 4]), i32([2, 4]), i32([0, 4]), i32([0, 0])):
    EDGE_CASES.append(EdgeCase("IRFFT2D", [c64(4, 3), n]))
    if n.any():  # TensorFlow ends where both lengths are 0
        EDGE_CASES.append(EdgeCase("RFFT2D", [noise(4, 8), n]))
    if 0 in n.tolist():
        EDGE_CASES.append(EdgeCase("IRFFT2D", [c64(0, 3), n]))
        EDGE_CASES.append(EdgeCase("IRFFT2D", [c64(2, 4, 0), n]))
EDGE_CASES.append(EdgeCase("IRFFT", [c128(3, 3), i32([4])], {"Treal": 1}))
EDGE_CASES.append(EdgeCase("IRFFT", [c64(3, 3), i32([4])], {"Treal": 2}))
EDGE_CASES.append(EdgeCase("RFFT", [noise(3, 8), i32([4])], {"Tcomplex": 18}))
EDGE_CASES.append(EdgeCase("RFFT", [noise(3, 8).astype(np.float64), i32([4])], {"Tcomplex": 8}))
for op, k in (("FFT", 1), ("FFT2D", 2), ("FFT3D", 3), ("IFFT", 1), ("IFFT2D", 2), ("IFFT3D", 3)):
    EDGE_CASES.append(EdgeCase(op, [c64(*([2] * k))]))
    EDGE_CASES.append(EdgeCase(op, [c64(*([2] * (k - 1)))]))
    EDGE_CASES.append(EdgeCase(op, [c64(*([2] + [3] * (k - 1) + [0]))]))
    EDGE_CASES.append(EdgeCase(op, [c64(*([2] + [0] + [3] * (k - 1)))]))
    EDGE_CASES.append(EdgeCase(op, [c64(*([0] + [3] * k))]))
EDGE_CASES.append(EdgeCase("IRFFT3D", [c64(2, 3, 3), i32([2, 3, 4])]))
EDGE_CASES.append(EdgeCase("IRFFT3D", [c64(2, 3, 3), i32([2, 3, 5])]))
EDGE_CASES.append(EdgeCase("IRFFT3D", [c64(2, 3, 3), i32([2, 5, 4])]))
EDGE_CASES.append(EdgeCase("IRFFT3D", [c64(2, 0, 3), i32([2, 0, 4])]))
# linalg
nan = np.float32([[np.nan, 1], [1, 2]])
EDGE_CASES.append(EdgeCase("Cholesky", [nan]))
EDGE_CASES.append(EdgeCase("Cholesky", [np.float32([[1, np.nan], [0, 1]])]))
EDGE_CASES.append(EdgeCase("Cholesky", [np.float32([[np.inf, 0], [0, 1]])]))
EDGE_CASES.append(EdgeCase("Cholesky", [np.float32([[1, 0], [np.nan, 1]])]))
EDGE_CASES.append(EdgeCase("Cholesky", [np.full((12, 12), np.nan, np.float32)]))
big = np.eye(12, dtype=np.float32)
big[5, 5] = np.nan
EDGE_CASES.append(EdgeCase("Cholesky", [big]))
big2 = np.eye(12, dtype=np.float32)
big2[5, 3] = np.nan
EDGE_CASES.append(EdgeCase("Cholesky", [big2]))
big3 = np.eye(12, dtype=np.float32)
big3[5, 5] = -1
big3[2, 2] = np.nan
EDGE_CASES.append(EdgeCase("Cholesky", [big3]))
for d in (np.float32, np.float64, np.complex64, np.complex128):
    for t in (8, 18):
        EDGE_CASES.append(
            EdgeCase("Eig", [np.diag([1, 2]).astype(d)], {"Tout": t, "compute_v": True})
        )
EDGE_CASES.append(EdgeCase("Eig", [nan], {"Tout": 8}))
zero = np.zeros((2, 2), np.float32)
inf = np.float32([[np.inf, 1], [1, 2]])
for x in (nan, zero, inf):
    EDGE_CASES.append(EdgeCase("LogMatrixDeterminant", [x]))
    EDGE_CASES.append(EdgeCase("MatrixDeterminant", [x]))
    EDGE_CASES.append(EdgeCase("MatrixExponential", [x]))
    EDGE_CASES.append(EdgeCase("Lu", [x]))
for x in (nan, inf):
    EDGE_CASES.append(EdgeCase("MatrixSquareRoot", [x]))
    EDGE_CASES.append(EdgeCase("MatrixLogarithm", [x.astype(np.complex64)]))
    EDGE_CASES.append(EdgeCase("Svd", [x]))
EDGE_CASES.append(EdgeCase("SelfAdjointEigV2", [nan]))
EDGE_CASES.append(EdgeCase("Qr", [nan]))
EDGE_CASES.append(EdgeCase("CholeskyGrad", [zero, zero]))
EDGE_CASES.append(
    EdgeCase("CholeskyGrad", [np.float32([[1, 2], [2, 4]]), np.float32([[1, 2], [2, 4]])])
)
EDGE_CASES.append(EdgeCase("SelfAdjointEigV2", [nan], {"compute_v": False}))
EDGE_CASES.append(
    EdgeCase("TridiagonalSolve", [np.float32([[1, 1, 0], [0, 2, 2], [0, 1, 1]]), noise(3, 1)])
)
EDGE_CASES.append(
    EdgeCase(
        "TridiagonalSolve",
        [np.float32([[1, 1, 0], [0, 2, 2], [0, 1, 1]]), noise(3, 1)],
        {"partial_pivoting": False},
    )
)
EDGE_CASES.append(EdgeCase("TridiagonalSolve", [np.zeros((3, 3), np.float32), noise(3, 1)]))
EDGE_CASES.append(
    EdgeCase("TridiagonalSolve", [np.float32([[1, 1, 0], [1, 2, np.nan], [0, 1, 1]]), noise(3, 1)])
)
EDGE_CASES.append(
    EdgeCase("TridiagonalSolve", [np.float32([[1, 1, 0], [0, 2, 2], [0, 1, 1]]), noise(3)])
)
EDGE_CASES.append(EdgeCase("TridiagonalSolve", [noise(2, 3), noise(3, 1)]))
EDGE_CASES.append(EdgeCase("TridiagonalSolve", [noise(3, 3), noise(4, 1)]))

# Batches that differ, matrices of which one is singular.
for a, b in (
    ((2, 3, 3), (1, 3, 2)),
    ((1, 3, 3), (2, 3, 2)),
    ((3, 3), (2, 3, 2)),
    ((2, 3, 3), (3, 2)),
    ((2, 3, 3), (2, 3, 2)),
    ((2, 3, 3), (2, 2, 3)),
    ((0, 3, 3), (0, 3, 2)),
    ((0, 3, 3), (1, 3, 2)),
):
    at = noise(*a) + 4 * np.eye(3, dtype=np.float32)
    for op in ("MatrixSolve", "MatrixTriangularSolve"):
        EDGE_CASES.append(EdgeCase(op, [at, noise(*b)]))
    EDGE_CASES.append(EdgeCase("MatrixSolveLs", [at, noise(*b), np.float64(0)], {"fast": True}))
for op in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"):
    of = {"Ta": 1, "Tb": 1, "Tout": 1} if op.endswith("3") else {}
    for a, b in (
        ((2, 3, 4), (2, 4, 5)),
        ((2, 3, 4), (4, 5)),
        ((3, 4), (4, 5)),
        ((4,), (4, 5)),
        ((2, 3, 4), (4,)),
        ((2, 1, 3, 4), (3, 4, 5)),
        ((2, 3, 4), (3, 4, 5)),
        ((1, 3, 4), (3, 4, 5)),
        ((2, 3, 4), (2, 3, 5)),
    ):
        EDGE_CASES.append(EdgeCase(op, [noise(*a), noise(*b)], of))
LOWER = np.tril(noise(3, 3, 3)) + 3 * np.eye(3, dtype=np.float32)
EDGE_CASES.append(
    EdgeCase("CholeskyGrad", [LOWER.astype(np.float64), np.tril(noise(3, 3, 3)).astype(np.float64)])
)
NEGATIVE = np.float32(
    [[[1, 2], [3, -9]], [[4, 1], [1, 3]], [[-1, 0], [0, -1]], [[np.nan, 0], [0, 1]]]
)
for one in NEGATIVE:
    EDGE_CASES.append(EdgeCase("MatrixSquareRoot", [one]))
EDGE_CASES.append(EdgeCase("MatrixSquareRoot", [NEGATIVE.astype(np.complex64)[:3]]))
for bad in (np.nan, np.inf):
    a = noise(3, 2)
    a[1, 1] = bad
    EDGE_CASES.append(EdgeCase("MatrixSolveLs", [a, noise(3, 2), np.float64(0)], {"fast": False}))
    EDGE_CASES.append(EdgeCase("MatrixSolveLs", [a, noise(3, 2), np.float64(0)], {"fast": True}))
EDGE_CASES.append(
    EdgeCase(
        "MatrixSolveLs", [np.ones((3, 2), np.float32), noise(3, 2), np.float64(0)], {"fast": True}
    )
)
EDGE_CASES.append(
    EdgeCase(
        "MatrixSolveLs", [np.zeros((3, 2), np.float32), noise(3, 2), np.float64(0)], {"fast": False}
    )
)
EDGE_CASES.append(EdgeCase("MatrixTriangularSolve", [np.float32([[1, 0], [2, 0]]), noise(2, 2)]))
EDGE_CASES.append(
    EdgeCase("MatrixTriangularSolve", [np.float32([[1, 0], [2, 0]]), noise(2, 2)], {"lower": False})
)
EDGE_CASES.append(
    EdgeCase("MatrixTriangularSolve", [np.float32([[np.nan, 0], [2, 1]]), noise(2, 2)])
)

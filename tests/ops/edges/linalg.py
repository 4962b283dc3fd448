"""Fourier transforms without points, matrices that are not finite, singular or not definite."""

from __future__ import annotations

import numpy as np

from edges import Edge, c64, c128, i32, noise

EDGES: list[Edge] = []

# FFT
for n in (i32([4]), i32([5]), i32(4), i32([[4]]), i32([4, 4]), i32([]), i32([-1]), i32([8])):
    EDGES.append(Edge("IRFFT", [c64(3, 3), n]))
    EDGES.append(Edge("RFFT", [noise(3, 8), n]))
    EDGES.append(Edge("IRFFT2D", [c64(4, 3), n]))
    EDGES.append(Edge("RFFT2D", [noise(3, 8), n]))
for n in (i32([4, 4]), i32([2, 4]), i32([0, 4]), i32([0, 0])):
    EDGES.append(Edge("IRFFT2D", [c64(4, 3), n]))
    if n.any():  # TensorFlow ends where both lengths are 0
        EDGES.append(Edge("RFFT2D", [noise(4, 8), n]))
    if 0 in n.tolist():
        EDGES.append(Edge("IRFFT2D", [c64(0, 3), n]))
        EDGES.append(Edge("IRFFT2D", [c64(2, 4, 0), n]))
EDGES.append(Edge("IRFFT", [c128(3, 3), i32([4])], {"Treal": 1}))
EDGES.append(Edge("IRFFT", [c64(3, 3), i32([4])], {"Treal": 2}))
EDGES.append(Edge("RFFT", [noise(3, 8), i32([4])], {"Tcomplex": 18}))
EDGES.append(Edge("RFFT", [noise(3, 8).astype(np.float64), i32([4])], {"Tcomplex": 8}))
for op, k in (("FFT", 1), ("FFT2D", 2), ("FFT3D", 3), ("IFFT", 1), ("IFFT2D", 2), ("IFFT3D", 3)):
    EDGES.append(Edge(op, [c64(*([2] * k))]))
    EDGES.append(Edge(op, [c64(*([2] * (k - 1)))]))
    EDGES.append(Edge(op, [c64(*([2] + [3] * (k - 1) + [0]))]))
    EDGES.append(Edge(op, [c64(*([2] + [0] + [3] * (k - 1)))]))
    EDGES.append(Edge(op, [c64(*([0] + [3] * k))]))
EDGES.append(Edge("IRFFT3D", [c64(2, 3, 3), i32([2, 3, 4])]))
EDGES.append(Edge("IRFFT3D", [c64(2, 3, 3), i32([2, 3, 5])]))
EDGES.append(Edge("IRFFT3D", [c64(2, 3, 3), i32([2, 5, 4])]))
EDGES.append(Edge("IRFFT3D", [c64(2, 0, 3), i32([2, 0, 4])]))
# linalg
nan = np.float32([[np.nan, 1], [1, 2]])
EDGES.append(Edge("Cholesky", [nan]))
EDGES.append(Edge("Cholesky", [np.float32([[1, np.nan], [0, 1]])]))
EDGES.append(Edge("Cholesky", [np.float32([[np.inf, 0], [0, 1]])]))
EDGES.append(Edge("Cholesky", [np.float32([[1, 0], [np.nan, 1]])]))
EDGES.append(Edge("Cholesky", [np.full((12, 12), np.nan, np.float32)]))
big = np.eye(12, dtype=np.float32)
big[5, 5] = np.nan
EDGES.append(Edge("Cholesky", [big]))
big2 = np.eye(12, dtype=np.float32)
big2[5, 3] = np.nan
EDGES.append(Edge("Cholesky", [big2]))
big3 = np.eye(12, dtype=np.float32)
big3[5, 5] = -1
big3[2, 2] = np.nan
EDGES.append(Edge("Cholesky", [big3]))
for d in (np.float32, np.float64, np.complex64, np.complex128):
    for t in (8, 18):
        EDGES.append(Edge("Eig", [np.diag([1, 2]).astype(d)], {"Tout": t, "compute_v": True}))
EDGES.append(Edge("Eig", [nan], {"Tout": 8}))
zero = np.zeros((2, 2), np.float32)
inf = np.float32([[np.inf, 1], [1, 2]])
for x in (nan, zero, inf):
    EDGES.append(Edge("LogMatrixDeterminant", [x]))
    EDGES.append(Edge("MatrixDeterminant", [x]))
    EDGES.append(Edge("MatrixExponential", [x]))
    EDGES.append(Edge("Lu", [x]))
for x in (nan, inf):
    EDGES.append(Edge("MatrixSquareRoot", [x]))
    EDGES.append(Edge("MatrixLogarithm", [x.astype(np.complex64)]))
    EDGES.append(Edge("Svd", [x]))
EDGES.append(Edge("SelfAdjointEigV2", [nan]))
EDGES.append(Edge("Qr", [nan]))
EDGES.append(Edge("CholeskyGrad", [zero, zero]))
EDGES.append(Edge("CholeskyGrad", [np.float32([[1, 2], [2, 4]]), np.float32([[1, 2], [2, 4]])]))
EDGES.append(Edge("SelfAdjointEigV2", [nan], {"compute_v": False}))
EDGES.append(Edge("TridiagonalSolve", [np.float32([[1, 1, 0], [0, 2, 2], [0, 1, 1]]), noise(3, 1)]))
EDGES.append(
    Edge(
        "TridiagonalSolve",
        [np.float32([[1, 1, 0], [0, 2, 2], [0, 1, 1]]), noise(3, 1)],
        {"partial_pivoting": False},
    )
)
EDGES.append(Edge("TridiagonalSolve", [np.zeros((3, 3), np.float32), noise(3, 1)]))
EDGES.append(
    Edge("TridiagonalSolve", [np.float32([[1, 1, 0], [1, 2, np.nan], [0, 1, 1]]), noise(3, 1)])
)
EDGES.append(Edge("TridiagonalSolve", [np.float32([[1, 1, 0], [0, 2, 2], [0, 1, 1]]), noise(3)]))
EDGES.append(Edge("TridiagonalSolve", [noise(2, 3), noise(3, 1)]))
EDGES.append(Edge("TridiagonalSolve", [noise(3, 3), noise(4, 1)]))

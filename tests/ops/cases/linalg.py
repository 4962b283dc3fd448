"""Cases of the linalg family."""

from __future__ import annotations

import numpy as np

from cases.case import Case, Spec, literal, real

_NUMBERS = ("float32", "float64", "float16", "complex64", "complex128")
_DOUBLE = ("float64", "float32", "float16", "complex64", "complex128")


def _well(*shape: int) -> Spec:
    """Square matrices far from singular."""

    def make(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        x = real(*shape)(rng, np.dtype(np.float64 if dtype.kind != "c" else np.complex128))
        return (x + 4 * np.eye(shape[-1])).astype(dtype)

    make.typed = True  # type: ignore[attr-defined]
    return make


def _definite(*shape: int) -> Spec:
    """Self-adjoint and positive definite matrices."""

    def make(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        x = real(*shape)(rng, np.dtype(np.float64 if dtype.kind != "c" else np.complex128))
        return (x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])).astype(dtype)

    make.typed = True  # type: ignore[attr-defined]
    return make


def _lower(*shape: int) -> Spec:
    def make(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        return np.tril(_well(*shape)(rng, dtype))

    make.typed = True  # type: ignore[attr-defined]
    return make


_FLOATS = ("float32", "float64")
CASES = [
    Case("Cholesky", (_definite(4, 4),), dtypes=_NUMBERS),
    Case("Cholesky", (_definite(2, 3, 3, 3),), dtypes=_NUMBERS),
    Case("CholeskyGrad", (_lower(2, 3, 3), real(2, 3, 3)), dtypes=_FLOATS, smooth=False),
    Case("Lu", (_well(4, 4),), dtypes=_NUMBERS),
    Case("Lu", (_well(2, 3, 3),), {"output_idx_type": "int64"}, dtypes=_NUMBERS),
    Case("Svd", (real(2, 4, 3),), {"compute_uv": False}, dtypes=_FLOATS, undefined=(1, 2)),
    Case(
        "SelfAdjointEigV2",
        (_definite(2, 4, 4),),
        {"compute_v": False},
        dtypes=_FLOATS,
        undefined=(1,),
    ),
    Case("MatrixInverse", (_well(4, 4),), dtypes=_NUMBERS),
    Case("MatrixInverse", (_well(2, 3, 3),), {"adjoint": True}, dtypes=_NUMBERS),
    Case("MatrixInverse", (_well(0, 3, 3),), dtypes=_NUMBERS),
    Case("MatrixDeterminant", (_well(2, 3, 3),), dtypes=_NUMBERS),
    Case("LogMatrixDeterminant", (_well(2, 3, 3),), dtypes=_NUMBERS, flat_outputs=(0,)),
    Case("MatrixExponential", (real(2, 3, 3),), dtypes=_NUMBERS),
    Case("MatrixLogarithm", (_definite(2, 3, 3),), dtypes=("complex64", "complex128")),
    Case("MatrixSquareRoot", (_definite(2, 3, 3),), dtypes=_NUMBERS),
    Case("MatrixSolve", (_well(4, 4), real(4, 2)), dtypes=_NUMBERS),
    Case("MatrixSolve", (_well(2, 3, 3), real(2, 3, 2)), {"adjoint": True}, dtypes=_NUMBERS),
    Case("MatrixTriangularSolve", (_well(4, 4), real(4, 2)), dtypes=_NUMBERS),
    Case(
        "MatrixTriangularSolve",
        (_well(2, 3, 3), real(2, 3, 2)),
        {"lower": False, "adjoint": True},
        dtypes=_NUMBERS,
    ),
    Case("MatrixSolveLs", (real(5, 3), real(5, 2), literal(0.1, "float64")), dtypes=_FLOATS),
    Case("MatrixSolveLs", (real(3, 5), real(3, 2), literal(0.1, "float64")), dtypes=_FLOATS),
    Case(
        "MatrixSolveLs",
        (real(5, 3), real(5, 2), literal(0.0, "float64")),
        {"fast": False},
        dtypes=_FLOATS,
        smooth=False,
    ),
    Case("TridiagonalSolve", (real(2, 3, 4, low=1, high=3), real(2, 4, 2)), dtypes=_FLOATS),
    Case("TridiagonalMatMul", (real(1, 4), real(1, 4), real(1, 4), real(4, 2)), dtypes=_FLOATS),
]
CASES += [
    Case("MatrixBandPart", (real(3, 5), literal(a, "int64"), literal(b, "int64")))
    for a, b in [(0, 0), (1, -1), (-1, 1), (2, 1)]
]
CASES += [
    Case("MatrixDiag", (real(2, 3),)),
    Case("MatrixDiagPart", (real(2, 3, 4),)),
    Case("MatrixSetDiag", (real(2, 3, 4), real(2, 3))),
    Case("MatrixDiagV2", (real(2, 3), literal(1), literal(-1), literal(-1), real())),
    Case("MatrixDiagPartV2", (real(2, 4, 5), literal([-1, 2]), real())),
    Case("MatrixSetDiagV2", (real(4, 5), real(3, 4), literal([-1, 1]))),
]
for _align in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"):
    _a = {"align": _align}
    CASES += [
        Case("MatrixDiagV3", (real(2, 3), literal([0]), literal(3), literal(5), real()), _a),
        Case("MatrixDiagV3", (real(4, 4), literal([-2, 1]), literal(-1), literal(5), real()), _a),
        Case("MatrixDiagPartV3", (real(2, 4, 5), literal([-2, 3]), real()), _a),
        Case("MatrixDiagPartV3", (real(5, 3), literal(-1), real()), _a),
        Case("MatrixSetDiagV3", (real(4, 5), real(5, 4), literal([-2, 2])), _a),
    ]
_COMPLEX = ("complex64", "complex128")
for _n, _shape in [("", (3, 5)), ("2D", (2, 4, 3)), ("3D", (2, 3, 4, 2))]:
    CASES += [
        Case(f"FFT{_n}", (real(*_shape),), dtypes=_COMPLEX),
        Case(f"IFFT{_n}", (real(*_shape),), dtypes=_COMPLEX),
    ]
CASES += [
    Case("RFFT", (real(3, 8), literal([8])), {"Tcomplex": "complex64"}, dtypes=("float32",)),
    Case("RFFT", (real(3, 8), literal([5])), {"Tcomplex": "complex128"}, dtypes=("float64",)),
    Case(
        "RFFT2D", (real(2, 4, 6), literal([4, 6])), {"Tcomplex": "complex64"}, dtypes=("float32",)
    ),
    Case(
        "RFFT3D",
        (real(3, 4, 6), literal([3, 4, 6])),
        {"Tcomplex": "complex64"},
        dtypes=("float32",),
    ),
    Case("IRFFT", (real(3, 5), literal([8])), {"Treal": "float32"}, dtypes=("complex64",)),
    Case("IRFFT", (real(3, 5), literal([7])), {"Treal": "float64"}, dtypes=("complex128",)),
    Case("IRFFT2D", (real(2, 4, 4), literal([4, 6])), {"Treal": "float32"}, dtypes=("complex64",)),
    Case(
        "IRFFT3D", (real(3, 4, 4), literal([3, 4, 6])), {"Treal": "float32"}, dtypes=("complex64",)
    ),
    # up to signs that nothing fixes
    Case("Qr", (real(4, 3),), dtypes=_DOUBLE, exact=False),
    Case("Qr", (real(3, 5),), dtypes=_DOUBLE, exact=False),
    Case("Qr", (real(2, 3, 3),), {"full_matrices": True}, dtypes=_DOUBLE, exact=False),
    Case("Svd", (real(4, 3),), dtypes=_DOUBLE, exact=False),
    Case("Svd", (real(3, 5),), dtypes=_DOUBLE, exact=False),
    Case("Svd", (real(3, 3),), {"full_matrices": True}, dtypes=_DOUBLE, exact=False),
    Case(
        "Eig",
        (_well(3, 3),),
        {"Tout": "complex128", "compute_v": False},
        dtypes=("float64",),
        exact=False,
        undefined=(1,),
    ),
    Case("SelfAdjointEigV2", (_definite(4, 4),), dtypes=_DOUBLE, exact=False),
    Case("SelfAdjointEig", (_definite(4, 4),), dtypes=("float64",), exact=False),
    Case("Eig", (_well(3, 3),), {"Tout": "complex128"}, dtypes=_DOUBLE, exact=False, smooth=False),
]

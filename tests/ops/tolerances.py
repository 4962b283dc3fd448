"""Tolerances of correct results, by dtype. A looser one, where needed, gives its reason."""

from __future__ import annotations

import numpy as np

from headrace.formats import op_catalogue

# relative, absolute
BY_DTYPE = {
    "float64": (1e-10, 1e-12),
    "float32": (2e-5, 2e-6),
    "float16": (4e-3, 2e-3),
    "bfloat16": (2e-2, 1e-2),
    "complex64": (2e-5, 2e-6),
    "complex128": (1e-10, 1e-12),
}

# op -> factor on the tolerance of its dtype, and why.
LOOSER = {
    "Digamma": (20, "reflection near poles"),
    "Lgamma": (20, "cancellation near 1 and 2"),
    "Igamma": (50, "series of alternating precision in single precision"),
    "Igammac": (50, "one minus the above"),
    "IgammaGradA": (50, "the derivative of a series"),
    "RandomGammaGrad": (100, "a quotient of two series"),
    "Betainc": (50, "a continued fraction in single precision"),
    "Zeta": (20, "a sum of powers in single precision"),
    "Polygamma": (50, "the above times a factorial"),
    "Pow": (5, "an exponential of a product"),
    "Tan": (10, "near its poles"),
    "Prod": (10, "rounding of every factor"),
    "Cumprod": (10, "rounding of every factor"),
    "MatrixInverse": (200, "condition of the matrix"),
    "MatrixSolve": (200, "condition of the matrix"),
    "MatrixSolveLs": (500, "normal equations square the condition"),
    "MatrixTriangularSolve": (50, "condition of the matrix"),
    "MatrixDeterminant": (50, "a product of pivots"),
    "LogMatrixDeterminant": (50, "a product of pivots"),
    "CholeskyGrad": (100, "condition of the matrix"),
    "TridiagonalSolve": (50, "condition of the matrix"),
    "MatrixLogarithm": (1000, "an eigenvalue decomposition"),
    "MatrixSquareRoot": (200, "an eigenvalue decomposition"),
    "MatrixExponential": (50, "an eigenvalue decomposition"),
    "FusedBatchNormGrad": (20, "differences of sums"),
    "FusedBatchNormGradV2": (20, "differences of sums"),
    "FusedBatchNormGradV3": (20, "differences of sums"),
    "AdjustHue": (20, "a conversion there and back"),
    "AdjustSaturation": (20, "a conversion there and back"),
}


# Ops that count with single weights in double precision too, as TensorFlow's do.
SINGLE_INSIDE = {"ResizeBilinearGrad", "ResizeBicubicGrad", "CropAndResizeGradImage"}

# Families whose results are sums: an error is in proportion to the largest, not to each.
SUMMING = {
    "clustering",
    "convolution",
    "image",
    "linalg",
    "losses",
    "matmul",
    "normalization",
    "pooling",
    "recurrent",
    "reduction",
    "scatter",
    "segment",
    "sparse",
}


def tolerance(op: str, dtype: np.dtype) -> tuple[float, float]:
    """Relative and absolute tolerance for outputs of an op; 0 for whole numbers."""
    name = "float32" if op in SINGLE_INSIDE and dtype.name == "float64" else dtype.name
    relative, absolute = BY_DTYPE.get(name, (0.0, 0.0))
    factor = LOOSER.get(op, (1, ""))[0]
    return relative * factor, absolute * factor


def assert_same(op: str, got: np.ndarray, expected: np.ndarray) -> None:
    """Same dtype, same shape, NaN and infinities in the same places, the rest within tolerance."""
    assert got.dtype == expected.dtype, f"{op}: {got.dtype}, expected {expected.dtype}"
    assert got.shape == expected.shape, f"{op}: {got.shape}, expected {expected.shape}"
    relative, absolute = tolerance(op, expected.dtype)
    if not relative:
        np.testing.assert_array_equal(got, expected, err_msg=op)
        return
    absolute *= _scale(op, expected)
    widest = np.complex128 if expected.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(
        got.astype(widest),
        expected.astype(widest),
        rtol=relative,
        atol=absolute,
        equal_nan=True,
        err_msg=op,
    )


def _scale(op: str, expected: np.ndarray) -> float:
    if op_catalogue.family(op) not in SUMMING or not expected.size:
        return 1.0
    size = np.abs(expected.astype(np.complex128))
    return max(1.0, float(np.max(size, where=np.isfinite(size), initial=0)))

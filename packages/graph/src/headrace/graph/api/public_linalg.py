"""Public names of linear algebra and Fourier transforms.

public_names.py describes the format.
"""

from __future__ import annotations

from headrace.graph.api.public_rows import rows

_MATRICES = {
    **rows(
        "ops.linalg.linalg",
        "matrix_inverse matrix_determinant cholesky cholesky_solve qr svd self_adjoint_eig "
        "self_adjoint_eigvals matrix_solve matrix_triangular_solve matrix_solve_ls "
        "matrix_square_root",
    ),
    **rows(
        "ops.linalg.linalg",
        "slogdet logdet cholesky cholesky_solve lu lu_solve lu_matrix_inverse lu_reconstruct qr "
        "svd expm logm adjoint tridiagonal_solve tridiagonal_matmul",
        "linalg",
    ),
    "linalg.inv": "ops.linalg.linalg:matrix_inverse",
    "linalg.det": "ops.linalg.linalg:matrix_determinant",
    "linalg.solve": "ops.linalg.linalg:matrix_solve",
    "linalg.triangular_solve": "ops.linalg.linalg:matrix_triangular_solve",
    "linalg.lstsq": "ops.linalg.linalg:matrix_solve_ls",
    "linalg.sqrtm": "ops.linalg.linalg:matrix_square_root",
    "linalg.eigh": "ops.linalg.linalg:self_adjoint_eig",
    "linalg.eigvalsh": "ops.linalg.linalg:self_adjoint_eigvals",
    **rows("ops.linalg.matrix_norms", "norm trace"),
    **rows("ops.linalg.matrix_norms", "norm normalize trace matrix_rank pinv", "linalg"),
    **rows("ops.linalg.diagonals", "matrix_band_part matrix_diag matrix_diag_part matrix_set_diag"),
    "linalg.band_part": "ops.linalg.diagonals:matrix_band_part",
    "linalg.diag": "ops.linalg.diagonals:matrix_diag",
    "linalg.diag_part": "ops.linalg.diagonals:matrix_diag_part",
    "linalg.set_diag": "ops.linalg.diagonals:matrix_set_diag",
    "linalg.tensor_diag": "ops.arrays.arrays:diag",
    "linalg.tensor_diag_part": "ops.arrays.arrays:diag_part",
    **rows("ops.arrays.creation", "eye", "linalg"),
    **rows("ops.arrays.shapes", "matrix_transpose", "linalg"),
    "linalg.transpose": "ops.arrays.shapes:matrix_transpose",
    "linalg.cross": "ops.elementwise.elementwise",
    "linalg.global_norm": "ops.clipping",
}

_TRANSFORMS = "fft ifft fft2d ifft2d fft3d ifft3d"
_FOURIER = {
    **rows("ops.linalg.fourier", _TRANSFORMS),
    **rows(
        "ops.linalg.fourier", f"{_TRANSFORMS} rfft irfft rfft2d irfft2d rfft3d irfft3d", "signal"
    ),
}

_SIGNAL = {
    **rows("ops.signal.cosine_transforms", "dct idct", "signal"),
    **rows("ops.signal.framing", "frame overlap_and_add", "signal"),
    **rows("ops.signal.windows", "hamming_window hann_window", "signal"),
    **rows(
        "ops.signal.spectra",
        "fftshift ifftshift inverse_stft inverse_stft_window_fn stft",
        "signal",
    ),
    **rows(
        "ops.signal.mel",
        "linear_to_mel_weight_matrix mfccs_from_log_mel_spectrograms",
        "signal",
    ),
    **rows("ops.signal.cosine_transforms", "dct idct", "spectral"),
    **rows(
        "ops.linalg.fourier", f"{_TRANSFORMS} rfft irfft rfft2d irfft2d rfft3d irfft3d", "spectral"
    ),
}

_OPERATORS = {
    "linalg.LinearOperator": "ops.linear_operators.linear_operator",
    "linalg.LinearOperatorFullMatrix": "ops.linear_operators.full_matrix",
    **rows(
        "ops.linear_operators.diagonal",
        "LinearOperatorDiag LinearOperatorIdentity LinearOperatorScaledIdentity "
        "LinearOperatorZeros",
        "linalg",
    ),
    "linalg.LinearOperatorLowerTriangular": "ops.linear_operators.triangular",
    **rows(
        "ops.linear_operators.wrappers", "LinearOperatorAdjoint LinearOperatorInversion", "linalg"
    ),
    **rows(
        "ops.linear_operators.composition",
        "LinearOperatorBlockDiag LinearOperatorComposition LinearOperatorKronecker",
        "linalg",
    ),
    **rows(
        "ops.linear_operators.low_rank",
        "LinearOperatorHouseholder LinearOperatorLowRankUpdate",
        "linalg",
    ),
    **rows(
        "ops.linear_operators.circulant",
        "LinearOperatorCirculant LinearOperatorCirculant2D LinearOperatorCirculant3D "
        "LinearOperatorToeplitz",
        "linalg",
    ),
}

LINALG = {**_MATRICES, **_FOURIER, **_SIGNAL, **_OPERATORS}

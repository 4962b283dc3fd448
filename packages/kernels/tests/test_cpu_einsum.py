"""Einsum of the cpu table against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import run_kernel

from headrace.formats.errors import InvalidArgumentError

CASES = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,kj->ki", (3, 4), (5, 4)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bthd,bshd->bhts", (2, 5, 3, 4), (2, 6, 3, 4)),
    ("i,j->ij", (3,), (4,)),
    ("i,i->", (5,), (5,)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
    ("...ij,jk->k...", (1, 3, 4), (4, 5)),
    ("abc,cd->abd", (65, 3, 70), (70, 130)),
    ("ijk,jl->il", (3, 4, 2), (4, 5)),
    ("ij->ji", (3, 4)),
    ("ii->i", (4, 4)),
    ("ijj->", (2, 3, 3)),
    ("...i->...", (2, 3, 4)),
    ("ij,jk->ik", (0, 4), (4, 5)),
    ("ij,jk->ik", (3, 0), (0, 5)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.complex64])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0] + str(len(c)))
def test_einsum_is_numpys(case, dtype):
    equation, *shapes = case
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-4, 5, shape).astype(dtype) for shape in shapes]
    got = run_kernel("Einsum", arrays, equation=equation, threads=2)
    want = np.einsum(equation, *(a.astype(np.complex128) for a in arrays))
    assert got.dtype == dtype
    assert got.shape == want.shape
    np.testing.assert_allclose(
        got.astype(np.complex128), want, rtol=1e-3 if dtype is np.float16 else 1e-6
    )


def test_sizes_that_differ_are_rejected():
    with pytest.raises(InvalidArgumentError):
        run_kernel("Einsum", [np.ones((2, 3)), np.ones((4, 5))], equation="ij,jk->ik")

"""Sines and cosines of angles beyond the vectorised reduction."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import run_kernel


@pytest.mark.parametrize("op", ["Sin", "Cos"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_huge_angle_changes_nothing_beside_it(op, dtype):
    x = np.linspace(-50, 50, 4001).astype(dtype)
    apart = run_kernel(op, x)
    with np.errstate(over="ignore"):
        x[[0, 700, 701, 4000]] = np.array([3e8, -1e30, np.inf, 2e6]).astype(dtype)
    together = run_kernel(op, x)
    same = np.isin(np.arange(x.size), [0, 700, 701, 4000], invert=True)
    np.testing.assert_array_equal(together[same], apart[same])
    with np.errstate(invalid="ignore"):
        expected = {"Sin": np.sin, "Cos": np.cos}[op](x.astype(np.float64))
    np.testing.assert_allclose(together, expected, rtol=0, atol=1e-3)

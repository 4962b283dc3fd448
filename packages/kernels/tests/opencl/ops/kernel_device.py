"""The OpenCL device that tests of kernels run on."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from kernel_harness.table import Device, Library

# Of results: relative to the largest.
TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}


@functools.cache
def _devices() -> list[Device]:
    from headrace.kernels import opencl

    return Library(opencl.capsule()).devices()


def first_device() -> Device:
    """The first device; skips the test where there is none."""
    if not _devices():
        pytest.skip("no OpenCL device works here: install pocl-opencl-icd")
    return _devices()[0]


def assert_near(got: np.ndarray, want: np.ndarray, scale: float = 1.0) -> None:
    """got has the shape of want, and its elements within the tolerance of got's dtype."""
    assert got.shape == want.shape
    tolerance = TOLERANCE[got.dtype.name] * scale
    largest = float(np.abs(want).max()) if want.size else 1.0
    np.testing.assert_allclose(
        got.astype(np.float64), want, rtol=tolerance, atol=tolerance * largest
    )

"""Compares kernels of a device with those of the CPU's library, which other tests compare with
NumPy and TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
from kernel_harness import Device, run_kernel

# Relative to the expected element, and absolute below 1.
TOLERANCES = {"float32": 1e-5, "float64": 1e-12, "float16": 2e-3, "bfloat16": 1.6e-2}


def assert_close(actual: Any, expected: Any, scale: float = 1.0) -> None:
    """Same shape, dtype and specials; numbers within `scale` times the dtype's tolerance."""
    if isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_close(one, other, scale)
        return
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    tolerance = TOLERANCES.get(np.dtype(expected.dtype).name)
    if tolerance is None:
        np.testing.assert_array_equal(actual, expected)
        return
    np.testing.assert_allclose(
        actual.astype(np.float64),
        expected.astype(np.float64),
        rtol=tolerance * scale,
        atol=tolerance * scale,
    )


def assert_as_cpu(device: Device, op: str, *inputs: Any, scale: float = 1.0, **attrs: Any) -> Any:
    """Runs a kernel there and on the CPU. Returns: the result."""
    expected = run_kernel(op, *inputs, **attrs)
    actual = run_kernel(op, *inputs, device=device, **attrs)
    assert_close(actual, expected, scale)
    return actual

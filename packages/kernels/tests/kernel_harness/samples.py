"""Arrays to test kernels with, and how near a result must come."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

bfloat16 = ml_dtypes.bfloat16

FLOATS = ["float32", "float64", "float16", bfloat16]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
COMPLEXES = ["complex64", "complex128"]
REALS = FLOATS + INTEGERS
NUMBERS = REALS + COMPLEXES

# Relative to the magnitude of the expected element, and absolute below 1.
TOLERANCES = {
    "float32": 2e-6,
    "float64": 1e-13,
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
    "complex64": 4e-6,
    "complex128": 1e-13,
}


def name_of(dtype: Any) -> str:
    return np.dtype(dtype).name


def is_float(dtype: Any) -> bool:
    return name_of(dtype) in ("float32", "float64", "float16", "bfloat16")


def sample(shape: Any, dtype: Any, seed: int = 0, low: float = -4, high: float = 4) -> np.ndarray:
    """Random numbers of a dtype; unsigned ones from 0 to high, bools and bytes strings too."""
    rng = np.random.default_rng(seed)
    name = name_of(dtype)
    if name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if name == "object":
        flat = [b"s%d" % n * (n % 3) for n in rng.integers(0, 50, int(np.prod(shape)))]
        array = np.empty(len(flat), dtype=object)
        array[:] = flat
        return array.reshape(shape)
    if np.dtype(dtype).kind in "iu":
        low = max(low, 0) if np.dtype(dtype).kind == "u" else low
        return np.asarray(rng.integers(int(low), int(high) + 1, shape)).astype(dtype)
    values = rng.uniform(low, high, shape)
    if name.startswith("complex"):
        values = values + 1j * rng.uniform(low, high, shape)
    return np.asarray(values).astype(dtype)


def assert_near(actual: Any, expected: Any, scale: float = 1.0) -> None:
    """Same dtype and shape; equal, or for floats within `scale` times the dtype's tolerance."""
    expected = np.asarray(expected)
    actual = np.asarray(actual)
    assert actual.dtype == expected.dtype, f"dtype {actual.dtype}, expected {expected.dtype}"
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    tolerance = TOLERANCES.get(name_of(expected.dtype))
    if tolerance is None:
        np.testing.assert_array_equal(actual, expected)
        return
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(
        actual.astype(wide), expected.astype(wide), rtol=tolerance * scale, atol=tolerance * scale
    )

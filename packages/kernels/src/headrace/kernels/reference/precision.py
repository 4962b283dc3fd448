"""Wide arithmetic for results that are rounded once, at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype


def numpy_type(number: int) -> np.dtype:
    """NumPy's type for a DataType number."""
    return np.dtype(as_dtype(number).as_numpy_dtype)


def is_complex(x: np.ndarray) -> bool:
    return x.dtype.kind == "c"


def is_float(x: np.ndarray) -> bool:
    """Whether x is real and not of integers; bfloat16 and float8 have a kind of their own."""
    return as_dtype(x.dtype).is_floating


def wide(x: Any) -> np.ndarray:
    """x as float64 or complex128; integers, bools and strings as they are."""
    x = np.asarray(x)
    if is_complex(x):
        return x.astype(np.complex128)
    return x.astype(np.float64) if is_float(x) else x


def widely(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """`function` on wide values, its result rounded to the dtype of the first argument."""

    def rounded(attrs: Any, *inputs: np.ndarray) -> np.ndarray:
        result = function(*[wide(x) for x in inputs])
        return np.asarray(result).astype(inputs[0].dtype)

    rounded.__name__ = getattr(function, "__name__", "rounded")
    return rounded

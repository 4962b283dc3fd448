"""ToBool: the condition of a functional If or While."""

from __future__ import annotations

import numpy as np

from headrace.kernels.reference.registry import Attrs, kernel


@kernel("ToBool")
def to_bool(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.array(bool(x.item()) if x.ndim == 0 else x.size > 0)

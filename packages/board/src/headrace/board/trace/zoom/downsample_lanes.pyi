"""Types of downsample_lanes.pyx."""

from collections.abc import Sequence

import numpy as np

def downsample_lanes(
    spans: Sequence[tuple[int, int, int]],
    start: np.ndarray,
    end: np.ndarray,
    scheduled: np.ndarray,
    op: np.ndarray,
    kind: np.ndarray,
    critical: np.ndarray | None,
    t0: float,
    pixel_ns: float,
    ops: int,
    merged: int,
) -> tuple[np.ndarray, ...]: ...

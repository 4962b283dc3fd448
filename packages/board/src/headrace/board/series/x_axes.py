"""x values of points: step, time, or the value of another tag."""

from __future__ import annotations

import numpy as np

KINDS = ("step", "relative", "wall", "tag")


def x_values(kind: str, step: np.ndarray, wall: np.ndarray, start: float) -> np.ndarray:
    """Returns x of each point, [n] float64.

    Args:
      kind: "step", "wall" (seconds since 1970) or "relative" (seconds since the run's start).
      step: [n] int64.
      wall: [n] float64.
      start: start of the run in seconds since 1970.
    """
    if kind == "step":
        return step.astype(np.float64)
    return wall if kind == "wall" else wall - start

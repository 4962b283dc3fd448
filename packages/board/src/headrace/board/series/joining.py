"""Joins several series of one run by step."""

from __future__ import annotations

import numpy as np

HOW = ("exact", "last")


def joined(steps: list[np.ndarray], how: str = "exact") -> list[np.ndarray]:
    """Returns indices into each series; row i of all index lists belongs together.

    "exact" takes the steps that all series have, and the last point of a repeated step. "last"
    takes each step of the first series, and the last point of the others up to that step.

    Args:
      steps: [n_k] int64 of each series, ascending.
      how: "exact" or "last".
    """
    first = steps[0]
    picks = [_last_of_each(first)] if how == "exact" else [np.arange(len(first))]
    for other in steps[1:]:
        requested = first[picks[0]]
        at = np.searchsorted(other, requested, "right") - 1
        found = at >= 0
        if how == "exact" and len(other):
            found &= other[at] == requested
        picks = [pick[found] for pick in picks]
        picks.append(at[found])
    return picks


def _last_of_each(steps: np.ndarray) -> np.ndarray:
    if not len(steps):
        return np.empty(0, np.intp)
    return np.flatnonzero(np.append(steps[1:] != steps[:-1], True))

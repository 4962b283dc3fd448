"""Estimates the clock differences of tasks from the tensors that they sent each other."""

from __future__ import annotations

import heapq

import numpy as np


def clock_shifts(
    tasks: int, source: np.ndarray, target: np.ndarray, cause: np.ndarray, effect: np.ndarray
) -> list[int]:
    """Returns what to add to the times of each task, so that no tensor arrives before it was sent.

    Each transfer bounds the clock difference of two tasks on one side. If zero lies within the
    bounds, the clocks are not shifted. Otherwise the shift is the middle of both bounds (as in NTP:
    the fastest transfers in both directions took equally long), or the only bound. Tasks that
    exchanged nothing are not shifted.

    Args:
      tasks: number of tasks; task 0 is not shifted.
      source: i64[t], the task of each cause.
      target: i64[t], the task of each effect.
      cause: i64[t], ns on the clock of source.
      effect: i64[t], ns on the clock of target.
    Returns: ns for each task.
    """
    least = _least_shifts(tasks, source, target, cause, effect)
    near: dict[int, set[int]] = {}
    for a, b in least:
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    shifts = [0] * tasks
    placed = [False] * tasks
    for first in range(tasks):
        # Outwards from the first task, always along the link with the narrowest bounds.
        links = [(0.0, first, first)]
        while links:
            _, known, other = heapq.heappop(links)
            if placed[other]:
                continue
            placed[other] = True
            if known != other:
                shifts[other] = shifts[known] + _between(
                    least.get((known, other)), least.get((other, known)), shifts[known]
                )
            for further in near.get(other, ()):
                if not placed[further]:
                    heapq.heappush(links, (_width(least, other, further), other, further))
    return shifts


def _least_shifts(
    tasks: int, source: np.ndarray, target: np.ndarray, cause: np.ndarray, effect: np.ndarray
) -> dict[tuple[int, int], int]:
    """Returns for each (a, b) by how much more than a task b must be shifted at least."""
    across = source != target
    if not across.any():
        return {}
    pair = (source * tasks + target)[across]
    late = (cause - effect)[across]
    keys, inverse = np.unique(pair, return_inverse=True)
    most = np.full(len(keys), np.iinfo(np.int64).min)
    np.maximum.at(most, inverse, late)
    return {divmod(int(k), tasks): int(m) for k, m in zip(keys, most, strict=True)}


def _width(least: dict[tuple[int, int], int], known: int, other: int) -> float:
    """Returns the distance between the bounds of a link."""
    there, back = least.get((known, other)), least.get((other, known))
    return float("inf") if there is None or back is None else abs(-back - there)


def _between(there: int | None, back: int | None, known: int) -> int:
    """Returns the shift of the other task relative to the known one."""
    low = there if there is not None else None
    high = -back if back is not None else None
    still = -known  # the other task keeps its own time
    if (low is None or still >= low) and (high is None or still <= high):
        return still
    if low is not None and high is not None:
        return (low + high) // 2
    return low if low is not None else high  # type: ignore[return-value]

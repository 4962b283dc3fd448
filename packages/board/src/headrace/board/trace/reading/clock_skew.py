"""How far the clocks of tasks are apart, from what they sent each other."""

from __future__ import annotations

import heapq

import numpy as np


def clock_shifts(
    tasks: int, source: np.ndarray, target: np.ndarray, cause: np.ndarray, effect: np.ndarray
) -> list[int]:
    """What to add to the times of each task, so that nothing arrives before it was sent.

    Between two tasks each transfer bounds the difference of their clocks on one side. If no
    difference lies within the bounds the clocks stay as they are; if it does not, the middle of
    both bounds is taken (as NTP does: the quickest way there took as long as the quickest way
    back), or the one bound there is. Tasks that sent each other nothing stay as they are.

    Args:
      tasks: how many; task 0 keeps its time.
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
        # Outwards from the first one, always over the link whose bounds are closest together.
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
    """Returns: for (a, b) the least that b must be shifted by more than a."""
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
    """Returns: how far the bounds of a link are apart."""
    there, back = least.get((known, other)), least.get((other, known))
    return float("inf") if there is None or back is None else abs(-back - there)


def _between(there: int | None, back: int | None, known: int) -> int:
    """Returns: the shift of the other task, over that of the known one."""
    low = there if there is not None else None
    high = -back if back is not None else None
    still = -known  # the other task keeps its own time
    if (low is None or still >= low) and (high is None or still <= high):
        return still
    if low is not None and high is not None:
        return (low + high) // 2
    return low if low is not None else high  # type: ignore[return-value]

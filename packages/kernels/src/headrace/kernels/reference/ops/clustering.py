"""Clustering: nearest centers, and points that become centers."""

from __future__ import annotations

import math

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.registry import Attrs, kernel


def _reject(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


def _distances(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Returns the squared distances, [points, centers]."""
    wide = points.astype(np.float64)[:, None] - centers.astype(np.float64)
    return np.square(wide).sum(-1)


@kernel("NearestNeighbors")
def nearest_neighbors(
    attrs: Attrs, points: np.ndarray, centers: np.ndarray, k: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    if len(points) == 0:
        raise _reject("Expected points.rows() > 0.")
    distances = _distances(points, centers)
    indices = np.argsort(distances, axis=1, kind="stable")[:, : int(k)]
    return indices, np.take_along_axis(distances, indices, 1).astype(np.float32)


@kernel("KmeansPlusPlusInitialization")
def kmeans_plus_plus(
    attrs: Attrs, points: np.ndarray, count: np.ndarray, seed: np.ndarray, retries: np.ndarray
) -> np.ndarray:
    if len(points) == 0:
        raise _reject("Expected points.rows() > 0.")
    if count == 0:
        raise _reject("Expected num_to_sample > 0.")
    if count > len(points):
        raise _reject(f"Expected num_to_sample <= points.rows(). {count} vs {len(points)}.")
    tries = 1 + int(retries if retries >= 0 else 2 + math.log(count))
    random = np.random.default_rng(int(seed) % 2**64)
    free = np.ones(len(points), bool)
    nearest = np.ones(len(points))
    chosen: list[int] = []
    for _ in range(int(count)):
        weights = np.where(free, nearest, 0)
        if not weights.sum() > 0:
            weights = free.astype(float)
        drawn = random.choice(len(points), size=tries, p=weights / weights.sum())
        after = [np.square(points - points[i]).sum(-1, dtype=np.float64) for i in drawn]
        if chosen:
            after = [np.minimum(nearest, one) for one in after]
        best = min(range(tries), key=lambda i: after[i].sum())
        nearest = after[best]
        chosen.append(int(drawn[best]))
        free[chosen[-1]] = False
    return points[chosen]


@kernel("KMC2ChainInitialization")
def kmc2_chain(attrs: Attrs, distances: np.ndarray, seed: np.ndarray) -> np.ndarray:
    if len(distances) == 0:
        raise _reject("Expected distances_tensor.size() > 0.")
    random = np.random.default_rng(int(seed) % 2**64)
    at = 0
    for i in range(1, len(distances)):
        if distances[i] > random.random() * distances[at]:
            at = i
    return np.array(at)

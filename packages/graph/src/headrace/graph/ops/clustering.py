"""Clustering: nearest centers, and points that become centers."""

from __future__ import annotations

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import no_gradient
from headrace.graph.framework.operation import Tensor
from headrace.graph.typing.aliases import TensorLike


def nearest_neighbors(
    points: TensorLike, centers: TensorLike, k: TensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Finds the k nearest centers of each point.

    Args:
      points: [n, d] float32.
      centers: [m, d] float32.
      k: scalar int64.
    Returns: their numbers [n, min(k, m)] int64, nearest first, and the squared distances, float32.
    """
    indices, distances = op("NearestNeighbors", points, centers, k, name=name)
    return indices, distances


def kmeans_plus_plus_initialization(
    points: TensorLike,
    num_to_sample: TensorLike,
    seed: TensorLike,
    num_retries_per_sample: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Chooses points that are far from each other.

    Args:
      points: [n, d] float32.
      num_to_sample: scalar int64, at most n.
      seed: scalar int64.
      num_retries_per_sample: scalar int64, further candidates for each point; -1: some log(n).
    Returns: [num_to_sample, d].
    Source: Arthur and Vassilvitskii 2007.
    """
    return op(
        "KmeansPlusPlusInitialization",
        points,
        num_to_sample,
        seed,
        num_retries_per_sample,
        name=name,
    )


def kmc2_chain_initialization(
    distances: TensorLike, seed: TensorLike, name: str | None = None
) -> Tensor:
    """Chooses a point by a Markov chain over all of them.

    Args:
      distances: [n] float32, squared distances to the nearest center.
      seed: scalar int64.
    Returns: the number of the point, scalar int64.
    Source: Bachem et al. 2016.
    """
    return op("KMC2ChainInitialization", distances, seed, name=name)


for _name in ("NearestNeighbors", "KmeansPlusPlusInitialization", "KMC2ChainInitialization"):
    no_gradient(_name, "a choice has no gradient")

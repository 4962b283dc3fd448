"""contrib.factorization.KMeans: clusters points around centers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.formats.dtypes import bool as bool_
from headrace.formats.dtypes import float32, int64
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.contrib.factorization.initial_centers import (
    KMC2_INIT,
    KMEANS_PLUS_PLUS_INIT,
    RANDOM_INIT,
    InitialCenters,
)
from headrace.graph.control_flow.cond import cond
from headrace.graph.control_flow.control_flow_ops import group, identity, no_op
from headrace.graph.framework.default_graph import get_seed
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import control_dependencies
from headrace.graph.ops.arrays.arrays import unique
from headrace.graph.ops.arrays.creation import ones, ones_like, zeros, zeros_like
from headrace.graph.ops.arrays.placeholders import placeholder_with_default
from headrace.graph.ops.arrays.shapes import expand_dims, reshape, shape, size, squeeze, transpose
from headrace.graph.ops.clustering import nearest_neighbors
from headrace.graph.ops.elementwise.elementwise import add_n, cast, reciprocal, square
from headrace.graph.ops.gather import gather
from headrace.graph.ops.matmul.matmul import matmul
from headrace.graph.ops.normalization.normalization import l2_normalize
from headrace.graph.ops.reduction import reduce_sum
from headrace.graph.ops.segment import unsorted_segment_sum
from headrace.graph.ops.state import assign, assign_sub, scatter_add
from headrace.graph.typing.aliases import TensorLike
from headrace.graph.variables.variable import Variable

SQUARED_EUCLIDEAN_DISTANCE = "squared_euclidean"
COSINE_DISTANCE = "cosine"
CLUSTERS_VAR_NAME = "clusters"

_EPSILON = 1e-6


class KMeans:
    """Builds the graph of Lloyd's algorithm, on whole inputs or on batches (Sculley 2010).

    Args:
      inputs: points [n, d] float32, or a list of such tensors.
      num_clusters: number of centers; ignored where initial_clusters is a tensor.
      initial_clusters: "random", "kmeans_plus_plus", "kmc2", centers [k, d], or a function of
        the inputs and of the number of centers that are missing, which returns centers.
      distance_metric: "squared_euclidean" or "cosine".
      use_mini_batch: move a center by the mean of all points that it has had so far.
      mini_batch_steps_per_iteration: steps after which the centers that assign points are
        replaced by those that the steps have moved.
      random_seed: of the initial centers.
      kmeans_plus_plus_num_retries: further candidates for each center; -1: some log(k).
      kmc2_chain_length: points among which "kmc2" finds a center.
    Raises: ValueError for an unknown initialization or metric.
    Source: Lloyd 1982; Arthur and Vassilvitskii 2007; Bachem et al. 2016.
    """

    def __init__(
        self,
        inputs: TensorLike | list[Tensor],
        num_clusters: int | Tensor,
        initial_clusters: str | TensorLike | Callable[[list[Tensor], Tensor], Tensor] = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        use_mini_batch: bool = False,
        mini_batch_steps_per_iteration: int = 1,
        random_seed: int = 0,
        kmeans_plus_plus_num_retries: int = 2,
        kmc2_chain_length: int = 200,
    ) -> None:
        known = (RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, KMC2_INIT)
        if isinstance(initial_clusters, str) and initial_clusters not in known:
            raise ValueError(f"Unsupported initialization algorithm '{initial_clusters}'")
        if distance_metric not in (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE):
            raise ValueError(f"Unsupported distance metric '{distance_metric}'")
        values = inputs if isinstance(inputs, list) else [inputs]
        self._inputs: list[Tensor] = [convert_to_tensor(value) for value in values]
        self._num_clusters = num_clusters
        self._initial_clusters: Any = initial_clusters
        self._cosine = distance_metric == COSINE_DISTANCE
        self._use_mini_batch = use_mini_batch
        self._steps = int(mini_batch_steps_per_iteration)
        self._seed = get_seed(random_seed)[0] or 0
        self._retries = kmeans_plus_plus_num_retries
        self._chain_length = kmc2_chain_length
        # The centers of a step and those that it moves are two variables.
        self._two_copies = use_mini_batch and self._steps > 1
        # Otherwise each step would have to normalise centers that it has moved.
        self._keeps_unit_centers = self._cosine and (not use_mini_batch or self._two_copies)

    def training_graph(
        self,
    ) -> tuple[Any, Any, Any, Any, Operation, Operation | Tensor]:
        """Builds the graph: `init_op` is run until `initialized` is True, then `training_op`.

        Returns: (all_scores, cluster_idx, scores, initialized, init_op, training_op). The first
          three have an element for each input: distances to all centers [n, k], number of the
          nearest center [n], and the distance to it [n].
        """
        initial: Any = self._initial_clusters
        if isinstance(initial, str) or callable(initial):
            count = convert_to_tensor(self._num_clusters)
        else:
            initial = convert_to_tensor(initial)
            count = shape(initial)[0]
        self._create_variables(count)
        init_op = InitialCenters(
            self._inputs,
            count,
            initial,
            cosine=self._cosine,
            seed=self._seed,
            retries=self._retries,
            chain_length=self._chain_length,
            centers=self._centers,
            moved=self._moved,
            initialized=self._initialized,
        ).op()
        points, centers = self._inputs, self._centers
        if self._cosine:
            points = [l2_normalize(one, dim=1) for one in points]
            if not self._keeps_unit_centers:
                centers = l2_normalize(centers, dim=1)
        all_scores, scores, numbers = self._assign_points(points, centers)
        if self._use_mini_batch:
            with control_dependencies([self._replace_centers()]):
                training_op: Operation | Tensor = self._move_centers(points, numbers)
        else:
            training_op = self._new_centers(points, numbers, count)
        return all_scores, numbers, scores, self._initialized, init_op, training_op

    def _create_variables(self, count: Tensor) -> None:
        empty = placeholder_with_default(constant([], float32), shape=None)

        def variable(value: Any, name: str | None = None, **options: Any) -> Any:
            return Variable(value, name=name, use_resource=False, **options)

        self._centers = variable(empty, CLUSTERS_VAR_NAME, validate_shape=False)
        self._initialized = variable(False, "initialized", dtype=bool_)
        self._moved = self._centers
        self._counts: Any = None
        if self._two_copies:
            self._moved = variable(empty, "clusters_updated", validate_shape=False)
            self._steps_left = variable(self._steps, "update_in_steps", dtype=int64)
            self._counts = variable(zeros(reshape(count, [1]), int64))
        elif self._use_mini_batch:
            self._counts = variable(ones(reshape(count, [1]), int64))

    def _assign_points(
        self, points: list[Tensor], centers: Any
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor, ...]]:
        everything = [self._distances(one, centers) for one in points]
        scores, numbers = [], []
        for one in points:
            nearest, distances = nearest_neighbors(one, centers, 1)
            # Half of the squared distance of unit vectors is their cosine distance.
            scores.append(squeeze(distances * 0.5 if self._cosine else distances, [-1]))
            numbers.append(squeeze(nearest, [-1]))
        return tuple(everything), tuple(scores), tuple(numbers)

    def _distances(self, points: Tensor, centers: Any) -> Tensor:
        if self._cosine:
            return 1 - matmul(points, centers, transpose_b=True)
        return (
            reduce_sum(square(points), 1, keepdims=True)
            - 2 * matmul(points, centers, transpose_b=True)
            + transpose(reduce_sum(square(centers), 1, keepdims=True))
        )

    def _replace_centers(self) -> Any:
        """Makes the moved centers those that assign points, every `steps` steps."""
        if not self._two_copies:
            return no_op()

        def replace() -> Tensor:
            # First the steps, so that another worker does not replace the centers, too; the
            # counts last, so that no step moves new centers by old counts.
            with control_dependencies([assign(self._steps_left, self._steps - 1)]):
                moved = l2_normalize(self._moved, dim=1) if self._cosine else self._moved
                replaced = assign(self._centers, moved, validate_shape=False)
            with control_dependencies([replaced]):
                cleared = assign(self._counts, zeros_like(self._counts))
            with control_dependencies([cleared]):
                return identity(self._steps_left)

        return cond(self._steps_left <= 0, replace, lambda: assign_sub(self._steps_left, 1))

    def _move_centers(self, points: list[Tensor], numbers: tuple[Tensor, ...]) -> Operation:
        """Moves each center towards the mean of all points that it has had."""
        updates: list[Any] = []
        for one, centers_of in zip(points, numbers, strict=True):
            ids, places = unique(reshape(centers_of, [-1]))
            n = size(ids)
            before, old = gather(self._counts, ids), gather(self._moved, ids)
            added = unsorted_segment_sum(ones_like(places, int64), places, n)
            column = expand_dims(cast(added, one.dtype), 1)
            change = unsorted_segment_sum(one, places, n) - column * old
            change *= expand_dims(reciprocal(cast(before + added, one.dtype)), 1)
            # The counts and centers of before have been read once `change` is known.
            with control_dependencies([change]):
                updates.append(scatter_add(self._counts, ids, added))
                updates.append(scatter_add(self._moved, ids, change))
        return group(*updates)

    def _new_centers(
        self, points: list[Tensor], numbers: tuple[Tensor, ...], count: Tensor
    ) -> Tensor:
        """Makes each center the mean of its points."""
        sums, counts = [], []
        for one, centers_of in zip(points, numbers, strict=True):
            sums.append(unsorted_segment_sum(one, centers_of, count))
            each = expand_dims(ones(reshape(shape(one)[0], [1])), 1)
            counts.append(unsorted_segment_sum(each, centers_of, count))
        centers = add_n(sums) / (cast(add_n(counts), sums[0].dtype) + _EPSILON)
        if self._keeps_unit_centers:
            centers = l2_normalize(centers, dim=1)
        return assign(self._centers, centers, validate_shape=False)

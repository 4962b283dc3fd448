"""The op that chooses the first centers of KMeans, over as many batches as that takes."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import int32, int64
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.control_flow.cond import cond
from headrace.graph.control_flow.control_flow_ops import identity, no_op
from headrace.graph.control_flow.while_loop import while_loop
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import control_dependencies
from headrace.graph.ops.arrays.joining import concat
from headrace.graph.ops.arrays.shapes import reshape, shape, squeeze
from headrace.graph.ops.assertions import assert_equal, assert_greater_equal, assert_positive
from headrace.graph.ops.clustering import (
    kmc2_chain_initialization,
    kmeans_plus_plus_initialization,
    nearest_neighbors,
)
from headrace.graph.ops.elementwise.elementwise import add_n, cast, equal, maximum, minimum
from headrace.graph.ops.embedding import embedding_lookup
from headrace.graph.ops.normalization.normalization import l2_normalize
from headrace.graph.ops.random.random import random_uniform
from headrace.graph.ops.state import assign

RANDOM_INIT = "random"
KMEANS_PLUS_PLUS_INIT = "kmeans_plus_plus"
KMC2_INIT = "kmc2"


class InitialCenters:
    """Adds centers to a variable until there are enough.

    Args:
      inputs: points [n, d] of one step each.
      count: number of centers, scalar int32.
      choice: one of the names above, centers [k, d], or a function of the inputs and of the
        number of missing centers.
      cosine: whether centers are unit vectors.
      seed: of random choices.
      retries: further candidates for each center of k-means++.
      chain_length: points among which k-MC2 finds a center.
      centers: variable with the centers; empty at first.
      moved: variable that gets a copy; may be the same.
      initialized: bool variable that becomes True.
    """

    def __init__(
        self,
        inputs: list[Tensor],
        count: Tensor,
        choice: Any,
        *,
        cosine: bool,
        seed: int,
        retries: int,
        chain_length: int,
        centers: Any,
        moved: Any,
        initialized: Any,
    ) -> None:
        self._inputs, self._count, self._choice = inputs, count, choice
        self._cosine, self._seed, self._retries = cosine, seed, retries
        self._chain_length = chain_length
        self._centers, self._moved, self._initialized = centers, moved, initialized
        self._chosen = shape(centers)[0]
        self._missing = count - self._chosen
        self._points = add_n([shape(one)[0] for one in inputs])

    def op(self) -> Operation:
        """Returns the op; it fails once there are enough centers, unless all is initialized."""
        return cond(
            equal(self._missing, 0),
            lambda: assert_equal(self._initialized, True),
            self._initialize,
        )

    def _initialize(self) -> Any:
        with control_dependencies([assert_positive(self._missing)]):
            missing = self._by_chains() if self._choice == KMC2_INIT else self._by_batches()
            return cond(equal(missing, 0), lambda: assign(self._initialized, True), no_op)

    def _unit(self, centers: Tensor) -> Tensor:
        return l2_normalize(centers, dim=1) if self._cosine else centers

    def _assign(self, centers: Tensor) -> Tensor:
        """Returns how many centers are missing after this."""
        assigned = assign(self._centers, centers, validate_shape=False)
        if self._moved is not self._centers:
            assigned = assign(self._moved, assigned, validate_shape=False)
        return self._count - shape(assigned)[0]

    def _by_batches(self) -> Tensor:
        new = self._unit(self._choose())
        # A variable without centers has no second dimension to join by.
        centers = cond(
            equal(self._chosen, 0),
            lambda: new,
            lambda: concat([self._centers, new], 0),
        )
        return self._assign(centers)

    def _choose(self) -> Tensor:
        if not isinstance(self._choice, str):
            if callable(self._choice):
                return convert_to_tensor(self._choice(self._inputs, self._missing))
            enough = assert_equal(self._missing, shape(self._choice)[0])
            with control_dependencies([enough]):
                return identity(self._choice)
        if self._choice == RANDOM_INIT:
            return cond(
                self._points <= self._missing,
                lambda: concat(self._inputs, 0),
                self._random_points,
            )
        with control_dependencies([assert_greater_equal(self._points, self._missing)]):
            return kmeans_plus_plus_initialization(
                self._unit(self._inputs[0]),
                cast(self._missing, int64),
                self._seed,
                self._retries,
            )

    def _random_points(self) -> Tensor:
        numbers = random_uniform(
            reshape(self._missing, [-1]),
            minval=0,
            maxval=cast(self._points, int64),
            seed=self._seed,
            dtype=int64,
        )
        return embedding_lookup(self._inputs, numbers, partition_strategy="div")

    def _by_chains(self) -> Tensor:
        """Chooses one center among each chain of points (k-MC2), at least one of the batch."""
        points = self._inputs[0]
        chains = cast(shape(points)[0] / self._chain_length, int32)
        n = maximum(minimum(self._missing, chains), 1)

        def first() -> Tensor:
            return self._unit(reshape(points[0], [1, -1]))

        def body(i: Tensor, _: Tensor) -> tuple[Tensor, Tensor]:
            def another() -> Tensor:
                begin = i * self._chain_length
                chain = points[begin : begin + self._chain_length]
                distances = nearest_neighbors(chain, self._centers, 1)[1]
                chosen = kmc2_chain_initialization(squeeze(distances, [-1]), self._seed)
                center = self._unit(reshape(chain[chosen], [1, -1]))
                return concat([self._centers, center], 0)

            none_yet = equal(shape(self._centers)[0], 0)
            return i + 1, self._assign(cond(none_yet, first, another))

        return while_loop(lambda i, _: i < n, body, [0, 0])[1]

"""The transformation rejection_resample: leaves out elements to give classes other frequencies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.control_flow.cond import cond
from headrace.graph.data.batches import unbatch
from headrace.graph.data.dataset import Dataset
from headrace.graph.data.mixing import sample_from_datasets
from headrace.graph.data.scanning import scan
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.operation import Tensor
from headrace.graph.ops.arrays.creation import fill, one_hot
from headrace.graph.ops.arrays.shapes import expand_dims, shape, tile
from headrace.graph.ops.elementwise.elementwise import add, cast, less, truediv
from headrace.graph.ops.gather import gather
from headrace.graph.ops.logging import Print
from headrace.graph.ops.random.random import random_uniform
from headrace.graph.ops.reduction import reduce_max, reduce_min, reduce_sum
from headrace.graph.typing.aliases import TensorLike

# The frequencies of the classes are estimated once for so many elements, and as if each class had
# been seen so often before.
_ELEMENTS_PER_ESTIMATE, _SEEN_BEFORE = 32, 10


def rejection_resample(
    class_func: Callable[..., Any],
    target_dist: TensorLike,
    initial_dist: TensorLike | None = None,
    seed: int | None = None,
) -> Callable[[Any], Any]:
    """Returns a transformation that leaves out elements so that classes get given frequencies.

    The elements of the new dataset are pairs (class, element).

    Args:
      class_func: function of an element that returns its class, [] int32, less than num_classes.
      target_dist: [num_classes] float, the frequencies wanted.
      initial_dist: [num_classes] float, those of the dataset; None estimates them as it is read.
      seed: seed of the choice.
    """

    def apply(dataset: Dataset) -> Dataset:
        target = convert_to_tensor(target_dist, name="target_dist")
        classes = dataset.map(class_func)
        fixed: Any = None
        if initial_dist is not None:
            initial = convert_to_tensor(initial_dist, name="initial_dist")
            accepted, original = _acceptance(initial, target)
            initials = Dataset.from_tensors(initial).repeat()
            acceptances = Dataset.from_tensors(accepted).repeat()
            originals = Dataset.from_tensors(original).repeat()
            fixed = _fixed_part(initial, target)
        else:
            initials = _estimates(target, classes)
            both = initials.map(lambda estimate: _acceptance(estimate, target))
            acceptances = both.map(lambda accepted, _: accepted)
            originals = both.map(lambda _, original: original)
        filtered = _filtered(dataset, acceptances, initials, classes, seed).prefetch(3)
        pairs = Dataset.zip((classes, dataset))
        if fixed == 1:
            return pairs
        if fixed == 0:
            return filtered
        weights = originals.map(lambda part: [(part, 1.0 - part)])
        return sample_from_datasets([pairs, filtered], weights, seed)

    return apply


def _fixed_part(initial: Tensor, target: Tensor) -> Any:
    """Returns the part of elements that come unfiltered, where both distributions are known."""
    known, wanted = constant_value(initial), constant_value(target)
    return None if known is None or wanted is None else np.min(wanted / known)


def _acceptance(initial: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Returns with which probability a class passes, and which part comes unfiltered.

    A part m = min(target / initial) of the elements needs no filter. In the rest a class passes
    with a probability proportional to target / initial - m.
    """
    # tiny: not to divide by zero
    ratio = target / (initial + np.finfo(initial.dtype.as_numpy_dtype).tiny)
    most, least = reduce_max(ratio), reduce_min(ratio)
    return (ratio - least) / (most - least), least


def _filtered(
    dataset: Dataset, acceptances: Dataset, initials: Dataset, classes: Dataset, seed: int | None
) -> Dataset:
    def warn_where_many_go(accepted: Tensor, initial: Tensor) -> Any:
        rejected = reduce_sum((1 - accepted) * initial)
        message = "Proportion of examples rejected by sampler is high: "
        return cond(
            less(rejected, 0.5),
            lambda: accepted,
            lambda: Print(
                accepted,
                [rejected, initial, accepted],
                message=message,
                summarize=100,
                first_n=10,
            ),
        )

    def with_probability(number: Tensor, accepted: Tensor, data: Any) -> Any:
        return number, gather(accepted, number), data

    watched = Dataset.zip((acceptances, initials)).map(warn_where_many_go)
    rows = Dataset.zip((classes, watched, dataset)).map(with_probability)
    kept = rows.filter(lambda _, probability, data: random_uniform([], seed=seed) < probability)
    return kept.map(lambda number, _, data: (number, data))


def _estimates(target: Tensor, classes: Dataset) -> Dataset:
    """Returns the estimated frequencies of the classes, one vector for each element."""
    n_classes = target.shape[0] or shape(target)[0]
    seen_before = fill([n_classes], np.int64(_SEEN_BEFORE))

    def update(seen: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        ones = one_hot(batch, seen.shape[0], dtype=as_dtype("int64"))
        seen = add(seen, reduce_sum(ones, 0))
        estimate = cast(truediv(seen, reduce_sum(seen)), as_dtype("float32"))
        return seen, tile(expand_dims(estimate, 0), [_ELEMENTS_PER_ESTIMATE, 1])

    return unbatch(classes.batch(_ELEMENTS_PER_ESTIMATE).apply(scan(seen_before, update)))

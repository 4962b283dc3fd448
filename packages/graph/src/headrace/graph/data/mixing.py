"""Datasets that take each element from one of several datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.data.dataset import Dataset
from headrace.graph.data.dataset_node import DatasetNode, make_dataset
from headrace.graph.data.element_specs import (
    flat_structure,
    is_scalar_of,
    most_specific_shapes,
    output_classes,
    output_types,
)
from headrace.graph.data.mapping import map_elements
from headrace.graph.data.random_numbers import RandomDataset
from headrace.graph.framework.operation import Tensor
from headrace.graph.ops.arrays.shapes import expand_dims, squeeze
from headrace.graph.ops.elementwise.elementwise import log
from headrace.graph.ops.random.stateless_random import stateless_multinomial
from headrace.graph.typing.aliases import TensorLike


def choose_from_datasets(datasets: Sequence[Dataset], choice_dataset: Dataset) -> Dataset:
    """Returns a dataset whose elements come from the datasets that numbers choose.

    A dataset that has ended is passed over. The new one ends with the numbers, or when all have
    ended.

    Args:
      datasets: datasets with elements of one structure.
      choice_dataset: dataset of [] int64, each a position in datasets.
    Raises: TypeError for choices of another kind, and datasets of different types or classes; in a
      run InvalidArgumentError for a position that does not exist.

    >>> import headrace.graph as hr
    >>> words = [hr.data.Dataset.from_tensors(word).repeat() for word in ("a", "b")]
    >>> chosen = hr.data.experimental.choose_from_datasets(words, hr.data.Dataset.range(2))
    >>> element = chosen.batch(9).make_one_shot_iterator().get_next()
    >>> with hr.Session() as session:
    ...     print(session.run(element))
    [b'a' b'b']
    """
    if not is_scalar_of(choice_dataset.element_spec, as_dtype("int64")):
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    return _directed(choice_dataset, datasets)


def sample_from_datasets(
    datasets: Sequence[Dataset],
    weights: TensorLike | Dataset | None = None,
    seed: int | None = None,
) -> Dataset:
    """Returns a dataset whose elements come from randomly chosen datasets.

    Args:
      datasets: datasets with elements of one structure.
      weights: probability of each dataset, [len(datasets)] float or double, or a dataset of such
        vectors; None gives all the same.
      seed: seed, together with that of the graph.
    Raises: TypeError for weights that are no real numbers, and datasets of different types or
      classes; ValueError for another number of weights.
    """
    if isinstance(weights, DatasetNode):
        pairs = Dataset.zip((weights.map(_logits_of_element), _pairs_of_seeds(seed)))
        return _directed(_without_threads(pairs, _sampled), datasets)
    logits: Any = [[1.0] * len(datasets)]
    if weights is not None:
        given = convert_to_tensor(weights, name="weights")
        if given.dtype not in (as_dtype("float32"), as_dtype("float64")):
            raise TypeError(
                "`weights` must be convertible to a tensor of `tf.float32` or `tf.float64` "
                "elements."
            )
        if not given.shape.is_compatible_with([len(datasets)]):
            raise ValueError("`weights` must be a vector of length `len(datasets)`.")
        logits = expand_dims(log(given, name="logits"), 0)
    if len(datasets) == 1:
        return datasets[0]
    selector = _without_threads(_pairs_of_seeds(seed), lambda pair: _sampled(logits, pair))
    return _directed(selector, datasets)


def _logits_of_element(*weights: Any) -> Tensor:
    return log(weights, name="logits")


def _pairs_of_seeds(seed: Any) -> Dataset:
    return RandomDataset(seed).batch(2)


def _without_threads(dataset: Dataset, function: Any) -> Any:
    return map_elements(dataset, function, use_inter_op_parallelism=False)


def _sampled(logits: Any, seed: Any) -> Tensor:
    return squeeze(stateless_multinomial(logits, 1, seed=seed), axis=[0, 1])


def _directed(selector: DatasetNode, datasets: Sequence[Any]) -> Any:
    spec = datasets[0].element_spec
    for other in datasets[1:]:
        for part in (output_types, output_classes):
            if part(other.element_spec) != part(datasets[0].element_spec):
                raise TypeError("All datasets must have the same type and class.")
        spec = most_specific_shapes(spec, other.element_spec)
    node = op(
        "DirectedInterleaveDataset",
        selector._variant_tensor,
        [dataset._variant_tensor for dataset in datasets],
        **flat_structure(spec),
    )
    return make_dataset(node, spec, [selector, *datasets])

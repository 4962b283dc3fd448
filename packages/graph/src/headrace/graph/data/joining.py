"""Datasets made of several others: in parallel, or one after the other."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.data import element_nest as nest
from headrace.graph.data.dataset_node import DatasetNode, make_dataset
from headrace.graph.data.element_specs import (
    flat_structure,
    most_specific_shapes,
    output_classes,
    output_types,
)


def zipped(datasets: Any) -> Any:
    """Returns a dataset whose elements have one element of each dataset, in their structure.

    Raises: TypeError for a structure with something else in it.
    """
    flat = nest.flatten(datasets)
    for dataset in flat:
        if not isinstance(dataset, DatasetNode):
            problem = (
                "The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects."
            )
            if isinstance(dataset, list):
                problem += (
                    " Nested structures do not support Python lists; please use a tuple instead."
                )
            raise TypeError(problem)
    specs = nest.pack_sequence_as(datasets, [dataset.element_spec for dataset in flat])
    variants = [dataset._variant_tensor for dataset in flat]
    return make_dataset(op("ZipDataset", variants, **flat_structure(specs)), specs, flat)


def concatenated(dataset: DatasetNode, other: DatasetNode) -> Any:
    """Returns a dataset of the elements of one dataset, and then those of the other.

    Raises: TypeError for elements of other dtypes or classes.
    """
    specs, others = dataset.element_spec, other.element_spec
    if output_types(specs) != output_types(others):
        raise TypeError(
            "Two datasets to concatenate have different types "
            f"{output_types(specs)} and {output_types(others)}"
        )
    if output_classes(specs) != output_classes(others):
        raise TypeError(
            "Two datasets to concatenate have different classes "
            f"{output_classes(specs)} and {output_classes(others)}"
        )
    common = most_specific_shapes(specs, others)
    node = op(
        "ConcatenateDataset",
        dataset._variant_tensor,
        other._variant_tensor,
        **flat_structure(common),
    )
    return make_dataset(node, common, [dataset, other])

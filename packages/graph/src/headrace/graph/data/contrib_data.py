"""Transformations that only hr.contrib.data has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.graph.data import element_nest as nest
from headrace.graph.data.batches import window
from headrace.graph.data.dataset import Dataset
from headrace.graph.data.dataset_node import DatasetNode, make_dataset
from headrace.graph.data.element_specs import (
    batched,
    output_classes,
    output_shapes,
    output_types,
    specs_from,
)
from headrace.graph.data.grouping import Reducer
from headrace.graph.data.joining import zipped
from headrace.graph.data.map_and_batch import parallel_interleave
from headrace.graph.ops.arrays.placeholders import ensure_shape
from headrace.graph.typing.aliases import TensorLike

Transformation = Callable[[Any], Any]


def batch_and_drop_remainder(batch_size: TensorLike) -> Transformation:
    """Returns a transformation: Dataset.batch with drop_remainder."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: TensorLike, padded_shapes: Any, padding_values: Any = None
) -> Transformation:
    """Returns a transformation: Dataset.padded_batch with drop_remainder."""
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes, padding_values, drop_remainder=True
    )


def assert_element_shape(expected_shapes: Any) -> Transformation:
    """Returns a transformation that checks the shapes of elements, and so makes them known.

    Args: expected_shapes: shapes in the structure of an element.
    Raises: the transformation raises ValueError for shapes that are known to differ; in a run
      InvalidArgumentError for others.
    """

    def apply(dataset: Dataset) -> Dataset:
        specs = dataset.element_spec
        shapes = output_shapes(specs)
        expected = nest.flatten_up_to(shapes, expected_shapes)
        merged = [a.merge_with(b) for a, b in zip(nest.flatten(shapes), expected, strict=True)]

        def checked(*element: Any) -> Any:
            whole = element if type(specs) is tuple else element[0]
            pairs = zip(nest.flatten(whole), merged, strict=True)
            return nest.pack_sequence_as(whole, [ensure_shape(x, s) for x, s in pairs])

        made = dataset.map(checked)
        known = nest.pack_sequence_as(shapes, merged)
        spec = specs_from(output_types(specs), known, output_classes(specs))
        return make_dataset(made._variant_tensor, spec, [made])

    return apply


def sloppy_interleave(
    map_func: Callable[..., Any], cycle_length: TensorLike, block_length: TensorLike = 1
) -> Transformation:
    """Returns a transformation: parallel_interleave whose order may depend on speed."""
    return parallel_interleave(map_func, cycle_length, block_length, sloppy=True)


def sliding_window_batch(
    window_size: int,
    stride: int | None = None,
    window_shift: int | None = None,
    window_stride: int = 1,
) -> Transformation:
    """Returns a transformation to batches of windows of elements, without smaller ones at the end.

    Args:
      window_size: number of elements of a window.
      window_shift: distance of successive windows, 1 by default; stride: its old name.
      window_stride: distance of successive elements of a window.
    Raises: ValueError for both names of the distance.
    """
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = window_shift if stride is None else stride

    def apply(dataset: Dataset) -> Dataset:
        windows: Any = window(dataset, window_size, shift or 1, window_stride, True)

        def as_batch(*parts: Any) -> Any:
            whole = parts if type(windows.element_spec) is tuple else parts[0]
            rows = [part.batch(window_size) for part in nest.flatten(whole)]
            return zipped(nest.pack_sequence_as(whole, rows))

        made = windows.flat_map(as_batch)
        spec = batched(dataset.element_spec, None)
        return make_dataset(made._variant_tensor, spec, [made])

    return apply


def reduce_dataset(dataset: Dataset, reducer: Reducer) -> Any:
    """Returns the last state of a Reducer: Dataset.reduce, without its finalize_func.

    Raises: TypeError for something that is no dataset; as Dataset.reduce.
    """
    if not isinstance(dataset, DatasetNode):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    return dataset.reduce(reducer.init_func(np.int64(0)), reducer.reduce_func)
